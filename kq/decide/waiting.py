"""The candidates of one Queue, in policy order, grouped by shape.

A cycle looks at each shape once, so that its cost follows the number of shapes and grants, not of
waiting units. Those in back-off are shapes of their own, which it does not look at.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from heapq import merge
from itertools import chain, islice

from kq.core.plugins import OrderKey, Problem
from kq.decide.retry import Failure, Pace, Resting, end_of
from kq.decide.shapes import Shape, ShapeId

__all__ = ["Shape", "ShapeId", "WaitingList"]


class WaitingList:
    """The line of one Queue."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[ShapeId, int], Shape] = {}
        self._resting = Resting()
        self._failed: list[Shape] = []
        """Those that rest since the last pass."""
        self._places: dict[OrderKey, tuple[Shape, Problem | None]] = {}

    def __len__(self) -> int:
        return len(self._places)

    def add(self, place: OrderKey, id_: ShapeId, told: Problem | None) -> None:
        """One more candidate; `told` is what its object says of why it waits."""
        shape = self._shapes.get((id_, 0))
        if shape is None:
            shape = self._shapes[id_, 0] = Shape(id_)
        shape.take_in((place,), 1)
        shape.tell(place, told)
        self._places[place] = shape.saying(told)

    def remove(self, place: OrderKey) -> None:
        """One candidate less."""
        shape, told = self._found(place)
        del self._places[place]
        del shape.line[bisect_left(shape.line, place)]
        shape.untell(place, told)
        if shape.head == place:
            shape.head = None
        shape.promised.pop(place, None)
        if not shape.line and shape.until is None:
            del self._shapes[shape.id, shape.failures]

    def tell(self, place: OrderKey, verdict: Problem | None) -> None:
        """That one is being told this."""
        shape, told = self._found(place)
        if told == verdict:
            return
        shape.untell(place, told)
        shape.tell(place, verdict)
        self._places[place] = shape.saying(verdict)

    def tell_news(self) -> list[OrderKey]:
        """Those who are being told what the last pass found, as it is something else."""
        news = []
        for shape in chain(self._shapes.values(), self._failed):
            for place in shape.untold():
                self.tell(place, shape.verdict(place))
                news.append(place)
        self._failed.clear()
        return news

    def verdict(self, place: OrderKey) -> Problem | None:
        """Why that one waits; None if no cycle has looked at it yet."""
        return self._found(place)[0].verdict(place)

    def position(self, place: OrderKey) -> int:
        """Its place in line, from 1."""
        every = chain(self._shapes.values(), self._resting)
        return 1 + sum(bisect_left(shape.line, place) for shape in every)

    def shape(self, place: OrderKey) -> Shape | None:
        """The shape in which that one is; None if it does not wait here."""
        return self._found(place)[0] if place in self._places else None

    def until(self, place: OrderKey) -> datetime | None:
        """When the back-off of that one ends; None if it is in none."""
        shape = self.shape(place)
        return shape.until if shape is not None else None

    def shapes(self) -> Iterable[Shape]:
        """All shapes that a pass tries."""
        return self._shapes.values()

    def quotas(self) -> set[str]:
        """All quotas that somebody waits for, in back-off or not."""
        return {each.quota for each in chain(self._shapes.values(), self._resting) if each.line}

    def first(self, count: int, rank: int, after: OrderKey | None = None) -> list[OrderKey]:
        """So many of a rank that are tried, from the head; of the low ones those behind `after`."""
        shapes = [shape for shape in self._shapes.values() if shape.rank == rank]
        lines = [islice(shape.line, shape.begin(after), None) for shape in shapes]
        return list(islice(merge(*lines), count))

    def head(self) -> OrderKey | None:
        """The first of all that are tried; None if nobody is."""
        return min((shape.line[0] for shape in self._shapes.values() if shape.line), default=None)

    def every(self) -> Iterator[Shape]:
        """All shapes, those in back-off too."""
        return chain(self._shapes.values(), self._resting)

    @classmethod
    def of(cls, shapes: Iterable[Shape]) -> "WaitingList":
        """A list of these shapes, which are its own; nobody has been told anything."""
        made = cls()
        for each in shapes:
            each.told = {None: dict.fromkeys(each.line)}
            made._places |= dict.fromkeys(each.line, (each, None))
            if each.until is None:
                made._shapes[each.id, each.failures] = each
            else:
                made._resting.put(each, each.until)
        return made

    def in_order(self) -> Iterator[OrderKey]:
        """All candidates from the head."""
        return iter(sorted(self._places))

    @property
    def next_end(self) -> datetime | None:
        """When the next back-off ends; None if nobody is in one."""
        return self._resting.next_end

    def rest(self, failure: Failure, pace: Pace, now: datetime) -> None:
        """Those who failed are not tried before their back-off ends (spec 10.19)."""
        failures = pace.one_more(failure.shape.failures)
        back_off = pace.after(failures)
        if not back_off:
            return
        shape, until = self._part(failure), end_of(now, back_off)
        shape.failures = failures
        known = self._resting.together(shape, until)
        shape = shape if known is None else self._merged(known, shape)
        self._resting.put(shape, until)
        self._failed.append(shape)

    def rouse(self, now: datetime) -> None:
        """Those whose back-off is over are tried again."""
        self._ready(self._resting.due(now))

    def end_back_offs(self, quotas: Collection[str] | None = None) -> None:
        """Nobody is in back-off any more, or nobody who waits for one of these quotas."""
        ended = (each for each in self._resting if quotas is None or each.quota in quotas)
        self._ready(self._resting.take(ended))

    def _ready(self, shapes: Iterable[Shape]) -> None:
        for shape in shapes:
            shape.until = None
            if shape.line:
                key = (shape.id, shape.failures)
                known = self._shapes.get(key)
                self._shapes[key] = shape if known is None else self._merged(known, shape)

    def _part(self, failure: Failure) -> Shape:
        """Those who failed, as a shape of their own that is not tried any more."""
        shape, last = failure.shape, failure.last
        begin = bisect_left(shape.line, failure.first)
        end = len(shape.line) if last is None else bisect_right(shape.line, last)
        key = (shape.id, shape.failures)
        if end - begin == len(shape.line):
            return self._shapes.pop(key)
        failed, others = shape.line[begin:end], shape.line[:begin] + shape.line[end:]
        apart = Shape(shape.id, failures=shape.failures)
        if len(failed) > len(others):
            self._move(others, shape, apart)
            apart.judge(None, failure.problem, failure.problem)
            self._shapes[key], shape.line = apart, failed
            return shape
        self._move(failed, shape, apart)
        apart.head, apart.head_verdict = shape.head, shape.head_verdict
        apart.rest_verdict = shape.rest_verdict
        shape.judge(None, failure.problem, failure.problem)
        shape.line = others
        return apart

    def _merged(self, one: Shape, other: Shape) -> Shape:
        """The larger of two with as many failures, with those of the other."""
        small, large = sorted((one, other), key=lambda each: len(each.line))
        small.merge_into(large)
        return large

    def _found(self, place: OrderKey) -> tuple[Shape, Problem | None]:
        """The shape in which that one is now, and what its object says."""
        shape, told = self._places[place]
        while shape.into is not None:
            shape = shape.into
        return shape, told

    def _move(self, places: Iterable[OrderKey], source: Shape, target: Shape) -> None:
        """These belong to the target now; the source's line is for the caller to set."""
        moved = list(places)
        for place in moved:
            told = self._places[place][1]
            source.untell(place, told)
            target.tell(place, told)
            self._places[place] = target.saying(told)
            if place in source.promised:
                target.promised[place] = source.promised.pop(place)
        target.take_in(moved, len(moved))
