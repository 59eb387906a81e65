import asyncio
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kq.workqueue.queue import QueueShutDown, WorkQueue


async def settle() -> None:
    """Let every task run until it waits."""
    for _ in range(5):
        await asyncio.sleep(0)


async def work_off(queue: WorkQueue[str], seen: list[str]) -> None:
    """A worker that notes what it was given, until there is nothing more."""
    while True:
        try:
            item = await queue.get()
        except QueueShutDown:
            return
        seen.append(item)
        await asyncio.sleep(0)
        queue.done(item)


@pytest.mark.parametrize("drain", [False, True], ids=["shut down", "shut down with drain"])
async def test_all_that_fifty_producers_add_reaches_ten_consumers(drain: bool) -> None:
    queue: WorkQueue[str] = WorkQueue()
    seen: list[str] = []

    async def produce(producer: int) -> None:
        for number in range(50):
            queue.add(f"{producer}-{number}")
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as consumers:
        for _ in range(10):
            consumers.create_task(work_off(queue, seen))
        async with asyncio.TaskGroup() as producers:
            for producer in range(50):
                producers.create_task(produce(producer))
        if drain:
            await queue.shut_down_with_drain()
        else:
            queue.shut_down()
        queue.add("too late")

    assert Counter(seen) == Counter(f"{p}-{n}" for p in range(50) for n in range(50))
    assert len(queue) == 0


async def test_workers_that_wait_take_what_is_fed_each_item_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    seen: list[str] = []
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(work_off(queue, seen))
        await settle()
        queue.feed(str(number) for number in range(20))
        await asyncio.sleep(0)
        queue.add("meanwhile")
        for _ in range(50):
            await asyncio.sleep(0)
        queue.shut_down()
    assert Counter(seen) == Counter([*map(str, range(20)), "meanwhile"])
    assert seen.index("meanwhile") < 12


async def test_items_come_in_the_order_of_their_first_add() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for item in ("foo", "bar", "foo"):
        queue.add(item)
    assert len(queue) == 2
    assert [await queue.get(), await queue.get()] == ["foo", "bar"]
    queue.done("foo")
    queue.done("bar")
    assert len(queue) == 0


@pytest.mark.parametrize("adds", [1, 2])
async def test_a_key_added_while_processing_comes_back_once(adds: int) -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo")
    item = await queue.get()
    for _ in range(adds):
        queue.add(item)
    assert len(queue) == 0
    queue.done(item)
    assert len(queue) == 1
    assert await queue.get() == "foo"
    queue.done("foo")
    assert len(queue) == 0


async def test_a_waiting_worker_gets_a_key_that_comes_back() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo")
    await queue.get()
    other = asyncio.create_task(queue.get())
    queue.add("foo")
    await settle()
    assert not other.done()
    queue.done("foo")
    assert await other == "foo"


async def test_done_of_a_key_that_was_not_handed_out_changes_nothing() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo")
    queue.done("foo")
    assert len(queue) == 1


async def test_waiting_workers_are_served_in_the_order_in_which_they_came() -> None:
    queue: WorkQueue[str] = WorkQueue()
    getters = [asyncio.create_task(queue.get()) for _ in range(3)]
    await settle()
    for item in ("a", "b", "c"):
        queue.add(item)
    assert await asyncio.gather(*getters) == ["a", "b", "c"]


async def test_one_push_wakes_one_worker() -> None:
    queue: WorkQueue[str] = WorkQueue()
    getters = [asyncio.create_task(queue.get()) for _ in range(3)]
    await settle()
    queue.add("a")
    await settle()
    assert [getter.done() for getter in getters] == [True, False, False]
    queue.shut_down()
    results = await asyncio.gather(*getters, return_exceptions=True)
    assert [type(result) for result in results] == [str, QueueShutDown, QueueShutDown]


# Shutting down


async def test_keys_queued_before_the_shut_down_are_still_handed_out() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo")
    assert not queue.shutting_down
    queue.shut_down()
    assert queue.shutting_down
    assert await queue.get() == "foo"
    with pytest.raises(QueueShutDown):
        await queue.get()


async def test_shut_down_twice_is_as_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.shut_down()
    queue.shut_down()
    with pytest.raises(QueueShutDown):
        await queue.get()


async def test_a_drain_waits_for_all_that_is_in_process() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo")
    queue.add("bar")
    await queue.get()
    await queue.get()
    drain = asyncio.create_task(queue.shut_down_with_drain())
    await settle()
    queue.done("foo")
    await settle()
    assert not drain.done()
    queue.done("bar")
    await drain


