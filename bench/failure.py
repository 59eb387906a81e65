"""What went wrong, and which log to read."""

from pathlib import Path

from controlplane.errors import ControlPlaneError

from kq.errors import KqError

LINES_SHOWN = 12
LOGS = ("kq/*-*.log", "kueue/*-*.log")
"""Of queues under test, below the folder of a load."""


class BenchError(Exception):
    """A load did not go as it should; the message says what was missing."""


def first_of(error: BaseException) -> BaseException:
    """The first failure of a group, which is the cause of the others more often than not."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def report(error: BaseException, folder: Path) -> list[str]:
    """The lines that a person needs after a failure: what went wrong, and the ends of logs."""
    cause = first_of(error)
    foreseen = isinstance(cause, BenchError | ControlPlaneError | KqError)
    lines = [f"failed: {cause if foreseen else repr(cause)}"]
    for log in sorted(log for pattern in LOGS for log in folder.rglob(pattern)):
        if str(log) in str(cause):
            continue  # its end is quoted already
        lines += [f"log {log}, its last lines:", *_end_of(log)]
    return [*lines, f"all logs and data stay in {folder} until you delete it"]


def _end_of(log: Path) -> list[str]:
    lines = log.read_text(errors="replace").splitlines()[-LINES_SHOWN:]
    return [f"    {line}" for line in lines or ["(nothing)"]]
