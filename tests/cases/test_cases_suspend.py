"""Someone else flips the switch: case I4, and the jobs that nobody held (A3, spec 5.12-5.14)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from case_stage import Stage

from kq.core import keys
from kq.core.kinds import EVENT, JOB, QUEUE_UNIT

pytestmark = [pytest.mark.looptime(noop_cycles=2), pytest.mark.usefixtures("same_jitter", "logs")]

FIRST, SECOND = "team-a/first", "team-a/second"
PAUSED = (
    "Paused because the job was suspended by someone else; "
    "set spec.active to true to queue it again"
)


def full() -> Stage:
    """A quota that one job fills, and a second one that waits for it."""
    stage = Stage(cpu=4)
    stage.submit("first", cpu=4)
    stage.submit("second", cpu=4)
    return stage


# -- first part: a user lets a waiting job go


@pytest.mark.parametrize("lingers", [0.5, 20.0], ids=["pods end at once", "pods end slowly"])
async def test_i4_a_waiting_job_that_a_user_resumes_is_held_again_with_one_warning(
    lingers: float,
) -> None:
    stage = full()
    async with stage.runs():
        stage.played.lingers = lingers
        place = stage.unit(SECOND)["metadata"]
        stage.suspend(SECOND, False)
        await stage.settled(lingers / 2)
        assert stage.is_held(SECOND)
        await stage.settled(lingers + 10)
        assert stage.pods(SECOND) == []
        assert stage.phases() == {FIRST: "Running", SECOND: "Enqueued"}
        assert stage.unit(SECOND)["metadata"]["uid"] == place["uid"]
        [warning] = stage.events("SlippedThrough", "second")
        assert (warning["type"], warning["count"]) == ("Warning", 1)
        assert stage.usage() == {"cpu": "4"}
        stage.finish(FIRST)
        await stage.settled()
        assert stage.phase(SECOND) == "Running"


async def test_i4_what_started_meanwhile_counts_until_it_is_gone() -> None:
    """The pods of the second are counted beside the first, and keep a third out."""
    stage = full()
    stage.played.reacts = 0.0
    stage.submit("third", cpu=4)
    async with stage.runs():
        stage.played.lingers = 60.0
        stage.suspend(SECOND, False)
        await stage.settled(10)
        assert stage.is_held(SECOND)
        assert stage.onlooker.used == 8
        assert stage.usage() == {"cpu": "8"}
        stage.finish(FIRST)
        await stage.settled(20)
        assert stage.phases() == {
            FIRST: "Succeed",
            SECOND: "Enqueued",
            "team-a/third": "Enqueued",
        }
        assert stage.message(SECOND) == "waiting for pods of the last run to end"
        await stage.settled(60)
        assert stage.phase(SECOND) == "Running"


# -- second part: a tool that does it over and over


async def fight(stage: Stage, key: str, *, every: float, minutes: float) -> None:
    """A tool sets suspend to false every few seconds."""
    until = asyncio.get_running_loop().time() + minutes * 60
    while asyncio.get_running_loop().time() < until:
        stage.suspend(key, False)
        await stage.settled(every)


@pytest.mark.parametrize(
    ("every", "most"),
    [(10.0, 18), (1.0, 18), (0.1, 18), (60.0, 12), (120.0, 6)],
    ids=lambda each: str(each),
)
async def test_i4_a_tool_that_resumes_again_and_again_is_answered_ever_more_slowly(
    every: float, most: int
) -> None:
    """In ten minutes: at once, then 1, 2, 4 ... 60 s apart; one event, counted up."""
    stage = full()
    async with stage.runs():
        stage.api.asked.clear()
        await fight(stage, SECOND, every=every, minutes=10)
        holds = stage.api.writes_to(JOB)
        assert {each.key for each in holds} == {SECOND}
        assert all((each.body or {})["spec"] == {"suspend": True} for each in holds)
        assert 4 <= len(holds) <= most
        assert len(stage.api.writes_to(QUEUE_UNIT)) <= 2 * most
        [warning] = stage.events("SlippedThrough", "second")
        # The recorder lets 25 events of one object through at once; each hold tells two.
        assert min(12, len(stage.onlooker.held)) <= warning["count"] <= len(stage.onlooker.held)
        events = [each for each in stage.api.asked if each.kind is EVENT and each.is_write]
        assert len(events) <= 3 * most
        assert stage.phase(FIRST) == "Running"
        assert SECOND not in stage.onlooker.granted
        await stage.settled(120)
        assert stage.is_held(SECOND)
        assert stage.phases() == {FIRST: "Running", SECOND: "Enqueued"}


async def test_i4_the_fight_gives_nobody_more_than_the_quota() -> None:
    """What the tool starts counts at once, so that nothing else is let go beside it."""
    stage = full()
    stage.submit("third", cpu=1)
    async with stage.runs():
        stage.finish(FIRST)
        await stage.settled()
        assert stage.phase(SECOND) == "Running"
        await fight(stage, "team-a/third", every=10.0, minutes=10)
        assert "team-a/third" not in stage.onlooker.granted
        stage.finish(SECOND)
        await stage.settled(120)
        assert stage.phase("team-a/third") == "Running"


async def test_i4_after_ten_quiet_minutes_the_first_answer_comes_at_once_again() -> None:
    stage = full()
    async with stage.runs():
        await fight(stage, SECOND, every=10.0, minutes=5)
        await stage.settled(11 * 60)
        stage.suspend(SECOND, False)
        await stage.settled(0.5)
        assert stage.is_held(SECOND)


# -- third part: a user suspends a running job


WAYS: list[Any] = [
    pytest.param(
        lambda stage: stage.api.edit(QUEUE_UNIT, FIRST, {"spec": {"active": True}}),
        id="spec.active of the unit",
    ),
    pytest.param(
        lambda stage: stage.api.edit(
            JOB, FIRST, {"metadata": {"annotations": {keys.ACTIVE: "true"}}}
        ),
        id="the annotation of the job",
    ),
]


@pytest.mark.parametrize("queue_again", WAYS)
async def test_i4_a_running_job_that_a_user_suspends_is_paused_until_it_is_queued_again(
    queue_again: Callable[[Stage], object],
) -> None:
    stage = full()
    async with stage.runs():
        place = stage.unit(FIRST)
        stage.played.lingers = 30.0
        stage.suspend(FIRST, True)
        await stage.settled(20)
        assert stage.usage() == {"cpu": "4"}
        assert stage.phase(SECOND) == "Enqueued"
        await stage.settled(20)
        assert stage.phase(SECOND) == "Running"
        paused = stage.unit(FIRST)
        assert (paused["status"]["phase"], paused["spec"]["active"]) == ("Enqueued", False)
        assert paused["status"]["message"] == PAUSED
        assert paused["status"]["admissions"] == []
        assert paused["metadata"]["uid"] == place["metadata"]["uid"]
        stage.finish(SECOND)
        writes = len(stage.api.writes_to(JOB, FIRST))
        await stage.settled(600)
        assert stage.is_held(FIRST)
        assert stage.message(FIRST) == PAUSED
        assert len(stage.api.writes_to(JOB, FIRST)) == writes
        queue_again(stage)
        await stage.settled()
        assert stage.phase(FIRST) == "Running"
        assert not stage.is_held(FIRST)
    assert stage.onlooker.most == 4


@pytest.mark.parametrize("queue_again", WAYS)
async def test_i4_a_paused_job_goes_back_to_its_old_place(
    queue_again: Callable[[Stage], object],
) -> None:
    """It is older than the third, which waited all the time."""
    stage = full()
    async with stage.runs():
        stage.suspend(FIRST, True)
        await stage.settled()
        assert stage.phase(SECOND) == "Running"
        stage.submit("third", cpu=4)
        await stage.settled()
        queue_again(stage)
        await stage.settled()
        stage.finish(SECOND)
        await stage.settled()
        assert stage.phases()[FIRST] == "Running"
        assert stage.phases()["team-a/third"] == "Enqueued"


async def test_i4_a_tool_that_suspends_over_and_over_kills_the_job_once() -> None:
    """A manifest with suspend: true, applied every minute, is a pause and no fight."""
    stage = full()
    async with stage.runs():
        stage.finish(SECOND)
        stage.api.asked.clear()
        for _ in range(10):
            stage.suspend(FIRST, True)
            await stage.settled(60)
        assert stage.onlooker.released.count(FIRST) == 1
        assert len(stage.api.writes_to(JOB, FIRST)) <= 1
        assert len(stage.api.writes_to(QUEUE_UNIT, FIRST)) <= 3
        assert stage.message(FIRST) == PAUSED


async def test_i4_a_pause_is_no_way_round_the_queue() -> None:
    """Resumed by hand the paused job is held again: its quota is another's by now."""
    stage = full()
    async with stage.runs():
        stage.suspend(FIRST, True)
        await stage.settled()
        assert stage.phase(SECOND) == "Running"
        stage.suspend(FIRST, False)
        await stage.settled()
        assert stage.is_held(FIRST)
        assert stage.pods(FIRST) == []
        assert stage.phases() == {FIRST: "Enqueued", SECOND: "Running"}
        assert stage.unit(FIRST)["spec"]["active"] is False


