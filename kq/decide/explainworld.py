"""A unit among all others, and what a cycle makes of it where one thing or another is changed.

Nothing of the book is touched: passes run by `kq.decide.cycle` on lines and usage of their own.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property

import msgspec

from kq.core.model import Queue, QueueUnit
from kq.core.plugins import Level, Problem
from kq.core.resources import Resources
from kq.decide.book import Book
from kq.decide.charge import all_run, request_of
from kq.decide.explaincrowd import Crowd, Pair
from kq.decide.jobs import holder_of
from kq.decide.places import Place
from kq.decide.queuesettings import preempts, waits_for_pods
from kq.decide.reclaim import Reclaim, mode_of
from kq.decide.standing import Candidate
from kq.decide.victims import ChainOf
from kq.errors import KqError


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What is otherwise than it is.

    `raised`: limits, by so much. `ended`: units that give back all that they have. `gone`: units
    that wait no more. `run`: units of which all pods run. `settings`: annotations of its Queue.
    """

    request: Resources | None = None
    priority: int | None = None
    raised: Mapping[Pair, int] = {}
    ended: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()
    run: frozenset[str] = frozenset()
    settings: Mapping[str, str] = {}


AS_IT_IS = Change()
MOST_LOOKS = 200_000
"""Units, shapes and grants that the passes of one explanation look at: a second of them."""


class TooMuch(KqError):
    """So much was tried that an answer is due."""


class Lightened:
    """Usage without what some have in use."""

    def __init__(self, book: Book, ended: frozenset[str]) -> None:
        self._usage = book.usage
        self._less: dict[str, dict[str, int]] = {}
        self._known: dict[str, Mapping[str, int]] = {}
        charges = book.usage.charges()
        for quota, amount in (charges[each] for each in ended if each in charges):
            for level in book.quotas.ancestry(quota):
                less = self._less.setdefault(level, {})
                for name, number in amount.items():
                    less[name] = less.get(name, 0) + number

    def more(self) -> Mapping[Pair, int]:
        """What there is more of at each level, so that others may have it."""
        return {(level, name): n for level, less in self._less.items() for name, n in less.items()}

    def of(self, level: str) -> Mapping[str, int]:
        """What all others below and at that level have in use."""
        if level not in self._less:
            return self._usage.of(level)
        if level not in self._known:
            less, all_of_it = self._less[level], self._usage.of(level)
            self._known[level] = {name: n - less.get(name, 0) for name, n in all_of_it.items()}
        return self._known[level]


