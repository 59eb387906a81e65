"""Runs a command that the kernel kills as soon as its parent is gone, however that one ended.

python leash.py <pid of the parent> <command> <argument>...
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1


def leashed(command: Sequence[str]) -> list[str]:
    """The command line by which a command dies with this process."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def main(arguments: list[str]) -> None:
    """Becomes the command; its pid and start time stay those of this process."""
    parent, *command = arguments
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != int(parent):
        sys.exit("the parent was gone before its death could be watched")
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
