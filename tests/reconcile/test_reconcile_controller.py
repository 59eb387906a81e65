import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from kq.errors import DecodeError, KqError, TerminalError
from kq.kube.errors import TooManyRequests, Unreachable
from kq.log import WORK, merge_work
from kq.metrics import Metrics
from kq.reconcile.controller import Controller, Failure, Request, Result, failure_of, retry_after
from kq.workqueue.queue import WorkQueue
from kq.workqueue.ratelimit import ItemExponential

pytestmark = pytest.mark.looptime

A = Request("team", "a")
B = Request("team", "b")

Answer = Callable[[Request], Awaitable[Result]]


class Conflict(KqError):
    """Stands for the conflict of an API server."""


class Desk:
    """A controller called `job`, its queue, and a reconciler that answers from a script."""

    def __init__(self, *script: Result | Exception | Answer, **options: Any) -> None:
        self.script = list(script)
        self.seen: list[tuple[Request, float]] = []
        self.registry = CollectorRegistry()
        self.queue: WorkQueue[Request] = WorkQueue(limiter=ItemExponential(1.0, 1000.0))
        self.controller = Controller(
            name="job",
            reconciler=self,
            queue=self.queue,
            metrics=Metrics(self.registry, version="test"),
            **options,
        )

    async def reconcile(self, request: Request) -> Result:
        self.seen.append((request, round(asyncio.get_running_loop().time(), 3)))
        answer = self.script.pop(0) if self.script else Result()
        match answer:
            case Result():
                return answer
            case Exception():
                raise answer
            case _:
                return await answer(request)

    async def run(self, seconds: float = 100) -> None:
        """Work for so many (virtual) seconds, then shut down and finish."""
        asyncio.get_running_loop().call_later(seconds, self.queue.shut_down)
        await self.controller.run()

    def count(self, result: str) -> float | None:
        labels = {"controller": "job", "result": result}
        return self.registry.get_sample_value("kq_reconcile_total", labels)

    def panics(self) -> float | None:
        return self.registry.get_sample_value("kq_reconcile_panics_total", {"controller": "job"})

    def counts(self) -> dict[str, float | None]:
        results = ("success", "error", "requeue_after", "terminal")
        return {result: count for result in results if (count := self.count(result))}


@pytest.fixture
def logs() -> Iterator[list[Any]]:
    with capture_logs(processors=[merge_work]) as captured:
        yield captured


# Outcomes


async def test_a_success_is_forgotten_and_does_not_come_again() -> None:
    desk = Desk(Result())
    desk.queue.add(A)
    await desk.run()
    assert desk.seen == [(A, 0)]
    assert desk.queue.num_requeues(A) == 0
    assert desk.counts() == {"success": 1}


async def test_an_error_comes_again_ever_later_until_a_success() -> None:
    desk = Desk(KqError("a"), KqError("b"), KqError("c"), Result())
    desk.queue.add(A)
    await desk.run()
    assert desk.seen == [(A, 0), (A, 1), (A, 3), (A, 7)]
    assert desk.queue.num_requeues(A) == 0
    assert desk.counts() == {"error": 3, "success": 1}
    assert desk.panics() == 0


async def test_a_terminal_error_does_not_come_again_and_keeps_the_failures_counted() -> None:
    desk = Desk(KqError("a"), TerminalError("never"))
    desk.queue.add(A)
    await desk.run()
    assert desk.seen == [(A, 0), (A, 1)]
    assert desk.queue.num_requeues(A) == 1
    assert desk.counts() == {"error": 1, "terminal": 1}


async def test_a_requeue_forgets_the_failures_and_comes_after_its_time() -> None:
    desk = Desk(KqError("a"), Result(requeue_after=30), KqError("b"), Result())
    desk.queue.add(A)
    await desk.run()
    assert desk.seen == [(A, 0), (A, 1), (A, 31), (A, 32)]
    assert desk.counts() == {"error": 2, "requeue_after": 1, "success": 1}


@pytest.mark.parametrize("seconds", [0, -5])
async def test_a_requeue_after_no_time_is_a_plain_success(seconds: float) -> None:
    desk = Desk(Result(requeue_after=seconds))
    desk.queue.add(A)
    await desk.run()
    assert desk.seen == [(A, 0)]
    assert desk.counts() == {"success": 1}


