"""On a virtual loop waiting takes no time, and what would wait for ever is told."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from time import monotonic

import pytest

from kq.sim.time import LoopClock, Standstill, VirtualLoop

START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop(most_turns=1000)
    yield loop
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


def test_a_day_of_sleep_takes_no_time(loop: VirtualLoop) -> None:
    begin = monotonic()
    loop.run_until_complete(asyncio.sleep(86400))
    assert monotonic() - begin < 5
    assert loop.time() == pytest.approx(86400, abs=0.001)


def test_what_is_due_comes_in_its_order(loop: VirtualLoop) -> None:
    came: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        came.append((name, round(loop.time(), 2)))

    async def all_of_them() -> None:
        await asyncio.gather(sleeper("late", 3), sleeper("soon", 1), sleeper("next", 2))

    loop.run_until_complete(all_of_them())
    assert came == [("soon", 1.0), ("next", 2.0), ("late", 3.0)]


def test_waiting_for_nothing_is_told(loop: VirtualLoop) -> None:
    with pytest.raises(Standstill, match="nothing is due"):
        loop.run_until_complete(asyncio.wait_for(asyncio.Event().wait(), None))


def test_a_spin_is_told_but_work_without_end_that_waits_is_none(loop: VirtualLoop) -> None:
    async def work(pause: float) -> None:
        for _ in range(5000):
            await asyncio.sleep(pause)

    loop.run_until_complete(work(0.01))
    with pytest.raises(Standstill, match="1001 turns"):
        loop.run_until_complete(work(0))


def test_a_clock_goes_by_its_loop_and_can_be_put_wrong(loop: VirtualLoop) -> None:
    clock = LoopClock(START, loop)
    loop.run_until_complete(asyncio.sleep(90))
    assert clock() - START == pytest.approx(timedelta(seconds=90), abs=timedelta(seconds=0.01))
    clock.jump(-3600)
    assert clock() < START
