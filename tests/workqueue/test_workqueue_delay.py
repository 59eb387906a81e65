import asyncio

import pytest

from kq.workqueue.queue import QueueShutDown, WorkQueue
from kq.workqueue.ratelimit import ItemExponential

pytestmark = pytest.mark.looptime

MS = 0.001


async def arrivals(queue: WorkQueue[str], seconds: float) -> list[tuple[str, float]]:
    """What the queue hands out within so many seconds, and when, from now on."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    found: list[tuple[str, float]] = []
    try:
        async with asyncio.timeout(seconds):
            while True:
                item = await queue.get()
                found.append((item, round(loop.time() - start, 4)))
                queue.done(item)
    except TimeoutError:
        return found


async def test_a_delayed_key_comes_at_its_time_and_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("foo", 50 * MS)
    assert len(queue) == 0
    assert await arrivals(queue, 49 * MS) == []
    assert await arrivals(queue, 11 * MS) == [("foo", 1 * MS)]
    assert await arrivals(queue, 10) == []


@pytest.mark.parametrize(
    ("delays", "seen"),
    [
        pytest.param([("foo", 50), ("foo", 70)], [("foo", 50)], id="the later time is ignored"),
        pytest.param([("foo", 70), ("foo", 30)], [("foo", 30)], id="the earlier one replaces 70"),
        pytest.param([("foo", 50), ("foo", 30)], [("foo", 30)], id="the earlier one replaces 50"),
        pytest.param(
            [("first", 1000), ("second", 50), ("third", 2000)],
            [("second", 50), ("first", 1000), ("third", 2000)],
            id="keys come by their times",
        ),
        pytest.param(
            [("first", 20), ("second", 20)],
            [("first", 20), ("second", 20)],
            id="equal times keep their order",
        ),
    ],
)
async def test_of_several_times_the_earliest_counts(
    delays: list[tuple[str, int]], seen: list[tuple[str, int]]
) -> None:
    queue: WorkQueue[str] = WorkQueue()
    for item, milliseconds in delays:
        queue.add_after(item, milliseconds * MS)
    expected = [(item, round(milliseconds * MS, 4)) for item, milliseconds in seen]
    assert await arrivals(queue, 30) == expected


async def test_keys_that_become_due_together_come_by_their_times() -> None:
    now = 0.0
    queue: WorkQueue[str] = WorkQueue(clock=lambda: now)
    queue.add_after("first", 1)
    queue.add_after("second", 0.5)
    queue.add_after("third", 0.25)
    now = 2.0
    assert [item for item, _ in await arrivals(queue, 5)] == ["third", "second", "first"]


@pytest.mark.parametrize("delay", [0, -1])
async def test_a_key_without_delay_is_there_at_once(delay: float) -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("foo", delay)
    assert len(queue) == 1


async def test_an_add_does_not_cancel_a_delay() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("foo", 5)
    queue.add("foo")
    assert await arrivals(queue, 10) == [("foo", 0), ("foo", 5)]


async def test_a_worker_that_already_waits_gets_the_delayed_key() -> None:
    queue: WorkQueue[str] = WorkQueue()
    getter = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add_after("foo", 5)
    assert await getter == "foo"


async def test_thousands_of_delayed_keys_all_come() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for number in range(5000):
        queue.add_after(str(number), (number * 7919 % 5000 + 1) * MS)
    found = await arrivals(queue, 6)
    assert len({item for item, _ in found}) == 5000
    assert [at for _, at in found] == [round(n * MS, 4) for n in range(1, 5001)]


async def test_a_delay_survives_the_rounding_of_clocks() -> None:
    queue: WorkQueue[str] = WorkQueue()
    await asyncio.sleep(0.1)
    queue.add_after("foo", 0.2)
    assert [item for item, _ in await arrivals(queue, 1)] == ["foo"]


async def test_delayed_keys_are_dropped_at_the_shut_down() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("foo", 5)
    queue.shut_down()
    queue.add_after("bar", 5)
    await asyncio.sleep(10)
    with pytest.raises(QueueShutDown):
        await queue.get()


async def test_a_drain_does_not_wait_for_delayed_keys() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo")
    await queue.get()
    queue.add_after("foo", 500)
    drain = asyncio.create_task(queue.shut_down_with_drain())
    await asyncio.sleep(0)
    queue.done("foo")
    await drain
    assert asyncio.get_running_loop().time() < 1


async def test_a_failing_key_comes_back_ever_later_until_it_is_forgotten() -> None:
    queue: WorkQueue[str] = WorkQueue(limiter=ItemExponential(1.0, 60.0))
    loop = asyncio.get_running_loop()
    times = []
    for _ in range(4):
        queue.add_rate_limited("foo")
        queue.done(await queue.get())
        times.append(round(loop.time(), 3))
    assert times == [1, 3, 7, 15]
    assert queue.num_requeues("foo") == 4
    queue.forget("foo")
    assert queue.num_requeues("foo") == 0
    queue.add_rate_limited("foo")
    assert await arrivals(queue, 5) == [("foo", 1)]


async def test_a_queue_limits_each_key_from_5_ms_on_unless_told_otherwise() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_rate_limited("foo")
    queue.add_rate_limited("bar")
    assert await arrivals(queue, 1) == [("foo", 5 * MS), ("bar", 5 * MS)]


async def test_to_forget_a_key_takes_it_neither_from_the_queue_nor_from_its_wait() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("now")
    queue.add_after("later", 1)
    queue.forget("now")
    queue.forget("later")
    assert await arrivals(queue, 2) == [("now", 0), ("later", 1)]