async def test_an_exception_nobody_foresaw_is_a_panic_and_comes_again() -> None:
    desk = Desk(ZeroDivisionError("oops"), Result())
    desk.queue.add(A)
    await desk.run()
    assert desk.seen == [(A, 0), (A, 1)]
    assert desk.counts() == {"error": 1, "success": 1}
    assert desk.panics() == 1


async def test_a_failure_of_one_request_does_not_hold_up_another() -> None:
    desk = Desk(ValueError("a"), Result())
    desk.queue.add(A)
    desk.queue.add(B)
    await desk.run(0.5)
    assert desk.seen == [(A, 0), (B, 0)]


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (TerminalError(), Failure.TERMINAL),
        (Conflict(), Failure.QUIET),
        (DecodeError(), Failure.ERROR),
        (ValueError(), Failure.PANIC),
        (TimeoutError(), Failure.PANIC),
        (ExceptionGroup("", [TerminalError(), TerminalError()]), Failure.TERMINAL),
        (ExceptionGroup("", [TerminalError(), Conflict()]), Failure.QUIET),
        (ExceptionGroup("", [Conflict(), KqError()]), Failure.ERROR),
        (ExceptionGroup("", [KqError(), ExceptionGroup("", [OSError()])]), Failure.PANIC),
    ],
    ids=repr,
)
def test_a_group_of_exceptions_is_as_bad_as_its_worst(error: Exception, failure: Failure) -> None:
    assert failure_of(error, (Conflict,)) is failure


# Time-outs and cancellation


async def never(_: Request) -> Result:
    await asyncio.get_running_loop().create_future()
    return Result()


async def test_a_reconcile_that_takes_too_long_is_ended_and_comes_again(logs: list[Any]) -> None:
    desk = Desk(never, Result(), timeout=10)
    desk.queue.add(A)
    await desk.run()
    assert desk.seen == [(A, 0), (A, 11)]
    assert desk.counts() == {"error": 1, "success": 1}
    assert desk.panics() == 0
    assert logs[0]["error"] == "reconcile took more than 10 s"


async def test_a_time_out_inside_a_reconcile_is_not_that_of_the_controller() -> None:
    desk = Desk(TimeoutError(), timeout=10)
    desk.queue.add(A)
    await desk.run(0.5)
    assert desk.panics() == 1


