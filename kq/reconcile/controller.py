"""Controller: workers that hand the requests of a work queue to a reconciler."""

import asyncio
from contextlib import suppress
from enum import IntEnum, auto
from itertools import count
from secrets import token_hex
from time import monotonic
from typing import NamedTuple, Protocol

import msgspec
import structlog

from kq.errors import KqError, TerminalError
from kq.kube.errors import ApiError
from kq.log import WORK
from kq.metrics import Metrics, ReconcileResult
from kq.workqueue.queue import QueueShutDown, WorkQueue

log = structlog.get_logger()


class Request(NamedTuple):
    """Which object to reconcile; `kind` only where one reconciler serves several kinds."""

    namespace: str
    name: str
    kind: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a reconcile that succeeded asks for: another one after so many seconds, or nothing."""

    requeue_after: float | None = None


def sooner(result: Result, seconds: float | None) -> Result:
    """The result, with the next reconcile no later than after so many seconds."""
    if seconds is None:
        return result
    asked = result.requeue_after
    return Result(requeue_after=seconds if asked is None else min(asked, seconds))


class Attended(NamedTuple):
    """A request in the hands of a controller, numbered: `prefix` is one of this start of it."""

    component: str
    prefix: str
    number: int
    request: Request

    def log_keys(self) -> dict[str, str]:
        """What every line of this reconcile bears."""
        keys = {"component": self.component, "request_id": f"{self.prefix}-{self.number:x}"}
        keys["key"] = str(self.request)
        return keys | {"kind": self.request.kind} if self.request.kind else keys


class Reconciler(Protocol):
    """Brings one object to its wanted state."""

    async def reconcile(self, request: Request) -> Result:
        """Read the present state and close the gap; an object that is gone is a success.

        The outcome decides when the request comes again:
        `Result()`                  not before the next event
        `Result(requeue_after=s)`   after `s` seconds; earlier failures are forgotten
        `TerminalError`             not before the next event; earlier failures stay counted
        any other exception         after a delay that doubles with each failure
        """
        ...


class ReconcileTimeout(KqError):
    """A reconcile took longer than its controller allows."""


class Failure(IntEnum):
    """What an exception is to a controller, from the mildest to the worst."""

    TERMINAL = auto()
    QUIET = auto()
    ERROR = auto()
    PANIC = auto()


def failure_of(error: Exception, quiet: tuple[type[Exception], ...]) -> Failure:
    """What the exception is; of a group, the worst among its members."""
    if isinstance(error, ExceptionGroup):
        return max(failure_of(member, quiet) for member in error.exceptions)
    if isinstance(error, TerminalError):
        return Failure.TERMINAL
    if isinstance(error, quiet):
        return Failure.QUIET
    return Failure.ERROR if isinstance(error, KqError) else Failure.PANIC


class Controller:
    """Works off a queue, never with two workers on the same request.

    `quiet` are exceptions that happen in good order, as a conflict: tried again as every failure,
    but no error in the log. `timeout` bounds each reconcile, in seconds.
    """

    def __init__(
        self,
        *,
        name: str,
        reconciler: Reconciler,
        queue: WorkQueue[Request],
        metrics: Metrics,
        workers: int = 1,
        timeout: float | None = None,
        quiet: tuple[type[Exception], ...] = (),
    ) -> None:
        self._name = name
        self._reconciler = reconciler
        self._queue = queue
        self._metrics = metrics.controller(name)
        self._workers = workers
        self._timeout = timeout
        self._quiet = quiet
        self._prefix = token_hex(4)
        self._numbers = count(1)

    async def run(self) -> None:
        """Work until the queue is shut down and empty; what is in hand is finished."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._workers):
                group.create_task(self._work(), name=f"{self._name}-worker-{number}")

    async def _work(self) -> None:
        with suppress(QueueShutDown):
            while True:
                request = await self._queue.get()
                try:
                    await self._attend(request)
                finally:
                    self._queue.done(request)
                # A reconcile may never wait for anything: let others have the loop.
                await asyncio.sleep(0)

    async def _attend(self, request: Request) -> None:
        attended = WORK.set(Attended(self._name, self._prefix, next(self._numbers), request))
        started = monotonic()
        outcome = await self._outcome(request)
        self._metrics.seconds.observe(monotonic() - started)
        if isinstance(outcome, Result):
            self._succeeded(request, outcome)
        else:
            self._failed(request, outcome)
        WORK.reset(attended)

    async def _outcome(self, request: Request) -> Result | Exception:
        """What came of the reconcile; one that fails must not stop those of others."""
        try:
            return await self._reconcile(request)
        except Exception as err:
            return err

    async def _reconcile(self, request: Request) -> Result:
        try:
            async with asyncio.timeout(self._timeout) as scope:
                return await self._reconciler.reconcile(request)
        except TimeoutError as err:
            if not scope.expired():
                raise
            raise ReconcileTimeout(f"reconcile took more than {self._timeout} s") from err
        except asyncio.CancelledError as err:
            if _is_cancelled():
                raise
            # Not meant for this worker, which would end by it, and nobody would notice.
            raise RuntimeError("reconcile awaited something that was cancelled") from err

    def _succeeded(self, request: Request, result: Result) -> None:
        self._queue.forget(request)
        if result.requeue_after is None or result.requeue_after <= 0:
            self._count(ReconcileResult.SUCCESS)
            return
        self._queue.add_after(request, result.requeue_after)
        self._count(ReconcileResult.REQUEUE_AFTER)

    def _failed(self, request: Request, error: Exception) -> None:
        match failure_of(error, self._quiet):
            case Failure.TERMINAL:
                self._count(ReconcileResult.TERMINAL)
                log.error("reconcile failed for good", error=str(error))
                return
            case Failure.QUIET:
                log.debug("reconcile to be tried again", error=str(error))
            case Failure.ERROR:
                log.error("reconcile failed", error=str(error))
            case Failure.PANIC:
                self._metrics.panics.inc()
                log.error("reconcile failed unexpectedly", error=repr(error), exc_info=error)
        self._count(ReconcileResult.ERROR)
        told = retry_after(error)
        if told is None:
            self._queue.add_rate_limited(request)
        else:
            # The API server said when it will have room again: nobody asks before (spec 22.1).
            self._queue.add_after(request, told)

    def _count(self, result: ReconcileResult) -> None:
        self._metrics.results[result].inc()


def retry_after(error: Exception) -> float | None:
    """The longest time that an answer in it asks to wait; None if none does."""
    if isinstance(error, ExceptionGroup):
        told = [retry_after(each) for each in error.exceptions]
        return max((each for each in told if each is not None), default=None)
    return error.retry_after if isinstance(error, ApiError) else None


def _is_cancelled() -> bool:
    """True if the running task itself is to end."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
