"""Runs the demo: PYTHONPATH=tests:. python -m demo."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from controlplane import build, cli
from controlplane.errors import ControlPlaneError
from rich.console import Console

from demo import failure, stage, story
from demo.failure import DemoError
from demo.show import Show
from demo.story import Times

LIMIT_SECONDS = 180
INTERRUPTED = 130

TRY_NEXT = """\
Try next, in your own terminal (README, "A job of your own"):
  make up      a control plane that stays, for jobs of your own
  make test    all tests"""


def main() -> int:
    """Plays the demo; 0 if it went well, 1 if not, 130 after Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        binaries = build.ensure_binaries(build.control_plane_module(), os.environ, cli.tell)
    except ControlPlaneError as err:
        cli.tell(f"error: {err}")
        return 1
    except KeyboardInterrupt:
        cli.tell("interrupted while building; nothing was left running")
        return INTERRUPTED
    return play(binaries, Path(tempfile.mkdtemp(prefix="kq-demo-")), Show(Console()))


def play(binaries: Path, folder: Path, show: Show) -> int:
    """The demo in a folder, which stays only after a failure; returns the exit code."""
    try:
        with time_limit(show), stage.running(folder, binaries, show) as running:
            times = story.tell(running, show)
    except KeyboardInterrupt:
        shutil.rmtree(folder)
        show.line("interrupted; nothing was left running, nothing was left behind")
        return INTERRUPTED
    except Exception as err:  # whatever it was, a log is named
        for line in failure.report(err, folder):
            show.line(line, style="red")
        return 1
    shutil.rmtree(folder)
    summarise(times, show)
    return 0


@contextmanager
def time_limit(show: Show) -> Iterator[None]:
    """Raises DemoError where it stands once the time is over, but not while all is ended."""

    def over(number: int, frame: FrameType | None) -> None:
        raise DemoError(f"not done after {LIMIT_SECONDS} s, waiting until: {show.waiting_for}")

    signal.signal(signal.SIGALRM, over)
    signal.alarm(LIMIT_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)


def summarise(times: list[Times], show: Show) -> None:
    """What was seen, how long it took, what to do next."""
    show.chapter("All jobs are complete, everything is ended and removed")
    for number, each in enumerate(times, start=1):
        show.line(
            f"  round {number}: my-job-blocked waited {each.second_starts:.1f} s for its turn, "
            f"both were complete after {each.all_complete:.1f} s"
        )
    show.line(f"  all in all {show.seconds():.0f} s")
    show.line("")
    show.line(TRY_NEXT)


if __name__ == "__main__":
    sys.exit(main())
