"""What went wrong, and which log to read."""

from collections.abc import Sequence
from pathlib import Path

from controlplane.errors import ControlPlaneError

LINES_SHOWN = 12


class DemoError(Exception):
    """The demo did not go as it should; the message says what was missing."""


def report(error: Exception, folder: Path) -> list[str]:
    """The lines that a person needs after a failure: what, which log, its last lines."""
    foreseen = isinstance(error, DemoError | ControlPlaneError)
    lines = [f"the demo failed: {error if foreseen else repr(error)}"]
    for log in _worth_reading(str(error), folder):
        lines += [f"log {log}, its last lines:", *_end_of(log)]
    return [*lines, f"all logs and data stay in {folder} until you delete it"]


def _worth_reading(message: str, folder: Path) -> Sequence[Path]:
    """The logs that the message names but does not quote; those of kq if it names none."""
    logs = sorted(folder.rglob("*.log"))
    named = [log for log in logs if str(log) in message]
    if named:
        return [log for log in named if f"{log}:\n" not in message]
    return [log for log in logs if log.parent.name == "kq"] or logs


def _end_of(log: Path) -> list[str]:
    lines = log.read_text(errors="replace").splitlines()[-LINES_SHOWN:]
    return [f"    {line}" for line in lines or ["(nothing)"]]
