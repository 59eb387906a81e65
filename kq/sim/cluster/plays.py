"""How pods run: what they say of themselves, or times that are drawn."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kq.core.kinds import Object
from kq.sim.control.objects import annotations_of

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|ms|s|m|h)", re.ASCII)

FOREVER = "forever"


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """How a pod runs, in seconds."""

    start_after: float = 0.0
    run_for: float | None = 0.0
    """None is for ever."""
    fails: bool = False
    linger: float = 0.0
    """How long it is terminating once it is deleted, whatever grace it was given."""


class Chance(Protocol):
    """Where numbers are drawn from, as `random.Random`."""

    def random(self) -> float:
        """A number from 0 to 1."""
        ...

    def expovariate(self, lambd: float) -> float:
        """A number of the exponential distribution with the mean `1 / lambd`."""
        ...


Plays = Callable[[Object], Play]
"""How a pod runs; asked once for each stage of it."""


def by_annotation(pod: Object) -> Play:
    """What the pod says: `start-after`, `run-for` (or `forever`), `fail-after`, `linger-for`."""
    said = annotations_of(pod)
    failure = said.get("fail-after")
    run = failure or said.get("run-for", "")
    return Play(
        start_after=seconds_of(said.get("start-after", "")),
        run_for=None if run == FOREVER else seconds_of(run),
        fails=failure is not None,
        linger=seconds_of(said.get("linger-for", "")),
    )


def drawn(chance: Chance, *, mean: float, failing: float = 0.0) -> Plays:
    """What the pod says; of what it does not say, run times are drawn, and so many of one fail."""

    def play(pod: Object) -> Play:
        said = annotations_of(pod)
        if "run-for" in said or "fail-after" in said:
            return by_annotation(pod)
        told = by_annotation(pod)
        return Play(
            start_after=told.start_after,
            run_for=chance.expovariate(1 / mean),
            fails=chance.random() < failing,
            linger=told.linger,
        )

    return play


def seconds_of(text: str) -> float:
    """The seconds of a duration such as `1m30s`; 0 for what is none."""
    parts = _DURATION.findall(text)
    if "".join(number + unit for number, unit in parts) != text:
        return 0.0
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
