import pytest
from prometheus_client import CollectorRegistry

from kq.metrics import Metrics
from kq.workqueue.queue import WorkQueue

US = 1e-6


class Bench:
    """A work queue called `job`, its metrics, and a clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.registry = CollectorRegistry()
        self.queue: WorkQueue[str] = WorkQueue(
            metrics=Metrics(self.registry, version="test").work_queue("job"),
            clock=lambda: self.now,
        )

    def shown(self, metric: str) -> float | None:
        return self.registry.get_sample_value(f"workqueue_{metric}", {"name": "job"})


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_an_add_counts_and_deepens_the_queue_once(bench: Bench) -> None:
    bench.queue.add("foo")
    bench.queue.add("foo")
    assert bench.shown("adds_total") == 1
    assert bench.shown("depth") == 1


async def test_what_is_fed_counts_as_it_is_drawn(bench: Bench) -> None:
    bench.queue.feed(["foo", "bar"])
    assert bench.shown("adds_total") in (None, 0)
    await bench.queue.get()
    assert bench.shown("adds_total") == 1
    assert bench.shown("depth") == 0


async def test_what_is_fed_while_it_is_in_process_counts_once(bench: Bench) -> None:
    bench.queue.add("foo")
    await bench.queue.get()
    bench.queue.feed(["foo", "bar"])
    assert await bench.queue.get() == "bar"
    bench.queue.done("foo")
    assert await bench.queue.get() == "foo"
    assert bench.shown("adds_total") == 3
    assert bench.shown("depth") == 0


async def test_the_wait_is_measured_from_the_first_add_to_the_get(bench: Bench) -> None:
    bench.queue.add("foo")
    bench.now += 30 * US
    bench.queue.add("foo")
    bench.now += 20 * US
    await bench.queue.get()
    assert bench.shown("queue_duration_seconds_sum") == pytest.approx(50 * US, rel=1e-3)
    assert bench.shown("queue_duration_seconds_count") == 1
    assert bench.shown("depth") == 0


async def test_adds_while_processing_count_once_and_at_once(bench: Bench) -> None:
    bench.queue.add("foo")
    await bench.queue.get()
    for _ in range(5):
        bench.queue.add("foo")
    assert bench.shown("adds_total") == 2
    assert bench.shown("depth") == 1
    bench.now += 25 * US
    bench.queue.done("foo")
    assert bench.shown("work_duration_seconds_sum") == pytest.approx(25 * US, rel=1e-3)
    assert bench.shown("depth") == 1
    await bench.queue.get()
    assert bench.shown("queue_duration_seconds_sum") == pytest.approx(25 * US, rel=1e-3)
    assert bench.shown("depth") == 0


async def test_one_key_in_process_is_the_sum_and_the_longest(bench: Bench) -> None:
    bench.queue.add("foo")
    await bench.queue.get()
    bench.now += 0.001
    assert bench.shown("unfinished_work_seconds") == pytest.approx(0.001)
    assert bench.shown("longest_running_processor_seconds") == pytest.approx(0.001)
    bench.queue.done("foo")
    assert bench.shown("unfinished_work_seconds") == 0
    assert bench.shown("longest_running_processor_seconds") == 0


async def test_of_two_keys_in_process_the_ages_add_up(bench: Bench) -> None:
    bench.queue.add("foo")
    bench.queue.add("bar")
    await bench.queue.get()
    bench.now += 0.001
    await bench.queue.get()
    bench.now += 0.001
    assert bench.shown("unfinished_work_seconds") == pytest.approx(0.003)
    assert bench.shown("longest_running_processor_seconds") == pytest.approx(0.002)


@pytest.mark.looptime
async def test_a_delayed_add_is_a_retry_and_counts_as_added_when_it_is_due() -> None:
    registry = CollectorRegistry()
    queue: WorkQueue[str] = WorkQueue(metrics=Metrics(registry, version="test").work_queue("job"))
    name = {"name": "job"}
    queue.add_after("foo", 1)
    assert registry.get_sample_value("workqueue_retries_total", name) == 1
    assert registry.get_sample_value("workqueue_adds_total", name) == 0
    await queue.get()
    assert registry.get_sample_value("workqueue_adds_total", name) == 1


@pytest.mark.parametrize("delay", [0, -1])
async def test_an_add_after_no_delay_is_a_retry_too(bench: Bench, delay: float) -> None:
    bench.queue.add_after("foo", delay)
    assert bench.shown("retries_total") == 1
    assert bench.shown("adds_total") == 1


async def test_nothing_is_counted_for_adds_after_the_shut_down(bench: Bench) -> None:
    bench.queue.shut_down()
    bench.queue.add("foo")
    bench.queue.add_after("foo", 0)
    bench.queue.add_rate_limited("foo")
    assert bench.shown("adds_total") == 0
    assert bench.shown("retries_total") == 0
    assert bench.shown("depth") == 0


def test_the_ages_can_be_read_before_the_loop_runs() -> None:
    registry = CollectorRegistry()
    WorkQueue[str](metrics=Metrics(registry, version="test").work_queue("job"))
    name = {"name": "job"}
    assert registry.get_sample_value("workqueue_unfinished_work_seconds", name) == 0
