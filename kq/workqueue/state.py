"""What a work queue holds, without a clock or an event loop: time is an argument, in seconds."""

import heapq
from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from itertools import chain, count
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)


class Waiting(Generic[Item]):
    """Items that become ready later; one ready time an item, the earlier one counts."""

    def __init__(self) -> None:
        self._ready_at: dict[Item, float] = {}
        self._heap: list[tuple[float, int, Item]] = []
        self._numbers = count()

    def put(self, item: Item, ready_at: float) -> None:
        """Let the item wait until `ready_at`, unless it already waits for an earlier time."""
        known = self._ready_at.get(item)
        if known is not None and known <= ready_at:
            return
        self._ready_at[item] = ready_at
        heapq.heappush(self._heap, (ready_at, next(self._numbers), item))

    def next_at(self) -> float | None:
        """When the first item becomes ready; None if nothing waits."""
        while self._heap:
            ready_at, _, item = self._heap[0]
            if self._ready_at.get(item) == ready_at:
                return ready_at
            heapq.heappop(self._heap)  # overtaken by an earlier time for the same item
        return None

    def pop_due(self, now: float) -> list[Item]:
        """The items that are ready at `now`, in the order in which they became so."""
        due: list[Item] = []
        while (ready_at := self.next_at()) is not None and ready_at <= now:
            item = heapq.heappop(self._heap)[2]
            del self._ready_at[item]
            due.append(item)
        return due

    def clear(self) -> None:
        """Forget every item."""
        self._ready_at.clear()
        self._heap.clear()


class QueueState(Generic[Item]):
    """The queued, dirty, processing and waiting items of one work queue.

    Every queued item is dirty (it is to be worked on) and not processing. An item that becomes
    dirty while it is processing is queued at its `done`, behind those that came before.
    """

    def __init__(self) -> None:
        self.shutting_down = False
        self._order: deque[Item] = deque()
        self._dirty_since: dict[Item, float] = {}
        self._processing_since: dict[Item, float] = {}
        self._waiting: Waiting[Item] = Waiting()
        self._spare: Iterator[Item] = iter(())

    def __len__(self) -> int:
        """How many items are queued; those in process or waiting do not count."""
        return len(self._order)

    @property
    def is_processing(self) -> bool:
        """True while any item is handed out and not done."""
        return bool(self._processing_since)

    def add(self, item: Item, now: float) -> bool:
        """Ask for work on the item; False if that was already asked for, or at the end."""
        if self.shutting_down or item in self._dirty_since:
            return False
        self._dirty_since[item] = now
        if item not in self._processing_since:
            self._order.append(item)
        return True

    def add_at(self, item: Item, ready_at: float) -> None:
        """Ask for work on the item from `ready_at` on; an `add` before that does not cancel it."""
        if not self.shutting_down:
            self._waiting.put(item, ready_at)

    def feed(self, items: Iterable[Item]) -> None:
        """Keep items for when nothing else is queued; they are read only as they are drawn."""
        if not self.shutting_down:
            self._spare = chain(self._spare, items)

    def draw(self, now: float) -> int:
        """Queue the next of the items that were fed; how many of them were not yet dirty."""
        added = 0
        for item in self._spare:
            added += self.add(item, now)  # one that is in process is queued at its `done`
            if len(self):
                break
        return added

    def next_ready_at(self) -> float | None:
        """When the first waiting item becomes ready; None if nothing waits."""
        return self._waiting.next_at()

    def add_due(self, now: float) -> int:
        """Add the waiting items that are ready at `now`; how many of them were not yet dirty."""
        return sum(self.add(item, now) for item in self._waiting.pop_due(now))

    def take(self, now: float) -> tuple[Item, float]:
        """The first queued item, in process from now on, and the seconds since it became dirty."""
        item = self._order.popleft()
        self._processing_since[item] = now
        return item, now - self._dirty_since.pop(item)

    def done(self, item: Item, now: float) -> float | None:
        """End the work on the item; the seconds it took, None if it was not in process."""
        since = self._processing_since.pop(item, None)
        if since is None:
            return None
        if item in self._dirty_since:
            self._order.append(item)
        return now - since

    def ages(self, now: float) -> list[float]:
        """For each item in process, the seconds since it was taken."""
        return [now - since for since in self._processing_since.values()]

    def shut_down(self) -> None:
        """Take no more items and drop all but the queued ones, which can still be taken."""
        self.shutting_down = True
        self._waiting.clear()
        self._spare = iter(())