async def test_i4_a_pause_outlives_a_restart() -> None:
    stage = full()
    async with stage.runs():
        stage.suspend(FIRST, True)
        await stage.settled()
        stage.finish(SECOND)
        await stage.kill()
        stage.api.asked.clear()
        stage.start()
        await stage.settled(60)
        assert stage.is_held(FIRST)
        assert stage.message(FIRST) == PAUSED
        assert stage.api.writes_to(JOB) == []


@pytest.mark.parametrize("seconds", [0.0, 0.7, 60.0], ids=str)
async def test_i4_a_pause_while_no_manager_ran_gives_the_quota_back(seconds: float) -> None:
    """The pods may be gone, or just about to go, when it comes back."""
    stage = full()
    async with stage.runs():
        await stage.kill()
        stage.suspend(FIRST, True)
        await stage.settled(seconds)
        stage.start()
        await stage.settled(60)
        assert stage.phases() == {FIRST: "Enqueued", SECOND: "Running"}
        assert stage.message(FIRST) == PAUSED
        assert stage.unit(FIRST)["spec"]["active"] is False
        assert stage.onlooker.most == 4


@pytest.mark.parametrize("seconds", [0.0, 0.3, 2.0, 30.0], ids=str)
async def test_i4_suspended_and_resumed_by_hand_soon_after_the_pause_is_no_second_grant(
    seconds: float,
) -> None:
    """However soon the user changes their mind: never two jobs on one quota."""
    stage = full()
    async with stage.runs():
        stage.suspend(FIRST, True)
        await stage.settled(seconds)
        stage.suspend(FIRST, False)
        await stage.settled(120)
        running = [key for key in (FIRST, SECOND) if stage.pods(key)]
        assert len(running) == 1
        assert stage.usage() == {"cpu": "4"}
        [held] = {FIRST, SECOND} - set(running)
        assert stage.is_held(held)
        assert stage.phase(running[0]) == "Running"


# -- a job that nobody held (A3's neighbours: updates of running jobs change nothing)


UPDATES: list[Any] = [
    pytest.param({"metadata": {"annotations": {"foo": "bar"}}}, id="annotation"),
    pytest.param({"metadata": {"labels": {"foo": "bar"}}}, id="label"),
    pytest.param({"metadata": {"finalizers": ["x/y"]}}, id="finalizer"),
    pytest.param({"status": {"ready": 1}}, id="status"),
]


@pytest.mark.parametrize("update", UPDATES)
async def test_a3_an_update_of_an_admitted_job_never_suspends_it(update: dict[str, Any]) -> None:
    stage = full()
    async with stage.runs():
        pods = stage.pods(FIRST)
        stage.api.asked.clear()
        stage.api.edit(JOB, FIRST, update)
        await stage.settled(60)
        assert stage.api.writes_to(JOB) == []
        assert stage.pods(FIRST) == pods
        assert stage.phase(FIRST) == "Running"
