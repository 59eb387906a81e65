"""`kq demo`: a show of what kq does, on a simulated cluster in this process."""

import os
import random
import shutil
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

import kq
from kq.cli.help import HELP
from kq.cli.interrupts import Interrupts
from kq.log import LogFormat, configure
from kq.show import frame
from kq.show.cast import ROLES, cast_of
from kq.show.pace import Pace, readable
from kq.show.page import Page
from kq.show.showing import show

OFF_TERMINAL_WIDTH = 80
INTERRUPTED = 130
BROKEN_OFF = "interrupted; nothing was left running, nothing was left behind"
MOST_JOBS = 500
MAKEFILE = Path(kq.__file__).parents[1] / "Makefile"


@click.command(context_settings=HELP)
@click.option("--seed", default=1, show_default=True, help="Run times, and jobs beyond the first.")
@click.option(
    "--jobs",
    type=click.IntRange(1, MOST_JOBS),
    default=len(ROLES),
    show_default=True,
    help="How many of them; what is more than the default is drawn.",
)
@click.option(
    "--speed",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds of the show's clock in a second; else as fast as it can be read along.",
)
@click.option("--no-color", is_flag=True, help="As the variable NO_COLOR does.")
def demo(*, seed: int, jobs: int, speed: float | None, no_color: bool) -> int:
    """A show of what kq does: teams, their quotas, and jobs of all kinds on a simulated cluster."""
    configure("error", LogFormat("console"))
    console = console_of(plain=no_color or bool(os.environ.get("NO_COLOR")))
    # What is drawn makes a show, and no secret.
    cast = cast_of(jobs, random.Random(seed))  # noqa: S311
    page = Page(cast, width=console.width, **bars(console))
    moment_seconds = readable(jobs) if console.is_terminal else 0.0

    def say(line: Text) -> None:
        console.print(line, soft_wrap=True)

    with Interrupts() as interrupts:
        pace = Pace(moment_seconds=moment_seconds, speed=speed, sleep=interrupts.sleep)
        try:
            ending = show(cast, seed=seed, page=page, pace=pace, say=say, check=interrupts.check)
        except KeyboardInterrupt:
            say(Text(BROKEN_OFF))
            return INTERRUPTED
    if ending.wrongs:
        return 1
    for line in frame.next_steps(_called(), in_repository=MAKEFILE.is_file()):
        say(line)
    return 0


def console_of(*, plain: bool) -> Console:
    """Where the show is seen; a plain one gets text alone."""
    width = None if sys.stdout.isatty() else OFF_TERMINAL_WIDTH
    return Console(
        highlight=False,
        markup=False,
        emoji=False,
        width=width,
        color_system=None if plain else "auto",
    )


def bars(console: Console) -> dict[str, str]:
    """What bars are made of where only ASCII can be written."""
    return {} if console.encoding.startswith("utf") else {"full": "#", "free": "."}


def _called() -> str:
    """What to type for `kq`."""
    if shutil.which("kq"):
        return "kq"
    program = Path(sys.argv[0])
    if program.name != "kq":
        return f"{Path(sys.executable).name} -m kq"
    return os.path.relpath(program)
