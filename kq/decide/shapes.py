"""Candidates of one quota and rank with one request: either all of them fit or none."""

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kq.core.plugins import LOW, Level, OrderKey, Problem
from kq.core.resources import Resources
from kq.decide.fit import Demand

ShapeId = tuple[str, Resources, int]
"""A quota, a request, and the rank in the policy's lists."""

FEW = 8
"""So many times smaller than the other a line is to be inserted into it one by one."""


@dataclass(slots=True)
class Shape:
    """Candidates that ask the same of the same quota, and what the last cycle found of them.

    `failures` is how often in a row each of them lacked quota, counted in retry mode `backoff`
    only; `until` is when they are tried again, while they are in back-off (spec 10.19).
    """

    id: ShapeId
    line: list[OrderKey] = field(default_factory=list)
    head: OrderKey | None = None
    head_verdict: Problem | None = None
    rest_verdict: Problem | None = None
    promised: dict[OrderKey, Problem] = field(default_factory=dict)
    """Those for whom others give something back, and what they are told."""
    told: dict[Problem | None, dict[OrderKey, None]] = field(default_factory=dict)
    said: dict[Problem | None, tuple["Shape", Problem | None]] = field(
        default_factory=dict, compare=False, repr=False
    )
    """Itself with each of these texts: one object for all who are told the same."""
    failures: int = 0
    until: datetime | None = None
    into: "Shape | None" = None
    """The one that has all of its own, after they were merged."""
    demand: Demand | None = field(default=None, compare=False, repr=False)
    """What each of them asks, laid against its quota's chain as it was at the last pass."""

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

    def part(self, line: list[OrderKey]) -> "Shape":
        """Some of them, as a shape of its own."""
        return Shape(
            self.id,
            line,
            self.head,
            self.head_verdict,
            self.rest_verdict,
            failures=self.failures,
            until=self.until,
        )

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
        if self._all_told():
            return []
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

    def _all_told(self) -> bool:
        """Whether all are told the same and hear nothing new, as most do of most passes."""
        rest = self.rest_verdict
        told = self.told.get(rest) if rest is not None and len(self.told) == 1 else None
        if told is None or self.promised:
            return False
        return self.head is None or (self.head_verdict == rest and self.head in told)

    def tell(self, place: OrderKey, told: Problem | None) -> None:
        """That one's object says so."""
        self.told.setdefault(told, {})[place] = None

    def saying(self, told: Problem | None) -> tuple["Shape", Problem | None]:
        """The shape, and what is told."""
        return self.said.setdefault(told, (self, told))

    def untell(self, place: OrderKey, told: Problem | None) -> None:
        """That one's object says so no more."""
        places = self.told[told]
        places.pop(place, None)
        if not places:
            del self.told[told]
            self.said.pop(told, None)

    def merge_into(self, other: "Shape") -> None:
        """The other has all of its own, too; this one has none."""
        for told, places in self.told.items():
            if told in other.told:
                other.told[told].update(places)
            else:
                other.told[told] = places
        other.take_in(self.line, len(self.line))
        other.promised.update(self.promised)
        self.line, self.told, self.promised, self.head = [], {}, {}, None
        self.into = other

    def take_in(self, places: Iterable[OrderKey], count: int) -> None:
        """So many further places, in order."""
        if count * FEW < len(self.line):
            for each in places:
                insort(self.line, each)
        else:
            self.line = sorted([*self.line, *places])


def demand_of(shape: Shape, chain: Sequence[Level]) -> Demand:
    """What each of the shape asks, laid against that chain of its quota."""
    found = shape.demand
    if found is None or found.chain is not chain:
        found = shape.demand = Demand(chain, shape.request)
    return found
