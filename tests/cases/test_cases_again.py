"""Deleted and created again under the same name: case I6."""

import asyncio
from typing import Any

import pytest
from api import Happened, Weather
from case_stage import Stage

from kq.core import keys
from kq.core.kinds import JOB, POD, QUEUE_UNIT, ResourceKind
from kq.kube.errors import Indeterminate

pytestmark = [pytest.mark.looptime(noop_cycles=2), pytest.mark.usefixtures("same_jitter", "logs")]

TRAIN = "team-a/train"


class Late(Weather):
    """What one kind's watch shows comes so many seconds late."""

    def __init__(self, kind: ResourceKind, seconds: float) -> None:
        self._kind, self._seconds = kind, seconds

    async def on_watch(self, kind: ResourceKind, happened: Happened) -> int:
        if kind is self._kind:
            await asyncio.sleep(self._seconds)
        return 1


class Broken(Weather):
    """Watches of Jobs break at the next thing they are to show, and what they missed is lost."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._is_broken = False

    async def on_watch(self, kind: ResourceKind, happened: Happened) -> int:
        if kind is JOB and not self._is_broken:
            self._is_broken = True
            await asyncio.sleep(1)
            self._stage.api.forget_history(JOB)
            raise Indeterminate("the connection broke")
        return 1


def again(stage: Stage, **fields: Any) -> None:
    """The same name with another UID, as the webhook leaves it."""
    stage.submit("train", metadata={"uid": "u2"}, **{"cpu": 4} | fields)


def owner_of(stage: Stage, key: str = TRAIN) -> str:
    unit = stage.unit(key)
    [owner] = unit["metadata"]["ownerReferences"]
    assert unit["spec"]["consumerRef"]["uid"] == owner["uid"]
    return str(owner["uid"])


COLLECTS = pytest.mark.parametrize(
    "collects", [0.0, 0.02, 5.0, None], ids=["at once", "20 ms", "5 s", "never"]
)


@COLLECTS
@pytest.mark.parametrize("gap", [0.0, 0.01, 0.1], ids=["0 ms", "10 ms", "100 ms"])
async def test_i6_the_new_job_is_queued_from_scratch(gap: float, collects: float | None) -> None:
    """Whichever comes first, the end of the old unit or the new job."""
    stage = Stage(cpu=4)
    stage.played.collects = collects
    stage.submit("train", cpu=4)
    async with stage.runs():
        old = stage.unit(TRAIN)["metadata"]["uid"]
        stage.played.lingers = 20.0
        stage.delete(TRAIN)
        await stage.settled(gap)
        again(stage)
        await stage.settled(15)
        assert stage.is_held(TRAIN)
        assert owner_of(stage) == "u2"
        assert stage.unit(TRAIN)["metadata"]["uid"] != old
        assert stage.phase(TRAIN) == "Enqueued"
        assert stage.onlooker.granted == [TRAIN]
        await stage.settled(20)
        assert stage.phase(TRAIN) == "Running"
        assert stage.onlooker.granted == [TRAIN, TRAIN]
    assert stage.onlooker.most == 4


LATE = pytest.mark.parametrize(
    "kind", [JOB, QUEUE_UNIT, POD], ids=["jobs late", "units late", "pods late"]
)


@LATE
@pytest.mark.parametrize("collects", [0.02, 5.0], ids=["20 ms", "5 s"])
async def test_i6_in_whatever_order_the_watches_tell(kind: ResourceKind, collects: float) -> None:
    stage = Stage(cpu=4)
    stage.played.collects = collects
    stage.submit("train", cpu=4)
    stage.submit("waits", cpu=4)
    async with stage.runs():
        stage.api.weather = Late(kind, 2.0)
        stage.delete(TRAIN)
        again(stage)
        await stage.settled(60)
        assert owner_of(stage) == "u2"
        assert stage.phases() == {TRAIN: "Enqueued", "team-a/waits": "Running"}
        assert stage.is_held(TRAIN)
        assert stage.usage() == {"cpu": "4"}
    assert stage.onlooker.most == 4


@COLLECTS
async def test_i6_a_missed_delete_is_found_by_the_new_list(collects: float | None) -> None:
    """Until then the old job is thought to run: its unit counts, but nothing else runs."""
    stage = Stage(cpu=4)
    stage.played.collects = collects
    stage.submit("train", cpu=4)
    stage.submit("waits", cpu=4)
    async with stage.runs():
        stage.api.weather = Broken(stage)
        stage.delete(TRAIN)
        again(stage)
        await stage.settled(120)
        assert owner_of(stage) == "u2"
        assert stage.phases() == {TRAIN: "Enqueued", "team-a/waits": "Running"}
        assert stage.is_held(TRAIN)
    assert stage.onlooker.most_pods == 4


@COLLECTS
async def test_i6_a_delete_that_happened_while_no_manager_ran(collects: float | None) -> None:
    stage = Stage(cpu=4)
    stage.played.collects = collects
    stage.submit("train", cpu=4)
    async with stage.runs():
        await stage.kill()
        stage.delete(TRAIN)
        again(stage, cpu=1)
        stage.start()
        await stage.settled(90)
        assert owner_of(stage) == "u2"
        assert stage.phase(TRAIN) == "Running"
        assert stage.usage() == {"cpu": "1"}
        assert stage.onlooker.granted == [TRAIN, TRAIN]


@pytest.mark.parametrize("phase", ["Enqueued", "Dequeued", "Running"])
async def test_i6_a_unit_of_the_old_job_in_any_phase_releases_nobody(phase: str) -> None:
    """The old unit stands there, without its job, when the manager starts."""
    stage = Stage(cpu=4)
    stage.played.collects = None
    stage.submit("train", cpu=4)
    async with stage.runs():
        await stage.kill()
        stage.api.edit(QUEUE_UNIT, TRAIN, {"status": {"phase": phase}})
        stage.delete(TRAIN)
        await stage.settled(1)
        again(stage, cpu=5)
        stage.start()
        await stage.settled(90)
        assert stage.is_held(TRAIN)
        assert owner_of(stage) == "u2"
        assert stage.message(TRAIN) == "cannot start: 5 cpu requested, but max of quota team-a is 4"
        assert stage.usage() == {"cpu": "0"}


async def test_i6_a_new_job_that_is_not_held_is_suspended_and_queued() -> None:
    """The webhook was away when it came; the old one's grant is not its own."""
    stage = Stage(cpu=4)
    stage.submit("train", cpu=4)
    stage.submit("waits", cpu=4)
    async with stage.runs():
        stage.delete(TRAIN)
        again(stage, suspend=False)
        await stage.settled(30)
        assert stage.is_held(TRAIN)
        assert owner_of(stage) == "u2"
        assert stage.phases() == {TRAIN: "Enqueued", "team-a/waits": "Running"}
        assert stage.pods(TRAIN) == []


