"""What a person reads: commands, a live table on a terminal, else a line for each change."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from controlplane.processes import Process
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from demo.picture import Entry, Picture

STYLES = {"Enqueued": "yellow", "Dequeued": "cyan", "Running": "green", "Succeed": "bright_black"}
BAR_CELLS_PER_CPU = 5
NO_PHASE = "-"


class Show:
    """Writes to one console; times count from its start."""

    def __init__(self, console: Console) -> None:
        self.waiting_for = "the start"
        """What is to come next, for whoever must say where it stopped."""
        self._console = console
        self._started = time.monotonic()
        self._live: Live | None = None
        self._said: dict[str, str] = {}

    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self._started

    def chapter(self, title: str) -> None:
        """A heading."""
        self.line("")
        self.line(title, style="bold")

    def line(self, text: str, style: str = "") -> None:
        """One line, however long, above the table."""
        self._console.print(text, style=style, soft_wrap=True, markup=False, highlight=False)

    def command(self, text: str) -> None:
        """A command, as a person would type it."""
        self.line(f"$ {text}", style="bold cyan")

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Something that takes a moment; says how long it took."""
        self.waiting_for, before = what, time.monotonic()
        yield
        self.line(f"  {what}: {time.monotonic() - before:.1f} s")

    def process(self, process: Process) -> None:
        """Where to find a process and what it writes."""
        self.line(f"  {process.name:<23} pid {process.pid:<7} log {process.log}", style="dim")

    @contextmanager
    def live(self) -> Iterator[None]:
        """In this block a table at the foot of a terminal follows the pictures."""
        self._said.clear()
        if not self._console.is_terminal:
            yield
            return
        with Live(console=self._console, refresh_per_second=8) as live:
            self._live = live
            try:
                yield
            finally:
                self._live = None

    def picture(self, picture: Picture) -> None:
        """The queue as it is now."""
        if self._live is not None:
            self._live.update(drawn(picture))
            return
        for entry in picture.entries:
            self._say_change(entry, picture)

    def _say_change(self, entry: Entry, picture: Picture) -> None:
        text = f"{entry.name:<15} {entry.phase or NO_PHASE:<9} job {entry.job:<10} {entry.message}"
        if self._said.get(entry.name) != text:
            self._said[entry.name] = text
            self.line(f"  {self.seconds():5.1f} s  cpu {picture.used}/{picture.limit}  {text}")


def drawn(picture: Picture) -> RenderableType:
    """The bar of the quota over the table of its queue."""
    table = Table(expand=True)
    for title in ("JOB", "PHASE", "STATUS", "AGE"):
        table.add_column(title, no_wrap=True)
    table.add_column("MESSAGE", ratio=1)
    for entry in picture.entries:
        age = (picture.taken - entry.created).total_seconds()
        table.add_row(*_cells(entry, f"{age:.0f}s"))
    return Group(_bar(picture), table)


def _cells(entry: Entry, age: str) -> list[RenderableType]:
    phase = Text(entry.phase or NO_PHASE, style=STYLES.get(entry.phase, ""))
    return [entry.name, phase, entry.job, age, Text(entry.message)]


def _bar(picture: Picture) -> Text:
    used, free = picture.used, max(0, picture.limit - picture.used)
    bar = Text("quota team-a  ")
    bar.append("█" * used * BAR_CELLS_PER_CPU, style="green")
    bar.append("░" * free * BAR_CELLS_PER_CPU, style="dim")
    return bar.append(f"  {used} of {picture.limit} cpu in use")
