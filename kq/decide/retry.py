"""Back-off of candidates that lack quota (spec 10.18-10.22): how long it is, and who is in it.

It is kept in memory only. Those of one shape that failed together rest together, so that what a
back-off costs follows the number of shapes, not of waiting units.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from heapq import heappop, heappush

import msgspec

from kq.backoff import exponential
from kq.core.messages import M29, Reason
from kq.core.plugins import Level, OrderKey, Problem
from kq.core.resources import Resources
from kq.decide.shapes import Shape, ShapeId

TICK = timedelta(milliseconds=100)
"""Back-offs that end within the same tenth of a second end as one."""


class Pace(msgspec.Struct, frozen=True):
    """The back-off after a first failure, and the longest one."""

    initial: timedelta
    longest: timedelta

    def after(self, failures: int) -> timedelta:
        """The back-off after so many failures in a row."""
        return exponential(self.initial, self.longest, failures)

    def one_more(self, failures: int) -> int:
        """How many there are with a further one: no more are counted once none is longer."""
        at_most = failures and self.after(failures) >= self.longest
        return failures if at_most else failures + 1


class Failure(msgspec.Struct, frozen=True):
    """Those of a shape, from `first` to `last`, that were tried and lack quota.

    `problem` is what is told of it to those of the shape that were not tried.
    """

    shape: Shape
    first: OrderKey
    last: OrderKey | None
    problem: Problem


class Resting:
    """Shapes that are not tried before their back-off ends, by its end."""

    def __init__(self) -> None:
        self._by_end: dict[datetime, dict[tuple[ShapeId, int], Shape]] = {}
        self._ends: list[datetime] = []
        self._seen: datetime | None = None

    def __iter__(self) -> Iterator[Shape]:
        """All of them."""
        return (shape for shapes in self._by_end.values() for shape in shapes.values())

    @property
    def next_end(self) -> datetime | None:
        """When the first of them are to be tried again."""
        while self._ends and not any(each.line for each in self._at(self._ends[0])):
            self._by_end.pop(heappop(self._ends), None)
        return self._ends[0] if self._ends else None

    def together(self, shape: Shape, until: datetime) -> Shape | None:
        """One of the same id with as many failures that rests until then, too."""
        return self._by_end.get(until, {}).get((shape.id, shape.failures))

    def put(self, shape: Shape, until: datetime) -> None:
        """It rests until then, in the place of any that it was merged with."""
        shape.until = until
        if until not in self._by_end:
            heappush(self._ends, until)
        self._by_end.setdefault(until, {})[shape.id, shape.failures] = shape

    def due(self, now: datetime) -> Iterator[Shape]:
        """Those whose back-off is over, which rest no more; all of them if a clock went back."""
        went_back = self._seen is not None and now < self._seen
        self._seen = now
        while self._ends and (went_back or self._ends[0] <= now):
            yield from self._by_end.pop(heappop(self._ends)).values()

    def take(self, shapes: Iterable[Shape]) -> Sequence[Shape]:
        """These rest no more."""
        taken = list(shapes)
        for each in taken:
            if each.until is not None:
                del self._by_end[each.until][each.id, each.failures]
        return taken

    def _at(self, end: datetime) -> Iterable[Shape]:
        return self._by_end.get(end, {}).values()


def end_of(now: datetime, back_off: timedelta) -> datetime:
    """When a back-off that begins now is over, to the next tenth of a second."""
    end = now + back_off
    return end + (-timedelta(microseconds=end.microsecond) % TICK)


def has_gained(old: Sequence[Level] | Problem, new: Sequence[Level] | Problem) -> bool:
    """Whether more may fit into the quota than before (spec 10.19): a limit is higher, or gone."""
    if isinstance(old, Problem) or isinstance(new, Problem):
        return True
    limits = {level.name: level.limit for level in new}
    return any(
        level.name not in limits or _is_more(limits[level.name], level.limit) for level in old
    )


def _is_more(limit: Resources, before: Resources) -> bool:
    """Whether it is more of something; what was not named was not limited."""
    return any(
        name in before and (name not in limit or limit[name] > before[name])
        for name in {*before, *limit}
    )


@lru_cache(65536)
def in_back_off(problem: Problem) -> Problem:
    """The same of one that is not tried before its back-off ends: M1 with M29."""
    return Problem(Reason.BACKOFF, f"{problem.message}; {M29}")
