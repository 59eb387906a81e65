"""WorkQueue: keys to work on, handed to waiting workers on the event loop."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Generic, Protocol

from kq.errors import KqError
from kq.workqueue.ratelimit import RateLimiter, per_key_limiter
from kq.workqueue.state import Item, QueueState

Ages = Callable[[], list[float]]
"""Gives, for each item in process, the seconds since it was taken."""


class QueueShutDown(KqError):
    """The work queue is shut down and empty: a worker has nothing left to do."""


class QueueMetrics(Protocol):
    """What a work queue reports of itself."""

    def added(self) -> None:
        """An item became dirty; a repeated add of it is not reported."""
        ...

    def taken(self, waited: float) -> None:
        """An item was handed out, `waited` seconds after it became dirty."""
        ...

    def finished(self, worked: float) -> None:
        """The work on an item took `worked` seconds."""
        ...

    def retried(self) -> None:
        """An item was to be added after a delay, be it zero."""
        ...


MetricsMaker = Callable[[Ages], QueueMetrics]
"""Makes the metrics of a queue; the ages of its items in process are read through the argument."""


class NoMetrics:
    """Metrics of a queue that reports nothing."""

    def added(self) -> None:
        """Nothing."""

    def taken(self, waited: float) -> None:
        """Nothing."""

    def finished(self, worked: float) -> None:
        """Nothing."""

    def retried(self) -> None:
        """Nothing."""


class WorkQueue(Generic[Item]):
    """A queue of distinct items; one that is in process is never handed out a second time.

    An item added again while it is in process comes back once, after its `done`. Every method is
    to be called on the thread of the event loop. Each `get` needs its `done`.
    """

    def __init__(
        self,
        *,
        limiter: RateLimiter | None = None,
        metrics: MetricsMaker | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._limiter = limiter or per_key_limiter()
        self._clock = clock
        self._state: QueueState[Item] = QueueState()
        self._getters: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._drained = asyncio.Event()
        self._metrics: QueueMetrics = metrics(self._ages) if metrics else NoMetrics()

    def __len__(self) -> int:
        """How many items are queued; those in process or waiting for their time do not count."""
        return len(self._state)

    @property
    def shutting_down(self) -> bool:
        """True from the first shut-down on."""
        return self._state.shutting_down

    def add(self, item: Item) -> None:
        """Ask for work on the item; without effect if it is already queued, or at the end."""
        queued = len(self._state)
        if self._state.add(item, self._now()):
            self._metrics.added()
        self._wake(len(self._state) - queued)

    def feed(self, items: Iterable[Item]) -> None:
        """Ask for work on all these whenever nothing else is queued; they are read one by one."""
        self._state.feed(items)
        self._wake(len(self._getters))

    def add_after(self, item: Item, delay: float) -> None:
        """Add the item in `delay` seconds; of several such times the earliest counts."""
        if self.shutting_down:
            return
        self._metrics.retried()
        if delay <= 0:
            self.add(item)
            return
        self._state.add_at(item, self._now() + delay)
        self._set_timer()

    def add_rate_limited(self, item: Item) -> None:
        """Add the item when the rate limiter lets it try again."""
        self.add_after(item, self._limiter.delay(item, self._now()))

    def forget(self, item: Item) -> None:
        """Let the rate limiter start the item afresh; it stays wherever it is in the queue."""
        self._limiter.forget(item)

    def num_requeues(self, item: Item) -> int:
        """How often the item was added rate limited since it was last forgotten."""
        return self._limiter.num_requeues(item)

    async def get(self) -> Item:
        """The next item, as soon as there is one; QueueShutDown when there will be none.

        Items that were queued before the shut-down are still handed out.
        """
        while not len(self._state) and not self._drawn():
            if self.shutting_down:
                raise QueueShutDown("the work queue is shut down and empty")
            await self._pushed()
        item, waited = self._state.take(self._now())
        self._metrics.taken(waited)
        return item

    def done(self, item: Item) -> None:
        """End the work on the item; it is queued again if it was added meanwhile."""
        queued = len(self._state)
        worked = self._state.done(item, self._now())
        if worked is None:
            return
        self._metrics.finished(worked)
        requeued = len(self._state) - queued
        self._wake(requeued)
        if not requeued and not self._state.is_processing:
            self._drained.set()

    def shut_down(self) -> None:
        """Take no more items; releases every waiting getter, and a drain that goes on."""
        self._stop()
        self._drained.set()

    async def shut_down_with_drain(self) -> None:
        """Take no more items, and wait until none is in process or `shut_down` is called."""
        self._stop()
        if self._state.is_processing:
            self._drained.clear()
            await self._drained.wait()

    def _stop(self) -> None:
        self._state.shut_down()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._wake(len(self._getters))

    def _now(self) -> float:
        if self._clock is None:
            self._clock = asyncio.get_running_loop().time
        return self._clock()

    def _ages(self) -> list[float]:
        # Metrics are read at any time, perhaps before the loop runs: then nothing is in process.
        return self._state.ages(self._now()) if self._state.is_processing else []

    def _drawn(self) -> bool:
        """Whether one of the items that were fed is queued now."""
        for _ in range(self._state.draw(self._now())):
            self._metrics.added()
        return len(self._state) > 0

    async def _pushed(self) -> None:
        """Wait for the wake-up of one push."""
        getter = asyncio.get_running_loop().create_future()
        self._getters.append(getter)
        try:
            await getter
        except asyncio.CancelledError:
            if getter in self._getters:
                self._getters.remove(getter)
            elif not getter.cancelled():
                # Woken, then cancelled before it could take the item: the next getter takes it.
                self._wake(1)
            raise

    def _wake(self, pushes: int) -> None:
        """Wake one live getter for each push, the longest waiting first."""
        while pushes > 0 and self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                pushes -= 1

    def _set_timer(self) -> None:
        """See that the one timer rings when the first waiting item becomes ready."""
        ready_at = self._state.next_ready_at()
        if ready_at is None or (self._timer is not None and self._timer_at <= ready_at):
            return
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer_at = ready_at
        self._timer = loop.call_at(loop.time() + ready_at - self._now(), self._ring)

    def _ring(self) -> None:
        self._timer = None
        queued = len(self._state)
        # The loop may call a rounding error early; to ask the clock again could go on for ever.
        now = max(self._now(), self._timer_at)
        for _ in range(self._state.add_due(now)):
            self._metrics.added()
        self._wake(len(self._state) - queued)
        self._set_timer()
