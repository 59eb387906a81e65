"""Ends that take their time: neighbours of I2, I3, I7 and E6."""

from typing import Any

import pytest
from case_stage import Stage

from kq.core import keys
from kq.core.kinds import JOB, POD, QUEUE_UNIT
from kq.settings import JobSettings

pytestmark = [pytest.mark.looptime(noop_cycles=2), pytest.mark.usefixtures("same_jitter", "logs")]

TRAIN, NEXT = "team-a/train", "team-a/waits"
DELETING = {"metadata": {"deletionTimestamp": "2026-03-01T12:01:00Z"}}


def full(**fields: Any) -> Stage:
    stage = Stage(cpu=4)
    stage.submit("train", cpu=4, **fields)
    stage.submit("waits", cpu=4)
    return stage


# -- on their way out


async def test_i2_a_waiting_job_that_is_being_deleted_is_passed_over() -> None:
    """A foreign finalizer may keep it for ever."""
    stage = full(metadata={"finalizers": ["example.com/f"]})
    stage.submit("later", cpu=4)
    async with stage.runs():
        stage.api.edit(JOB, NEXT, DELETING)
        stage.finish(TRAIN)
        await stage.settled()
        assert stage.is_held(NEXT)
        assert NEXT not in stage.onlooker.released
        assert stage.phase("team-a/later") == "Running"


async def test_i2_a_running_job_that_is_being_deleted_holds_until_its_pods_are_gone() -> None:
    """Foreground deletion: first the pods, last the job."""
    stage = full()
    async with stage.runs():
        stage.played.lingers = 30.0
        [pod] = stage.pods(TRAIN)
        stage.api.edit(JOB, TRAIN, DELETING)
        stage.api.edit(POD, pod, DELETING)
        await stage.settled(20)
        assert stage.phase(NEXT) == "Enqueued"
        stage.api.remove(POD, pod)
        await stage.settled()
        assert stage.phase(NEXT) == "Running"
        assert stage.phase(TRAIN) == "Failed"
        assert stage.message(TRAIN) == "job team-a/train is being deleted"
        assert stage.onlooker.most == 4


async def test_i2_a_granted_job_that_is_being_deleted_is_not_released() -> None:
    """The mark comes between the grant and the release."""
    stage = full()
    stage.played.reacts = 1e9
    async with stage.runs():
        stage.finish(TRAIN)
        stage.api.edit(JOB, NEXT, DELETING)
        await stage.settled()
        assert NEXT not in stage.onlooker.released
        assert stage.usage() == {"cpu": "0"}


# -- retention


@pytest.mark.parametrize("end", ["Complete", "Failed"])
async def test_i3_a_unit_deleted_by_retention_does_not_come_back_after_a_restart(end: str) -> None:
    stage = Stage(cpu=4, jobs=JobSettings(finishedUnitTTLSeconds=30))
    stage.submit("train", cpu=4)
    async with stage.runs():
        stage.finish(TRAIN, end)
        await stage.settled(60)
        assert stage.phases() == {}
        await stage.kill()
        stage.api.asked.clear()
        stage.start()
        await stage.settled(120)
        assert stage.phases() == {}
        assert [each.short for each in stage.api.writes] == []
        assert stage.usage() == {"cpu": "0"}


@pytest.mark.parametrize("end", ["Complete", "Failed"])
async def test_i3_a_unit_of_a_finished_job_deleted_by_hand_does_not_come_back(end: str) -> None:
    stage = full()
    async with stage.runs():
        stage.finish(TRAIN, end)
        await stage.settled()
        stage.api.remove(QUEUE_UNIT, TRAIN)
        stage.api.edit(JOB, TRAIN, {"metadata": {"labels": {"touched": "yes"}}})
        await stage.settled(60)
        assert stage.phases() == {NEXT: "Running"}


