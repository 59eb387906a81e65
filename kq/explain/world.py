"""A unit among all others, and what may be otherwise than it is."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property

import msgspec

from kq.core.model import Queue, QueueUnit
from kq.core.plugins import Level, Problem
from kq.core.resources import Resources
from kq.decide.book import Book
from kq.decide.charge import asked_by
from kq.decide.places import Place
from kq.decide.queuesettings import preempts, waits_for_pods
from kq.decide.reclaim import Reclaim, mode_of
from kq.decide.standing import Candidate
from kq.errors import KqError
from kq.explain.crowd import Crowd, Pair


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What is otherwise than it is.

    `unit`: as the unit is then. `request`: what it asks then. `raised`: limits, by so much.
    `ended`: units that give back all that they have. `gone`: units that wait no more. `run`: units
    of which all pods run. `settings`: annotations of its Queue.
    """

    unit: QueueUnit | None = None
    request: Resources | None = None
    raised: Mapping[Pair, int] = {}
    ended: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()
    run: frozenset[str] = frozenset()
    settings: Mapping[str, str] = {}


AS_IT_IS = Change()
MOST_LOOKS = 20_000
"""Units, shapes and grants that the passes of one explanation look at: about 0.2 s of them."""


class TooMuch(KqError):
    """So much was tried that an answer is due."""


class Budget:
    """How much passes may look at before an answer is due."""

    def __init__(self) -> None:
        self._left = MOST_LOOKS

    def looked(self, at: int) -> None:
        """A pass looks at so many; TooMuch if an answer is due."""
        self._left -= at
        if self._left < 0:
            raise TooMuch(f"more than {MOST_LOOKS} looks")

    @contextmanager
    def sparing(self, share: int) -> Iterator[None]:
        """Within it only one of so many shares of the looks that are left is to be had."""
        spared = self._left - self._left // share
        self._left -= spared
        try:
            yield
        finally:
            self._left += spared


class World:
    """One unit as a candidate, and all that a cycle looks at beside it.

    `unit` need not be in the line, nor exist. What passes look at is counted, and is bounded.
    """

    def __init__(self, book: Book, unit: QueueUnit, standing: Candidate, now: datetime) -> None:
        self.book = book
        self.unit = unit
        self.quota = standing.quota
        self.name = standing.queue
        self.now = now
        self.budget = Budget()
        self._crowds: dict[str, Crowd] = {}

    @cached_property
    def request(self) -> Resources:
        """What the unit asks of its quota."""
        return self._asked(self.unit)

    @cached_property
    def chain(self) -> Sequence[Level]:
        """The levels of its quota as they are."""
        return self.chains(self.quota)

    def chains(self, quota: str) -> Sequence[Level]:
        """The chain of a quota as it is."""
        chain = self.book.quotas.chain(quota)
        return () if isinstance(chain, Problem) else chain

    def _asked(self, unit: QueueUnit) -> Resources:
        return asked_by(unit, self.quota, self.book.quotas)

    def place(self, change: Change = AS_IT_IS) -> Place:
        """Its place in the order of its Queue."""
        unit = change.unit or self.unit
        request = change.request
        if request is None:
            request = self.request if change.unit is None else self._asked(unit)
        policy = self.book.lines.policy(self.queue(change))
        order = policy.order_key(unit)
        return Place(self.name, order, self.quota, request, policy.rank(order))

    def queue(self, change: Change = AS_IT_IS) -> Queue:
        """Its Queue with the settings of the change; one that is not made has none."""
        queue = self.book.queues.get(self.name) or _unmade(self.name, self.now)
        if not change.settings:
            return queue
        annotations = {**queue.annotations, **change.settings}
        return msgspec.structs.replace(queue, annotations=annotations)

    @cached_property
    def until(self) -> datetime | None:
        """When its back-off ends (spec 10.19); None if it is in none."""
        waiting = self.book.places.waiting(self.name)
        return waiting.until(self.place().order) if waiting is not None else None

    def crowd(self, name: str) -> Crowd:
        """Those who wait in a Queue."""
        if name not in self._crowds:
            waiting = self.book.places.waiting(name)
            self._crowds[name] = Crowd(waiting, self.chains, self.book.usage)
        return self._crowds[name]

    def may_take(self, name: str) -> bool:
        """Whether those who wait in that Queue may have others give back what they lack."""
        queue, waiting = self.book.queues.get(name), self.book.places.waiting(name)
        quotas = waiting.quotas() if waiting is not None else set()
        if name == self.name:
            quotas = quotas | {self.quota}
        return (queue is not None and preempts(queue)) or any(map(self._reclaims, quotas))

    @cached_property
    def anybody_takes(self) -> bool:
        """Whether passes take anything back at all, or have set something aside."""
        return any(self._takers())

    def _takers(self) -> Iterator[bool]:
        book = self.book
        yield book.takings.has_promises
        yield from (preempts(each) or waits_for_pods(each) for each in book.queues.values())
        yield from map(self._reclaims, {self.quota, *book.places.quotas()})

    def _reclaims(self, quota: str) -> bool:
        return mode_of(self.chains(quota)) is not Reclaim.NEVER


def given_back(book: Book, key: str) -> Mapping[Pair, int]:
    """By level and resource, what there is more of once that unit has nothing any more."""
    charge = book.usage.charges().get(key)
    if charge is None:
        return {}
    levels = book.quotas.ancestry(charge[0])
    return {(level, name): n for level in levels for name, n in charge[1].items()}


def _unmade(name: str, now: datetime) -> Queue:
    return Queue(namespace="", name=name, uid="", resource_version="", created=now)
