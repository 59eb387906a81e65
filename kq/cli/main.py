"""`kq`: the entry point, which knows what Ctrl-C is before anything that takes time to import."""

import importlib
import sys

INTERRUPTED = 130
"""The exit code of what Ctrl-C broke off."""


def main() -> None:
    """Exit code 0 done, 1 failed, 2 wrong use or configuration, 130 broken off by Ctrl-C."""
    try:
        importlib.import_module("kq.cli.commands").run()
    except KeyboardInterrupt:
        sys.stderr.write("kq: interrupted\n")
        sys.exit(INTERRUPTED)
