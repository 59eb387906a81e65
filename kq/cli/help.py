"""How every command is asked for its help."""

HELP = {"help_option_names": ["-h", "--help"]}
"""Given to each command itself: click remembers what the first caller of a command made of it."""
