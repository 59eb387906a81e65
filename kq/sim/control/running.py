"""Controllers at work: told by an API server's storage, writing through it, on the event loop."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime

import structlog

from kq.errors import KqError
from kq.sim.api.server import ApiServer
from kq.sim.control.controller import Controller, Key
from kq.sim.control.following import Following
from kq.sim.control.shortcut import Shortcut
from kq.sim.control.view import Happened, View
from kq.sim.control.writer import Writer
from kq.sim.control.writes import Outcome, Plan
from kq.workqueue.queue import QueueShutDown, WorkQueue
from kq.workqueue.ratelimit import ItemExponential

log = structlog.get_logger(component="cluster")

WORKERS = 5
"""Keys of one controller that are worked on at the same time, where webhooks make writes wait."""


class Running:
    """Several controllers on one server, from `start` to `stop`."""

    def __init__(
        self,
        server: ApiServer,
        controllers: Sequence[Controller],
        *,
        events: bool = True,
        shortcuts: bool = True,
        workers: int = WORKERS,
    ) -> None:
        self.view = View(lambda version, kind: server.registry.of(version, kind) is not None)
        """What there is, as all of them see it."""
        self._following = Following(server, self._heard)
        shortcut = Shortcut(server.storage, self._following) if shortcuts else None
        self._works = [
            Work(
                controller,
                view=self.view,
                writer=Writer(server, controller.name, events=events, shortcut=shortcut),
                clock=server.clock,
            )
            for controller in controllers
        ]
        self._by_kind: dict[str, list[Work]] = {}
        self._workers = workers
        self._clock = server.clock
        self._task: asyncio.Task[None] | None = None
        self._may_act = asyncio.Event()
        self._may_act.set()

    @property
    def failures(self) -> list[Exception]:
        """What controllers raised that they should not have."""
        return [failure for work in self._works for failure in work.failures]

    def start(self) -> None:
        """Begins with all objects that there are."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="cluster")
        self._following.start()

    @contextmanager
    def packing(self) -> Iterator[None]:
        """A time in which very many objects come, of which few will be looked at.

        Nobody acts before all of them are there: one may be the owner of an earlier one.
        """
        self._may_act.clear()
        with self._following.packing():
            yield
        self._may_act.set()

    async def stop(self) -> None:
        """Ends in the middle of things, as a process does."""
        self._following.stop()
        if self._task is None:
            return
        for work in self._works:
            work.shut_down()
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._task = None

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for work in self._works:
                for number in range(self._workers):
                    group.create_task(work.run(self._may_act), name=f"{work.name}-{number}")

    def _heard(self, happened: Happened) -> None:
        self.view.apply(happened)
        now = self._clock()
        for work in self._told(happened.kind):
            work.hear(happened, now)

    def _told(self, kind: str) -> list["Work"]:
        if kind not in self._by_kind:
            self._by_kind[kind] = [work for work in self._works if work.is_told_of(kind)]
        return self._by_kind[kind]


class Work:
    """One controller and the keys that it has yet to look at."""

    def __init__(
        self,
        controller: Controller,
        *,
        view: View,
        writer: Writer,
        clock: Callable[[], datetime],
    ) -> None:
        self.name = controller.name
        self.failures: list[Exception] = []
        self._controller = controller
        self._view = view
        self._writer = writer
        self._clock = clock
        limiter = ItemExponential(*controller.pace)
        self._queue: WorkQueue[Key] = WorkQueue(limiter=limiter)

    def is_told_of(self, kind: str) -> bool:
        """Whether changes of that kind may concern it."""
        return not self._controller.kinds or kind in self._controller.kinds

    def hear(self, happened: Happened, now: datetime) -> None:
        """Queues what a change concerns."""
        try:
            for key, after in self._controller.concerns(happened, self._view, now):
                self._queue.add_after(key, after)
        except Exception as err:
            # Whoever wrote the object must not suffer for it.
            self._failed(err)

    async def run(self, may_act: asyncio.Event) -> None:
        """Works off keys until shut down, while it may."""
        with suppress(QueueShutDown):
            while True:
                key = await self._queue.get()
                try:
                    await may_act.wait()
                    await self._attend(key)
                finally:
                    self._queue.done(key)
                # A plan may never wait for anything: let others have the loop.
                await asyncio.sleep(0)

    def shut_down(self) -> None:
        """Takes no more keys."""
        self._queue.shut_down()

    async def _attend(self, key: Key) -> None:
        try:
            plan = self._controller.sync(key, self._view, self._clock())
            after = await self._carry_out(plan)
        except KqError as refusal:
            log.debug("controller refused", controller=self.name, key=key, error=str(refusal))
            self._queue.add_rate_limited(key)
            return
        except Exception as err:
            self._failed(err)
            self._queue.add_rate_limited(key)
            return
        self._queue.forget(key)
        if after is not None:
            self._queue.add_after(key, after)

    async def _carry_out(self, plan: Plan) -> float | None:
        outcomes: Sequence[Outcome] | None = None
        try:
            while True:
                writes = next(plan) if outcomes is None else plan.send(outcomes)
                outcomes = [await self._writer.write(each) for each in writes]
        except StopIteration as end:
            return end.value.total_seconds() if end.value is not None else None

    def _failed(self, err: Exception) -> None:
        self.failures.append(err)
        log.error("controller failed", controller=self.name, error=repr(err), exc_info=err)