async def test_i6_marks_of_the_old_release_on_the_new_job_are_worth_nothing() -> None:
    """Somebody saved the running job with kubectl get -o yaml and creates it from there."""
    stage = Stage(cpu=4)
    stage.submit("waits", cpu=4)
    async with stage.runs():
        mark = {keys.DEQUEUE_TIMESTAMP: "2026-03-01T11:59:00.000Z"}
        stage.submit("train", cpu=4, metadata={"uid": "u2", "annotations": mark})
        await stage.settled(30)
        assert stage.is_held(TRAIN)
        assert stage.phases() == {TRAIN: "Enqueued", "team-a/waits": "Running"}


GAP = pytest.mark.parametrize("collects", [0.05, None], ids=["collected", "not collected"])


@GAP
@pytest.mark.parametrize("cpu", [1, 4], ids=["granted", "waiting"])
async def test_i6_a_unit_that_came_and_went_between_two_lists_is_not_thought_to_be_there(
    cpu: int, collects: float | None
) -> None:
    """No watch has ever shown it: it was made and deleted while the one of units was renewed."""
    stage = Stage(cpu=4)
    stage.played.collects = collects
    stage.submit("full", cpu=1)
    async with stage.runs():
        stage.api.expire(QUEUE_UNIT)
        stage.submit("train", cpu=cpu)
        await stage.settled(0.3)
        assert TRAIN in stage.api.all(QUEUE_UNIT)
        stage.delete(TRAIN)
        await stage.settled(0.3)
        again(stage, cpu=3)
        await stage.settled(120)
        assert owner_of(stage) == "u2"
        assert stage.phase(TRAIN) == "Running"
        assert stage.usage() == {"cpu": "4"}


@GAP
async def test_i2_a_granted_unit_that_came_and_went_between_two_lists_holds_nothing(
    collects: float | None,
) -> None:
    stage = Stage(cpu=4)
    stage.played.collects = collects
    async with stage.runs():
        stage.api.expire(QUEUE_UNIT)
        stage.submit("train", cpu=4)
        await stage.settled(0.3)
        assert stage.phase(TRAIN) == "Dequeued"
        stage.delete(TRAIN)
        await stage.settled(0.3)
        stage.submit("waits", cpu=4)
        await stage.settled(120)
        assert stage.phases() == {"team-a/waits": "Running"}
        assert stage.usage() == {"cpu": "4"}
