"""Those who wait in one Queue, as far as they make a difference to what is tried.

What is in use only grows from pass to pass. So one that lacks something right after a change lacks
it at its turn, too. All that it can do is to bar others of its quota, and that does the first such
one. Where those who lack something may take it from others, everybody makes a difference, and
where only so many are tried, everybody is counted.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from kq.core.plugins import OrderKey
from kq.decide.shapes import Shape
from kq.decide.usage import Usage
from kq.decide.victims import ChainOf
from kq.decide.waiting import WaitingList

Pair = tuple[str, str]
"""A level of a quota's chain, and a resource."""


class Lacking(NamedTuple):
    """A shape, and all that it lacks as things are; `first` is one of that."""

    shape: Shape
    first: Pair
    over: int
    lacks: Mapping[Pair, int]
    is_above: bool
    """It asks for more than a limit."""


NOTHING: Pair = ("", "")


class Cut(NamedTuple):
    """Which of them there are: those up to a place (None: all), less some units."""

    last: OrderKey | None
    without: Collection[str]
    own: Shape | None
    """One that counts in any case."""


class Crowd:
    """The line of one Queue, looked at once."""

    def __init__(self, waiting: WaitingList | None, chain_of: ChainOf, usage: Usage) -> None:
        shapes = waiting.every() if waiting is not None else ()
        self._all = [_lacking(each, chain_of, usage) for each in shapes if each.line]
        self._all.sort(key=lambda one: one.over)
        self._by_quota: dict[str, list[Lacking]] = {}
        awake = (each for each in self._all if each.shape.until is None)
        for each in sorted(awake, key=lambda one: one.shape.line[0]):
            self._by_quota.setdefault(each.shape.quota, []).append(each)

    @property
    def size(self) -> int:
        """How many shapes there are."""
        return len(self._all)

    def everybody(self, cut: Cut) -> Iterator[Shape]:
        """All of them."""
        return _parts(self._all, cut)

    def those_who_count(
        self, cut: Cut, more: Mapping[Pair, int], *, skips_impossible: bool
    ) -> Iterator[Shape]:
        """Those who may start where there is so much more, and the first who bar others."""
        may_start = [
            each
            for each in self._all
            if each.shape is cut.own
            or (
                each.over <= more.get(each.first, 0)
                and all(over <= more.get(pair, 0) for pair, over in each.lacks.items())
            )
        ]
        chosen = {id(each.shape) for each in may_start}
        yield from _parts(may_start, cut)
        for lacking in self._by_quota.values():
            others = (each for each in lacking if id(each.shape) not in chosen)
            yield from _heads(others, cut, skips_impossible=skips_impossible)


def _lacking(shape: Shape, chain_of: ChainOf, usage: Usage) -> Lacking:
    lacks: dict[Pair, int] = {}
    is_above = False
    for level in chain_of(shape.quota):
        used = usage.of(level.name)
        for name, amount in shape.request.items():
            if amount > 0 and name in level.limit:
                limit = level.limit[name]
                is_above = is_above or amount > limit
                over = used.get(name, 0) + amount - limit
                if over > 0:
                    lacks[level.name, name] = over
    first = next(iter(lacks), NOTHING)
    return Lacking(shape, first, lacks.get(first, 0), lacks, is_above)


def _parts(those: Iterable[Lacking], cut: Cut) -> Iterator[Shape]:
    for each in those:
        shape = each.shape
        end = len(shape.line) if cut.last is None else bisect_right(shape.line, cut.last)
        line = shape.line[:end]
        if cut.without:
            line = [place for place in line if place[2] not in cut.without]
        if line:
            yield shape.part(line)


def _heads(those: Iterable[Lacking], cut: Cut, *, skips_impossible: bool) -> Iterator[Shape]:
    """The first that bars others of the quota, and any before it that is passed over."""
    first: OrderKey | None = None
    for each in those:
        if first is not None and each.shape.line[0] > first:
            break
        for part in _parts([each], cut):
            del part.line[1:]
            yield part
            if not (skips_impossible and each.is_above):
                first = part.line[0] if first is None else min(first, part.line[0])
