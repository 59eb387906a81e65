"""Which Queue each unit stands in, and the candidates' places in line."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache

import msgspec

from kq.core.model import Phase, QueueUnit
from kq.core.plugins import OrderKey, Problem
from kq.core.resources import Resources
from kq.decide.waiting import WaitingList


class Place(msgspec.Struct, frozen=True, gc=False):
    """A candidate's place: its Queue, its key in the order, and its shape."""

    queue: str
    order: OrderKey
    quota: str
    request: Resources
    rank: int = 0


class Places:
    """Units by Queue, and a WaitingList for each Queue that has candidates."""

    def __init__(self) -> None:
        self._waiting: dict[str, WaitingList] = {}
        self._places: dict[str, Place] = {}
        self._queue_of: dict[str, str] = {}
        self._at: dict[str, dict[str, None]] = {}
        self._quotas: dict[str, Counter[str]] = {}

    def put(self, key: str, queue: str | None, place: Place | None, told: Problem | None) -> bool:
        """Where a unit stands now; whether its place in a line has changed."""
        self._assign(key, queue)
        old = self._places.get(key)
        if old == place:
            if place is not None:
                self._waiting[place.queue].tell(place.order, told)
            return False
        if old is not None:
            self._remove(key, old)
        if place is not None:
            self._places[key] = place
            waiting = self._waiting.setdefault(place.queue, WaitingList())
            waiting.add(place.order, (place.quota, place.request, place.rank), told)
            self._quotas.setdefault(place.quota, Counter())[place.queue] += 1
        return True

    def drop(self, key: str) -> None:
        """A unit that is gone."""
        self._assign(key, None)
        old = self._places.get(key)
        if old is not None:
            self._remove(key, old)

    def waiting(self, queue: str) -> WaitingList | None:
        """The line of a Queue; None if nobody waits there."""
        return self._waiting.get(queue)

    def lists(self) -> Iterable[tuple[str, WaitingList]]:
        """All lines by Queue."""
        return self._waiting.items()

    def at_queue(self, queue: str) -> Sequence[str]:
        """All units of a Queue, waiting or not."""
        return tuple(self._at.get(queue, ()))

    def place(self, key: str) -> Place | None:
        """A candidate's place."""
        return self._places.get(key)

    def in_order(self, queue: str) -> Iterator[OrderKey]:
        """The candidates of a Queue from the head."""
        waiting = self._waiting.get(queue)
        return waiting.in_order() if waiting else iter(())

    def quotas(self) -> Collection[str]:
        """All quotas that somebody waits for."""
        return self._quotas.keys()

    def drawing_on(self, quotas: Iterable[str]) -> list[str]:
        """Queues with candidates of one of these quotas."""
        return [queue for quota in quotas for queue in self._quotas.get(quota, ())]

    def sharing(self, levels: Iterable[str], ancestry: Callable[[str], Sequence[str]]) -> list[str]:
        """Queues with candidates whose quota's chain has one of these levels."""
        freed = set(levels)
        return self.drawing_on(
            quota for quota in self._quotas if not freed.isdisjoint(ancestry(quota))
        )

    def _remove(self, key: str, place: Place) -> None:
        waiting = self._waiting[place.queue]
        waiting.remove(place.order)
        if not waiting:
            del self._waiting[place.queue]
        del self._places[key]
        queues = self._quotas[place.quota]
        queues[place.queue] -= 1
        if not queues[place.queue]:
            del queues[place.queue]
        if not queues:
            del self._quotas[place.quota]

    def _assign(self, key: str, queue: str | None) -> None:
        old = self._queue_of.get(key)
        if old == queue:
            return
        if old is not None:
            self._at[old].pop(key, None)
            if not self._at[old]:
                del self._at[old]
            del self._queue_of[key]
        if queue is not None:
            self._at.setdefault(queue, {})[key] = None
            self._queue_of[key] = queue


def told_by(unit: QueueUnit) -> Problem | None:
    """What the unit's object says of why it waits; None if it says nothing yet."""
    condition = unit.condition("QuotaReserved")
    if condition is None or condition.status:
        return None
    if unit.phase is not None and unit.raw_phase != Phase.ENQUEUED:
        return None
    return _problem(condition.reason, unit.message)


@lru_cache(4096)
def _problem(reason: str, message: str) -> Problem:
    """The same object for all that are told the same."""
    return Problem(reason, message)