class World:
    """One unit as a candidate, and all that a cycle looks at beside it.

    `unit` need not be in the line, nor exist. `looks` counts what passes had to look at.
    """

    def __init__(self, book: Book, unit: QueueUnit, standing: Candidate, now: datetime) -> None:
        self.book = book
        self.unit = unit
        self.quota = standing.quota
        self.name = standing.queue
        self.now = now
        self.looks = 0
        self._crowds: dict[str, Crowd] = {}
        self._unready: dict[str, Sequence[QueueUnit]] = {}

    def looked(self, at: int) -> None:
        """A pass looks at so many; TooMuch if an answer is due."""
        self.looks += at
        if self.looks > MOST_LOOKS:
            raise TooMuch(f"more than {MOST_LOOKS} looks for {self.unit.key}")

    @cached_property
    def request(self) -> Resources:
        """What the unit asks of its quota."""
        return request_of(self.unit.pod_sets, self.quota, self.book.quotas)

    @cached_property
    def chains(self) -> ChainOf:
        """The chains of quotas as they are."""
        return self.chain_of(AS_IT_IS)

    @cached_property
    def chain(self) -> Sequence[Level]:
        """The levels of its quota as they are."""
        return self.chains(self.quota)

    def place(self, change: Change = AS_IT_IS) -> Place:
        """Its place in the order of its Queue."""
        unit = self.unit
        if change.priority is not None:
            unit = msgspec.structs.replace(unit, priority=change.priority)
        policy = self.book.lines.policy(self.queue(self.name, change))
        order = policy.order_key(unit)
        request = self.request if change.request is None else change.request
        return Place(self.name, order, self.quota, request, policy.rank(order))

    def queue(self, name: str, change: Change = AS_IT_IS) -> Queue:
        """A Queue, its own with the settings of the change; one that is not made has none."""
        queue = self.book.queues.get(name) or _unmade(name, self.now)
        if name != self.name or not change.settings:
            return queue
        annotations = {**queue.annotations, **change.settings}
        return msgspec.structs.replace(queue, annotations=annotations)

    @cached_property
    def until(self) -> datetime | None:
        """When its back-off ends (spec 10.19); None if it is in none."""
        waiting = self.book.places.waiting(self.name)
        return waiting.until(self.place().order) if waiting is not None else None

    @property
    def when(self) -> str:
        """Ends a sentence about what does not end its back-off."""
        return ", at the end of its back-off" if self.until is not None else ""

    def unready(self, name: str) -> Sequence[QueueUnit]:
        """Units of a Queue that hold grants without all of their pods running (spec 10.13)."""
        if name not in self._unready:
            book = self.book
            units = (book.units.get(key) for key in book.places.at_queue(name))
            self._unready[name] = tuple(
                unit
                for unit in units
                if unit is not None
                and unit.holds_quota
                and not all_run(unit, book.jobs.pods(holder_of(unit)))
            )
        return self._unready[name]

    def crowd(self, name: str) -> Crowd:
        """Those who wait in a Queue."""
        if name not in self._crowds:
            waiting = self.book.places.waiting(name)
            self._crowds[name] = Crowd(waiting, self.chains, self.book.usage)
        return self._crowds[name]

    def chain_of(self, change: Change) -> ChainOf:
        """The chains of quotas, with limits raised."""
        quotas, raised = self.book.quotas, change.raised
        known: dict[str, Sequence[Level]] = {}

        def chain_of(quota: str) -> Sequence[Level]:
            chain = known.get(quota)
            if chain is None:
                found = quotas.chain(quota)
                chain = () if isinstance(found, Problem) else found
                if raised:
                    chain = [_raised(level, raised) for level in chain]
                known[quota] = chain
            return chain

        return chain_of


def may_take(world: World, name: str) -> bool:
    """Whether those who wait in that Queue may have others give back what they lack."""
    waiting = world.book.places.waiting(name)
    quotas = waiting.quotas() if waiting is not None else set()
    if name == world.name:
        quotas = quotas | {world.quota}
    return preempts(world.queue(name)) or any(
        mode_of(world.chains(each)) is not Reclaim.NEVER for each in quotas
    )


def woken(world: World, change: Change) -> set[str]:
    """Its Queue, and the others that the change wakes as well (spec 10.15)."""
    book, ancestry = world.book, world.book.quotas.ancestry
    levels = {level for level, _ in change.raised}
    woken, charges = set(), book.usage.charges()
    for each in change.ended:
        if each in charges:
            levels.update(ancestry(charges[each][0]))
        name = book.queue_of(each)
        if name is not None and waits_for_pods(world.queue(name)):
            woken.add(name)
    if levels:
        woken.update(book.places.sharing(levels, ancestry))
    return {world.name, *(name for name in woken if name in book.queues)}


def _raised(level: Level, raised: Mapping[Pair, int]) -> Level:
    limit = {name: n + raised.get((level.name, name), 0) for name, n in level.limit.items()}
    if all(limit[name] == n for name, n in level.limit.items()):
        return level
    return Level(
        level.name, Resources.of(limit), level.minimum, beside=level.beside, reclaim=level.reclaim
    )


def _unmade(name: str, now: datetime) -> Queue:
    return Queue(namespace="", name=name, uid="", resource_version="", created=now)
