"""What would be known after a change: a picture apart from the book, on which passes run as on it.

Nothing of the book is touched. What the book would be told of the change in events is done here at
once, with the same consequences: what is in use, who is woken, whose back-off ends.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from kq.core.model import Phase, Queue, QueueUnit
from kq.core.plugins import AutoMade, Level, OrderKey, Problem, QuotaPlugin
from kq.core.resources import Resources, is_firm, plain
from kq.decide.course import Course, granted
from kq.decide.jobs import JobIndex
from kq.decide.places import Place, Places
from kq.decide.turns import Limits
from kq.decide.usage import Ancestry, UsageIndex
from kq.decide.waiting import WaitingList
from kq.explain.crowd import Pair
from kq.explain.world import Change, World

Draw = Callable[[str], WaitingList]
"""Makes the list of those who wait in a Queue."""


class Raised:
    """Quotas with higher limits; what limits firm amounts is their min (spec 11.13)."""

    def __init__(self, quotas: QuotaPlugin, raised: Mapping[Pair, int]) -> None:
        self._quotas = quotas
        self._known: dict[str, Sequence[Level] | Problem] = {}
        self._raised: dict[str, dict[str, int]] = {}
        for (level, name), by in raised.items():
            self._raised.setdefault(level, {})[name] = by

    def auto_made(self, queue: str) -> AutoMade | None:
        """What the Queue of that name is made for."""
        return self._quotas.auto_made(queue)

    def ancestry(self, quota: str) -> Sequence[str]:
        """The names of the quota and its ancestors."""
        return self._quotas.ancestry(quota)

    def chain(self, quota: str) -> Sequence[Level] | Problem:
        """The quota, then its ancestors."""
        chain = self._known.get(quota)
        if chain is None:
            chain = self._known[quota] = self._lifted(self._quotas.chain(quota))
        return chain

    def _lifted(self, chain: Sequence[Level] | Problem) -> Sequence[Level] | Problem:
        if isinstance(chain, Problem) or not any(level.name in self._raised for level in chain):
            return chain
        return [self._higher(level) for level in chain]

    def _higher(self, level: Level) -> Level:
        by = self._raised.get(level.name)
        if not by:
            return level
        minimum = dict(level.minimum.items())
        for name in filter(is_firm, by):
            minimum[plain(name)] = level.minimum.get(plain(name)) + by[name]
        return Level(
            level.name,
            level.limit.raised(by),
            Resources.of(minimum),
            beside=level.beside,
            reclaim=level.reclaim,
        )


class Units(Mapping[str, QueueUnit]):
    """All units, some of which have changed, and some of which (None) are gone."""

    def __init__(self, units: Mapping[str, QueueUnit]) -> None:
        self._units = units
        self.changed: dict[str, QueueUnit | None] = {}

    def __getitem__(self, key: str) -> QueueUnit:
        unit = self.changed[key] if key in self.changed else self._units[key]
        if unit is None:
            raise KeyError(key)
        return unit

    def __iter__(self) -> Iterator[str]:
        keys = {**self._units, **self.changed} if self.changed else self._units
        return (key for key in keys if key in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class LineUp:
    """The lines of all Queues, each drawn when it is first looked at."""

    def __init__(self, places: Places, own: Place, draw: Draw) -> None:
        self._places = places
        self._own = own
        self._draw = draw
        self.drawn: dict[str, WaitingList] = {}

    def waiting(self, queue: str) -> WaitingList | None:
        """The line of a Queue; None if nobody waits there."""
        if queue not in self.drawn:
            self.drawn[queue] = self._draw(queue)
        return self.drawn[queue] or None

    def at_queue(self, queue: str) -> Sequence[str]:
        """All units of a Queue, waiting or not."""
        return self._places.at_queue(queue)

    def quotas(self) -> Collection[str]:
        """All quotas that somebody waits for."""
        return {self._own.quota, *self._places.quotas()}

    def drawing_on(self, quotas: Collection[str]) -> list[str]:
        """Queues with candidates of one of these quotas."""
        own = [self._own.queue] if self._own.quota in quotas else []
        return list({*own, *self._places.drawing_on(quotas)})

    def sharing(self, levels: Collection[str], ancestry: Ancestry) -> list[str]:
        """Queues with candidates whose quota's chain has one of these levels."""
        freed = set(levels)
        return self.drawing_on(
            {each for each in self.quotas() if not freed.isdisjoint(ancestry(each))}
        )


