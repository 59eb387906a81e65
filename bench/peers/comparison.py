"""Figures of two queues side by side, and how many times the one is the other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from bench.outcome import Figures, Outcome

PROCESSES = ("manager", "webhook")
QUEUE = "queue"
"""All processes of a queue together: one serves its webhooks in its manager, one beside it."""
NOTHING = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """One figure of both; a queue without such a process has none."""

    load: str
    figure: str
    peer: float | None
    ours: float | None

    @property
    def ratio(self) -> float | None:
        """Ours for each one of the peer's, where both are above zero."""
        if self.peer is None or self.ours is None or self.peer <= 0 or self.ours < 0:
            return None
        return self.ours / self.peer


def with_totals(figures: Figures) -> dict[str, Any]:
    """The figures; where processes are told apart, all of the queue together too."""
    return {
        name: {**value, QUEUE: _total(value)}
        if isinstance(value, Mapping) and PROCESSES[0] in value
        else value
        for name, value in figures.items()
    }


def pairings(peers: Sequence[Outcome], ours: Sequence[Outcome]) -> list[Pairing]:
    """Every figure that one of both gave, load by load."""
    return [
        Pairing(load=one.load, figure=name, peer=theirs.get(name), ours=own.get(name))
        for one, other in zip(peers, ours, strict=True)
        for theirs, own in [(_flat(one.figures), _flat(other.figures))]
        for name in dict.fromkeys([*own, *theirs])
    ]


def ratios(found: Sequence[Pairing]) -> dict[str, float]:
    """The ratios by figure, for the JSON file."""
    return {each.figure: round(each.ratio, 3) for each in found if each.ratio is not None}


def table(found: Sequence[Pairing], peer: str, title: str) -> Table:
    """Every figure of both, a section a load."""
    made = Table(title=title, title_justify="left")
    made.add_column("load")
    made.add_column("figure")
    for column in (peer, "kq", f"kq / {peer}"):
        made.add_column(column, justify="right")
    before = ""
    for each in found:
        if each.load != before:
            made.add_section()
        name = each.load if each.load != before else ""
        before = each.load
        made.add_row(name, _spelled(each.figure), *map(_shown, (each.peer, each.ours, each.ratio)))
    return made


def _total(by_process: Mapping[str, float]) -> float:
    return round(sum(by_process.get(name, 0.0) for name in PROCESSES), 2)


def _flat(figures: Figures) -> dict[str, float]:
    return dict(_leaves(with_totals(figures)))


def _leaves(figures: Figures, prefix: str = "") -> Iterator[tuple[str, float]]:
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", float(value)


def _spelled(figure: str) -> str:
    return figure.replace(".", ": ").replace("_", " ")


def _shown(number: float | None) -> str:
    return NOTHING if number is None else f"{number:,.2f}"
