"""The candidates of one Queue, in policy order, grouped by shape.

Units of one quota and rank with one request are one shape: either all of them fit or none. A cycle
looks at each shape once, so that its cost follows the number of shapes and grants, not of waiting
units.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice

from kq.core.plugins import LOW, OrderKey, Problem
from kq.core.resources import Resources

ShapeId = tuple[str, Resources, int]
"""A quota, a request, and the rank in the policy's lists."""


@dataclass(slots=True)
class Shape:
    """Candidates that ask the same of the same quota, and what the last cycle found of them."""

    id: ShapeId
    line: list[OrderKey] = field(default_factory=list)
    head: OrderKey | None = None
    head_verdict: Problem | None = None
    rest_verdict: Problem | None = None
    promised: dict[OrderKey, Problem] = field(default_factory=dict)
    """Those for whom others give something back, and what they are told."""
    told: dict[Problem | None, dict[OrderKey, None]] = field(default_factory=dict)

    @property
    def quota(self) -> str:
        """The quota that all of them draw on."""
        return self.id[0]

    @property
    def request(self) -> Resources:
        """What each of them asks."""
        return self.id[1]

    @property
    def rank(self) -> int:
        """In which list of the policy they are."""
        return self.id[2]

    def begin(self, after: OrderKey | None) -> int:
        """Where a pass that goes on behind `after` begins: ranks above the last begin anew."""
        return bisect_right(self.line, after) if after is not None and self.rank == LOW else 0

    def judge(self, head: OrderKey | None, head_verdict: Problem, rest: Problem) -> None:
        """What a cycle found: `head` is the first that does not fit, `rest` is for the others."""
        self.head, self.head_verdict, self.rest_verdict = head, head_verdict, rest

    def verdict(self, place: OrderKey) -> Problem | None:
        """What the last cycle found of the one at that place; None if there was no cycle yet."""
        if place in self.promised:
            return self.promised[place]
        return self.head_verdict if place == self.head else self.rest_verdict

    def untold(self) -> list[OrderKey]:
        """Those that were told something else than what holds now."""
        special = dict(self.promised)
        if self.head is not None and self.head_verdict is not None:
            special.setdefault(self.head, self.head_verdict)
        others = [
            place for place, verdict in special.items() if place not in self.told.get(verdict, ())
        ]
        if self.rest_verdict is not None:
            others += [
                place
                for said, places in self.told.items()
                if said != self.rest_verdict
                for place in places
                if place not in special
            ]
        return others


class WaitingList:
    """The line of one Queue."""

    def __init__(self) -> None:
        self._shapes: dict[ShapeId, Shape] = {}
        self._places: dict[OrderKey, tuple[Shape, Problem | None]] = {}

    def __len__(self) -> int:
        return len(self._places)

    def add(self, place: OrderKey, id_: ShapeId, told: Problem | None) -> None:
        """One more candidate; `told` is what its object says of why it waits."""
        shape = self._shapes.get(id_)
        if shape is None:
            shape = self._shapes[id_] = Shape(id_)
        insort(shape.line, place)
        shape.told.setdefault(told, {})[place] = None
        self._places[place] = (shape, told)

    def remove(self, place: OrderKey) -> None:
        """One candidate less."""
        shape, told = self._places.pop(place)
        del shape.line[bisect_left(shape.line, place)]
        self._untell(shape, place, told)
        if shape.head == place:
            shape.head = None
        shape.promised.pop(place, None)
        if not shape.line:
            del self._shapes[shape.id]

    def tell(self, place: OrderKey, verdict: Problem | None) -> None:
        """That one is being told this."""
        shape, told = self._places[place]
        if told == verdict:
            return
        self._untell(shape, place, told)
        shape.told.setdefault(verdict, {})[place] = None
        self._places[place] = (shape, verdict)

    def verdict(self, place: OrderKey) -> Problem | None:
        """Why that one waits; None if no cycle has looked at it yet."""
        return self._places[place][0].verdict(place)

    def position(self, place: OrderKey) -> int:
        """Its place in line, from 1."""
        return 1 + sum(bisect_left(shape.line, place) for shape in self._shapes.values())

    def shapes(self) -> Iterable[Shape]:
        """All shapes."""
        return self._shapes.values()

    def first(self, count: int, after: OrderKey | None) -> list[OrderKey]:
        """So many candidates from the head; of the last rank only those behind `after`."""
        lines = [islice(shape.line, shape.begin(after), None) for shape in self._shapes.values()]
        return list(islice(merge(*lines), count))

    def in_order(self) -> Iterator[OrderKey]:
        """All candidates from the head."""
        return iter(sorted(self._places))

    def _untell(self, shape: Shape, place: OrderKey, told: Problem | None) -> None:
        places = shape.told[told]
        places.pop(place, None)
        if not places:
            del shape.told[told]