async def test_a_cancelled_controller_stops_at_once_and_leaves_nothing_in_process() -> None:
    desk = Desk(never)
    desk.queue.add(A)
    running = asyncio.create_task(desk.controller.run())
    await asyncio.sleep(1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert desk.counts() == {}
    await desk.queue.shut_down_with_drain()
    assert len(desk.queue) == 0


async def test_a_cancellation_within_a_reconcile_does_not_end_the_worker() -> None:
    async def awaits_something_cancelled(_: Request) -> Result:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future
        return Result()

    desk = Desk(awaits_something_cancelled, Result())
    desk.queue.add(A)
    await desk.run()
    assert desk.seen == [(A, 0), (A, 1)]
    assert desk.panics() == 1


# Workers


async def test_a_shut_down_lets_the_request_in_hand_finish() -> None:
    finished = []

    async def slow(request: Request) -> Result:
        await asyncio.sleep(50)
        finished.append(request)
        return Result()

    desk = Desk(slow)
    desk.queue.add(A)
    await desk.run(seconds=10)
    assert finished == [A]
    assert asyncio.get_running_loop().time() == pytest.approx(50)


async def test_as_many_requests_are_worked_on_as_there_are_workers() -> None:
    async def slow(_: Request) -> Result:
        await asyncio.sleep(10)
        return Result()

    desk = Desk(slow, slow, slow, workers=2)
    for name in ("a", "b", "c"):
        desk.queue.add(Request("team", name))
    await desk.run()
    assert [at for _, at in desk.seen] == [0, 0, 10]


async def test_a_request_is_never_with_two_workers() -> None:
    async def slow(request: Request) -> Result:
        desk.queue.add(request)
        await asyncio.sleep(10)
        return Result()

    desk = Desk(slow, Result(), workers=2)
    desk.queue.add(A)
    await desk.run()
    assert desk.seen == [(A, 0), (A, 10)]


async def test_the_workers_are_named() -> None:
    names = []

    async def note(_: Request) -> Result:
        task = asyncio.current_task()
        names.append(task.get_name() if task else None)
        return Result()

    desk = Desk(note)
    desk.queue.add(A)
    await desk.run()
    assert names == ["job-worker-0"]


async def test_reconciles_that_never_wait_leave_the_loop_to_others() -> None:
    desk = Desk()
    for number in range(100):
        desk.queue.add(Request("team", str(number)))
    seen_at_turn = []

    async def other() -> None:
        for _ in range(5):
            await asyncio.sleep(0)
            seen_at_turn.append(len(desk.seen))

    async with asyncio.TaskGroup() as group:
        group.create_task(desk.run(1))
        group.create_task(other())
    assert seen_at_turn[-1] < 10
    assert len(desk.seen) == 100


# Logs and metrics


async def test_an_error_is_logged_once_with_its_request(logs: list[Any]) -> None:
    desk = Desk(DecodeError("job team/a: no template"), Result())
    desk.queue.add(Request("team", "a", "TFJob"))
    await desk.run()
    (line,) = logs
    assert line["log_level"] == "error"
    assert line["event"] == "reconcile failed"
    assert line["component"] == "job"
    assert line["key"] == "team/a"
    assert line["kind"] == "TFJob"
    assert line["error"] == "job team/a: no template"
    assert "exc_info" not in line


async def test_a_panic_is_logged_with_its_traceback(logs: list[Any]) -> None:
    error = ZeroDivisionError("oops")
    desk = Desk(error)
    desk.queue.add(A)
    await desk.run(0.5)
    (line,) = logs
    assert line["exc_info"] is error
    assert line["error"] == "ZeroDivisionError('oops')"


async def test_a_terminal_error_is_logged_once(logs: list[Any]) -> None:
    desk = Desk(TerminalError("never"))
    desk.queue.add(A)
    await desk.run()
    assert [(line["log_level"], line["error"]) for line in logs] == [("error", "never")]


async def test_a_quiet_exception_comes_again_without_an_error_in_the_log(logs: list[Any]) -> None:
    desk = Desk(Conflict("changed meanwhile"), Result(), quiet=(Conflict,))
    desk.queue.add(A)
    await desk.run()
    assert desk.seen == [(A, 0), (A, 1)]
    assert desk.counts() == {"error": 1, "success": 1}
    assert [line["log_level"] for line in logs] == ["debug"]


async def test_each_reconcile_has_an_id_of_its_own_in_the_log() -> None:
    ids = []

    async def note(_: Request) -> Result:
        work = WORK.get()
        assert work is not None
        ids.append(work.log_keys()["request_id"])
        return Result()

    desk = Desk(note, note)
    desk.queue.add(A)
    desk.queue.add(B)
    await desk.run()
    assert len(set(ids)) == 2
    assert WORK.get() is None


async def test_every_reconcile_is_timed() -> None:
    desk = Desk(KqError("a"), Result())
    desk.queue.add(A)
    await desk.run()
    labels = {"controller": "job"}
    assert desk.registry.get_sample_value("kq_reconcile_seconds_count", labels) == 2


# Requests


def test_requests_are_equal_by_value_and_ordered_by_namespace_and_name() -> None:
    assert Request("team", "a") == A
    assert len({A, B, Request("team", "a")}) == 2
    assert sorted([B, Request("zoo", "a"), A]) == [A, B, Request("zoo", "a")]


@pytest.mark.parametrize(
    ("request_", "text"),
    [(A, "team/a"), (Request("", "node"), "node"), (Request("t", "a", "Job"), "t/a")],
    ids=["namespaced", "cluster-scoped", "with a kind"],
)
def test_a_request_reads_as_the_key_of_its_object(request_: Request, text: str) -> None:
    assert str(request_) == text


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (TooManyRequests("busy", code=429, retry_after=60.0), 60.0),
        (
            ExceptionGroup("several", [Conflict("old"), TooManyRequests("busy", retry_after=5.0)]),
            5.0,
        ),
        (Unreachable("gone"), None),
        (ValueError("odd"), None),
    ],
)
def test_how_long_an_answer_asks_to_wait(error: Exception, told: float | None) -> None:
    """Spec 22.1: Retry-After is obeyed."""
    assert retry_after(error) == told
