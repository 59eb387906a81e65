"""How seldom the status of a Queue is written, and what becomes of the write (spec 3.9)."""

import asyncio

import builders
import pytest
from api import on
from queue_status import TEAM, Status

from kq.core.kinds import QUEUE
from kq.decide.queuesettings import interval_of
from kq.kube.errors import Conflict, NotFound
from kq.reconcile.controller import Request, Result

INTERVAL = "koord-queue/queue-items-refresh-interval"


@pytest.fixture
def ground() -> Status:
    return Status()


# -- how often


@pytest.mark.looptime
async def test_one_look_tells_of_a_whole_burst(ground: Status) -> None:
    for number in range(5):
        ground.waiting(f"train-{number}")
        ground.hub.status_due("team-a")
        await asyncio.sleep(0.125)
    assert "status" not in await ground.due()
    assert await ground.queues.status.get() == Request("", "team-a")
    assert asyncio.get_running_loop().time() == pytest.approx(1.0, abs=0.01)
    await ground.look()
    assert ground.status(TEAM, QUEUE)["pendingUnits"] == 5
    assert len(ground.writes()) == 1


@pytest.mark.looptime
async def test_a_change_after_the_look_makes_another_one_due(ground: Status) -> None:
    ground.hub.status_due("team-a")
    request = await ground.queues.status.get()
    await ground.look()
    ground.queues.status.done(request)
    ground.hub.status_due("team-a")
    assert await asyncio.wait_for(ground.queues.status.get(), 1.5) == request


async def test_the_next_write_comes_five_seconds_later(ground: Status) -> None:
    await ground.written()
    ground.waiting()
    assert await ground.look() == 5.0
    ground.clock.move(1)
    assert await ground.look() == 4.0
    ground.clock.move(4)
    assert await ground.look() is None
    assert len(ground.writes()) == 2


async def test_nothing_is_written_where_nothing_differs(ground: Status) -> None:
    ground.waiting()
    await ground.written()
    for _ in range(5):
        ground.clock.move(60)
        assert await ground.look() is None
    assert len(ground.writes()) == 1


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("annotations", "seconds"), [({}, 15), ({INTERVAL: "1m"}, 60), ({INTERVAL: "2s"}, 5)]
)
async def test_the_line_has_its_own_interval(annotations: dict[str, str], seconds: int) -> None:
    ground = Status(queue={"metadata": {"annotations": annotations}})
    ground.waiting()
    await ground.written()
    started = ground.clock.seconds
    ground.waiting("next", minute=1)
    ground.clock.move(5)
    status = await ground.written()
    assert status["pendingUnits"] == 2
    while len(status["queueItemDetails"]["active"]) < 2:
        ground.clock.move(1)
        status = await ground.written()
    assert seconds <= ground.clock.seconds - started <= seconds + 2


@pytest.mark.looptime
async def test_a_line_that_must_wait_comes_by_itself(ground: Status) -> None:
    ground.waiting()
    await ground.written()
    ground.waiting("next", minute=1)
    ground.clock.move(5)
    await ground.written()
    request = await ground.queues.status.get()
    assert request == Request("", "team-a")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("2m", 120),
        ("1h1m1s", 3661),
        ("0s", 0),
        ("", 15),
        ("soon", 15),
        ("15", 15),
        ("1.5s", 1.5),
        ("0", 0),
        ("1.s", 1),
        (".5s", 0.5),
        ("1h0m0.5s", 3600.5),
        ("250ms", 0.25),
        ("2000000us", 2),
        ("2000000\u00b5s", 2),
        ("2000000\u03bcs", 2),
        ("1000000000ns", 15),
        ("100000000ns", 0.1),
        ("-5s", 15),
        ("٣s", 15),
    ],
)
@pytest.mark.parametrize("domain", ["koord-queue", "kube-queue"])
def test_intervals_are_go_durations(domain: str, text: str, seconds: float) -> None:
    annotations = {f"{domain}/queue-items-refresh-interval": text}
    found = interval_of(builders.queue(annotations=annotations))
    assert found == pytest.approx(seconds)


# -- what may go wrong


async def test_a_conflict_is_raised_and_tried_again_in_its_time(ground: Status) -> None:
    ground.api.edit(QUEUE, TEAM, {"spec": {"priority": 3}})
    with pytest.raises(Conflict):
        await ground.look()
    ground.show_queue()
    assert await ground.look() == 5.0
    ground.clock.move(5)
    assert await ground.look() is None
    assert "conditions" in ground.status(TEAM, QUEUE)


async def test_a_line_that_met_a_conflict_is_written_with_the_counts_of_the_next_try(
    ground: Status,
) -> None:
    ground.waiting()
    ground.api.edit(QUEUE, TEAM, {"spec": {"priority": 3}})
    with pytest.raises(Conflict):
        await ground.look()
    ground.show_queue()
    ground.clock.move(5)
    status = await ground.written()
    assert status["pendingUnits"] == 1
    assert len(status["queueItemDetails"]["active"]) == 1


async def test_a_queue_that_is_gone_is_a_success(ground: Status) -> None:
    ground.api.fail(NotFound("not found", code=404), on("patch"))
    assert await ground.look() is None


async def test_a_queue_that_is_not_known_is_left_alone(ground: Status) -> None:
    assert await ground.reconciler.reconcile(Request("", "nobody")) == Result()


async def test_a_queue_made_anew_is_not_kept_waiting_for_the_old_one(ground: Status) -> None:
    await ground.written()
    ground.api.remove(QUEUE, TEAM)
    ground.queue()
    assert await ground.look() is None
    assert len(ground.writes()) == 2