async def test_a_drain_with_nothing_in_process_returns_at_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("queued")
    await queue.shut_down_with_drain()
    assert await queue.get() == "queued"


async def test_a_shut_down_does_not_wait_for_what_is_in_process() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo")
    await queue.get()
    queue.shut_down()
    with pytest.raises(QueueShutDown):
        await queue.get()


async def test_a_shut_down_releases_those_that_wait_for_a_drain() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo")
    await queue.get()
    drains = [asyncio.create_task(queue.shut_down_with_drain()) for _ in range(2)]
    await settle()
    assert not any(drain.done() for drain in drains)
    queue.shut_down()
    await asyncio.gather(*drains)


async def test_a_key_that_is_to_come_back_is_handed_out_once_more_under_a_drain() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo")
    await queue.get()
    queue.add("foo")
    drain = asyncio.create_task(queue.shut_down_with_drain())
    await settle()
    queue.add("foo")
    queue.done("foo")
    await settle()
    assert not drain.done()
    assert await queue.get() == "foo"
    queue.done("foo")
    await drain
    with pytest.raises(QueueShutDown):
        await queue.get()


# Cancellation


async def test_a_cancelled_worker_takes_nothing() -> None:
    queue: WorkQueue[str] = WorkQueue()
    getter = asyncio.create_task(queue.get())
    await settle()
    getter.cancel()
    await settle()
    queue.add("foo")
    assert await queue.get() == "foo"


async def test_a_key_added_as_its_worker_is_cancelled_goes_to_the_next() -> None:
    queue: WorkQueue[str] = WorkQueue()
    first, second = (asyncio.create_task(queue.get()) for _ in range(2))
    await settle()
    first.cancel()
    queue.add("foo")
    assert await second == "foo"
    assert first.cancelled()


async def test_a_worker_cancelled_after_its_wake_up_passes_it_on() -> None:
    queue: WorkQueue[str] = WorkQueue()
    first, second = (asyncio.create_task(queue.get()) for _ in range(2))
    await settle()
    queue.add("foo")
    first.cancel()
    assert await second == "foo"
    assert first.cancelled()


async def test_a_key_whose_only_worker_is_cancelled_stays_queued() -> None:
    queue: WorkQueue[str] = WorkQueue()
    getter = asyncio.create_task(queue.get())
    await settle()
    queue.add("foo")
    getter.cancel()
    await settle()
    assert len(queue) == 1
    assert await queue.get() == "foo"


async def test_a_worker_that_comes_while_another_wakes_up_takes_no_second_copy() -> None:
    queue: WorkQueue[str] = WorkQueue()
    first = asyncio.create_task(queue.get())
    await settle()
    queue.add("foo")
    assert await queue.get() == "foo"
    await settle()
    assert not first.done()
    queue.add("bar")
    assert await first == "bar"


STEPS = st.one_of(
    st.tuples(st.just("add"), st.integers(0, 3)),
    st.tuples(st.sampled_from(["get", "done", "turn"]), st.just(0)),
    st.tuples(st.just("cancel"), st.integers(0, 5)),
)


class Crowd:
    """Workers that come, are cancelled, and give back what they got, in any order."""

    def __init__(self) -> None:
        self.queue: WorkQueue[int] = WorkQueue()
        self.getters: list[asyncio.Task[int]] = []
        self.in_process: list[int] = []

    def collect(self) -> None:
        """Note what the workers were given; nothing may be with two of them."""
        for getter in [getter for getter in self.getters if getter.done()]:
            self.getters.remove(getter)
            if not getter.cancelled():
                assert getter.result() not in self.in_process
                self.in_process.append(getter.result())

    async def step(self, verb: str, number: int) -> None:
        match verb:
            case "add":
                self.queue.add(number)
            case "get":
                self.getters.append(asyncio.create_task(self.queue.get()))
            case "done" if self.in_process:
                self.queue.done(self.in_process.pop(0))
            case "cancel" if number < len(self.getters):
                self.getters[number].cancel()
            case "turn":
                await asyncio.sleep(0)
        self.collect()

    async def play(self, steps: list[tuple[str, int]]) -> None:
        for verb, number in steps:
            await self.step(verb, number)
        await settle()
        self.collect()
        assert not (self.getters and len(self.queue)), "a worker sleeps beside a queued key"
        for getter in self.getters:
            getter.cancel()
        await settle()


@settings(max_examples=200, deadline=None)
@given(st.lists(STEPS, max_size=40))
async def test_no_worker_sleeps_beside_a_queued_key_whoever_is_cancelled(
    steps: list[tuple[str, int]],
) -> None:
    await Crowd().play(steps)
