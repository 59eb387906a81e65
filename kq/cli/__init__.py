"""The command line: one module a command group; the only place that prints or exits.

Belongs here: flags, environment, configuration files, tables. Does not: anything that a process
needs at work (`app`). Commands are imported when they are called, so that `kq --help` is quick.
"""