class Picture:
    """All that passes look at, after a change; `own` is the place of the unit that it is about."""

    def __init__(self, world: World, change: Change, own: Place, draw: Draw) -> None:
        book = world.book
        self._world = world
        self._own = own
        self._run = change.run
        self._started: tuple[str, Sequence[OrderKey], datetime] = (world.name, (), world.now)
        self.units = Units(book.units)
        self.queues: Mapping[str, Queue] = {**book.queues, world.name: world.queue(change)}
        self.quotas: Limits = Raised(book.quotas, change.raised) if change.raised else book.quotas
        self.usage: UsageIndex = book.usage.fork()
        self.places = LineUp(book.places, own, draw)
        self.lines = book.lines.fork()
        self.takings = book.takings.fork(self)
        self.course = Course(self, self.lines, self.takings)

    @property
    def jobs(self) -> JobIndex:
        """Jobs and their pods, as they are."""
        return self._world.book.jobs

    def queue_of(self, key: str) -> str | None:
        """The Queue in which the unit stands, or would stand."""
        own = self._world.unit.key
        return self._world.name if key == own else self._world.book.queue_of(key)

    def all_run(self, unit: QueueUnit) -> bool:
        """Whether all pods of a unit that holds grants run (spec 10.13)."""
        return unit.key in self._run or self._world.book.all_run(unit)

    def run(self, queue: str, now: datetime) -> Sequence[OrderKey]:
        """One pass over the Queue: who starts. Often nobody asks any more what follows of that."""
        self.follow()
        granted = self.course.run(queue, now, lambda order: None)
        self._started = (queue, granted, now)
        if granted:
            self.course.woken.add(queue)
        return granted

    def follow(self) -> None:
        """What follows from the last pass: who starts waits no more, what they ask is in use."""
        queue, granted, now = self._started
        self._started = (queue, (), now)
        for order in granted:
            self._grant(queue, order, now)

    def apply(self, change: Change) -> None:
        """What follows from the change before any pass."""
        book, own = self._world.book, self._world.unit
        if change.unit is not None or own.key not in book.units:
            self.units.changed[own.key] = change.unit or own
        for key in change.run:
            self.course.wake_if_awaited(book.units[key])
        for key in change.ended:
            self._end(key)
        for key in change.gone:
            self._tell(key, None)
            self._give_back(key)
        if change.raised:
            self.course.limited_anew(book.quotas)
        self.course.woken.add(self._world.name)

    def _end(self, key: str) -> None:
        """The job has ended: its unit has nothing any more."""
        unit = self.units[key]
        self.course.wake_if_awaited(unit)
        ended = {"phase": Phase.SUCCEED, "raw_phase": Phase.SUCCEED.value, "grants": ()}
        self._tell(key, msgspec.structs.replace(unit, **ended))
        self._give_back(key)

    def _give_back(self, key: str) -> None:
        quota = self.usage.drop(key)
        if quota:
            self.course.released(self.quotas.ancestry(quota))

    def _grant(self, queue: str, order: OrderKey, now: datetime) -> None:
        """One starts: it waits no more, and what it asks is in use."""
        key, waiting = order[2], self.places.drawn[queue]
        place = self._own if order == self._own.order else self._world.book.places.place(key)
        waiting.remove(order)
        if place is not None:
            self.usage.charge(key, place.quota, place.request)
        if self._world.anybody_takes:
            self._tell(key, granted(self.units[key], now))

    def _tell(self, key: str, unit: QueueUnit | None) -> None:
        self.units.changed[key] = unit
        self.takings.saw_unit(key, unit)
