"""What every load stands in: a folder of its own, Ctrl-C in one line, a failure with its logs."""

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from controlplane import build, cli
from rich.console import Console

from bench.failure import report
from bench.progress import tell

INTERRUPTED = 130
BUSY = 0.7
"""A load average above which other work on the machine spoils figures."""

Conditions = Mapping[str, object]


def framed(name: str, work: Callable[[Path], Callable[[], None]]) -> int:
    """Does the work in a folder of its own, then what that gives back: to show what was found.

    0 if all went well; 1 if not, and then the folder stays; 130 after Ctrl-C or SIGTERM.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix=f"kq-{name}-"))
    try:
        show = work(folder)
    except KeyboardInterrupt:
        shutil.rmtree(folder)
        tell("interrupted; nothing was left running, nothing was left behind")
        return INTERRUPTED
    except Exception as err:  # whatever it was, a log is named
        for line in report(err, folder):
            tell(line)
        return 1
    shutil.rmtree(folder)
    show()
    return 0


def control_plane() -> Path:
    """The folder of its programs, which are built if they are not there yet."""
    return build.ensure_binaries(build.control_plane_module(), os.environ, cli.tell)


def load_average() -> float:
    """What else the machine does; people are told where that spoils figures."""
    average = os.getloadavg()[0]
    if average > BUSY:
        tell(f"this machine is busy (load average {average:.1f}): figures will be worse")
    return round(average, 2)


def console_of(width: int) -> Console:
    """Where tables go; so wide where it is no terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=width)


def title_of(conditions: Conditions) -> str:
    """Under which conditions figures were taken, in a line."""
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in conditions.items())


def write_figures(figures: Mapping[str, object], conditions: Conditions, path: Path | None) -> None:
    """As JSON, where somebody wants it."""
    if path is not None:
        path.write_text(json.dumps({**figures, "conditions": conditions}, indent=2) + "\n")
        tell(f"the figures are in {path}")