@pytest.mark.parametrize("suspend", [True, False], ids=["suspended", "plain"])
async def test_i3_a_finished_job_that_somebody_edits_is_not_written(suspend: bool) -> None:
    stage = full()
    async with stage.runs():
        stage.finish(TRAIN)
        await stage.settled()
        stage.api.asked.clear()
        stage.suspend(TRAIN, suspend)
        await stage.settled(60)
        assert stage.api.writes_to(JOB, TRAIN) == []
        assert stage.phase(TRAIN) == "Succeed"
        assert stage.usage() == {"cpu": "4"}


# -- pods that end one after the other


async def test_e6_while_one_pod_is_left_the_whole_grant_is_held() -> None:
    """Up to the end of the job others of its pods may follow those that ended."""
    stage = Stage(cpu=4)
    stage.submit("train", cpu=1, parallelism=4)
    stage.submit("waits", cpu=1)
    async with stage.runs():
        for pod in stage.pods(TRAIN)[:3]:
            stage.api.edit(POD, pod, {"status": {"phase": "Succeeded"}})
            await stage.settled(5)
            assert stage.usage() == {"cpu": "4"}
            assert stage.phase(NEXT) == "Enqueued"
        stage.finish(TRAIN)
        await stage.settled()
        assert stage.phase(NEXT) == "Running"
        assert stage.usage() == {"cpu": "1"}


async def test_e6_a_pod_that_is_replaced_is_counted_once() -> None:
    """The old one still ends when the new one is there: the larger sum counts, for that time."""
    stage = full()
    stage.submit("zero-left", cpu=1)
    async with stage.runs():
        [pod] = stage.pods(TRAIN)
        body = stage.api.find(POD, pod)
        stage.api.edit(POD, pod, DELETING)
        meta = {**body["metadata"], "name": "another", "uid": "another"}
        stage.api.put(POD, {**body, "metadata": meta})
        await stage.settled()
        assert stage.usage() == {"cpu": "8"}
        stage.api.remove(POD, pod)
        await stage.settled()
        assert stage.usage() == {"cpu": "4"}
        assert stage.phases() == {
            TRAIN: "Running",
            NEXT: "Enqueued",
            "team-a/zero-left": "Enqueued",
        }


@pytest.mark.parametrize("label", ["team-a", "team-b", ""], ids=repr)
async def test_e6_the_label_of_its_pods_does_not_move_what_a_job_uses(label: str) -> None:
    stage = full()
    stage.quota("team-b", cpu=4)
    async with stage.runs():
        [pod] = stage.pods(TRAIN)
        stage.api.edit(POD, pod, {"metadata": {"labels": {keys.QUOTA_LABEL: label}}})
        await stage.settled()
        assert stage.usage("team-a") == {"cpu": "4"}
        assert stage.usage("team-b") == {"cpu": "0"}


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1), (2, 0)], ids=str)
async def test_e6_a_running_job_that_is_scaled_is_charged_at_once(before: int, after: int) -> None:
    """Before a single pod of it comes or goes."""
    stage = Stage(cpu=4)
    stage.submit("train", cpu=1, parallelism=before)
    async with stage.runs():
        stage.played.reacts = 1e9
        stage.api.edit(JOB, TRAIN, {"spec": {"parallelism": after}})
        await stage.settled()
        [grant] = stage.unit(TRAIN)["status"]["admissions"]
        assert grant["replicas"] == after
        assert stage.usage() == {"cpu": str(max(before, after))}


async def test_i4_a_running_job_that_its_owner_deactivates_is_evicted_without_any_event() -> None:
    """Its pods say nothing for an hour, and do not have to."""
    stage = full()
    async with stage.runs():
        stage.api.edit(JOB, TRAIN, {"metadata": {"annotations": {keys.ACTIVE: "false"}}})
        await stage.settled()
        assert stage.is_held(TRAIN)
        assert stage.phases() == {TRAIN: "Enqueued", NEXT: "Running"}
