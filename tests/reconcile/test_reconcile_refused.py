"""What the API server refuses for good: given back or counted, told, and tried again later."""

from collections.abc import Callable
from datetime import timedelta

import builders
import pytest
from api import Asked
from builders import NOW, stamp
from test_reconcile_job import LABELLED, Jobs, running_victim

from kq.core.kinds import JOB, QUEUE_UNIT, ResourceKind
from kq.decide.actions import Action, AddToPods, HoldJob, ReleaseJob, ShowWaiting
from kq.kube.errors import BadRequest, Conflict, Forbidden, Invalid, TooLarge
from kq.reconcile.strikes import Refusals

OF_RIGHTS = 'jobs.batch "train" is forbidden: User "kq" cannot patch resource "jobs"'
LET_RUN = (
    "the API server refused to suspend job team-a/train: not here; it runs on, and counts; "
    "correct the rule that refuses it"
)
NOT_HELD = f"{LET_RUN}; it is tried again by itself"


def jobs(asked: Asked) -> bool:
    return asked.verb == "patch" and asked.kind is JOB


def lets_go(asked: Asked) -> bool:
    return jobs(asked) and (asked.body or {}).get("spec", {}).get("suspend") is False


def patches(ground: Jobs, kind: ResourceKind = JOB) -> int:
    return sum(each.verb == "patch" and each.kind is kind for each in ground.api.asked)


@pytest.mark.parametrize("refusal", [BadRequest, Forbidden, Invalid, TooLarge])
async def test_a_release_that_is_refused_goes_into_back_off_at_once(
    refusal: Callable[[str], Exception],
) -> None:
    ground = Jobs()
    await ground.granted()
    ground.notes.take()
    ground.api.fail(refusal("not here"), jobs, times=100)
    await ground.look()
    text = (
        "the API server refused to let job team-a/train start: not here; correct the job, "
        "or the rule that refuses it; it is tried again by itself"
    )
    status = ground.status()
    assert (status["phase"], status["message"]) == ("TimeoutBackoff", text)
    assert (status["admissions"], status["requeueState"]["count"]) == ([], 1)
    assert ground.notes.take() == [
        f"Warning ResumeFailed QueueUnit/train: {text}",
        f"Warning ResumeFailed Job/train: {text}",
    ]
    assert ground.registry.get_sample_value(
        "kq_evictions_total", {"queue": "team-a", "reason": "ResumeFailed"}
    )
    asked = patches(ground)
    for _ in range(3):
        assert (await ground.look()).requeue_after == 60
    assert patches(ground) == asked


async def test_it_starts_at_the_next_try_when_the_cause_is_mended() -> None:
    ground = Jobs()
    await ground.granted()
    ground.api.fail(Invalid("not here"), lets_go)
    await ground.look()
    ground.show_job()
    ground.clock.move(60)
    for _ in range(2):  # what is left on its pods shows in the unit first
        await ground.look()
    assert ground.status()["phase"] == "Enqueued"
    assert len(ground.grant()) == 1
    await ground.write_grant()
    await ground.look()
    assert not ground.job_now().suspended
    assert ground.status()["attempts"] == 2


async def test_it_is_given_back_though_that_conflicts_at_first() -> None:
    """The API server is not asked again to let it start."""
    ground = Jobs()
    await ground.granted()
    ground.api.fail(Invalid("not here"), jobs, times=100)
    ground.api.edit(QUEUE_UNIT, "team-a/train", {"metadata": {"labels": {"seen": "later"}}})
    with pytest.raises(Conflict):
        await ground.look()
    asked = patches(ground)
    ground.show_unit()
    await ground.look()
    assert ground.status()["phase"] == "TimeoutBackoff"
    assert patches(ground) == asked


async def test_a_right_that_lacks_is_given_some_seconds_to_become_known() -> None:
    """As after a start of the API server."""
    ground = Jobs()
    await ground.granted()
    ground.api.fail(Forbidden(OF_RIGHTS), jobs, times=100)
    for _ in range(9):
        with pytest.raises(Forbidden):
            await ground.look()
    assert ground.status()["phase"] == "Dequeued"
    await ground.look()
    assert ground.status()["phase"] == "TimeoutBackoff"


async def test_a_suspension_that_is_refused_is_tried_again_at_ever_longer_distances() -> None:
    ground = Jobs()
    await ground.granted()
    await ground.look()
    ground.show_job()
    ground.grants_are_taken_back()
    await ground.look()
    ground.notes.take()
    ground.api.fail(Forbidden("not here"), jobs, times=100)
    for seconds in (5, 10, 20):
        assert (await ground.look()).requeue_after == seconds
        asked = patches(ground)
        assert (await ground.look()).requeue_after == seconds
        assert patches(ground) == asked
        ground.clock.move(seconds)
    status = ground.status()
    assert (status["phase"], status["message"]) == ("Dequeued", NOT_HELD)
    assert [each["replicas"] for each in status["admissions"]] == [1]
    assert ground.notes.take() == [f"Warning NotEvictable Job/train: {NOT_HELD}"]
    ground.api.faults.clear()
    await ground.look()
    assert ground.job_now().suspended


async def test_a_victim_that_cannot_be_suspended_goes_on_and_is_none_any_more() -> None:
    ground = await running_victim()
    await ground.look()
    ground.api.fail(Forbidden("not here"), jobs, times=100)
    await ground.look()
    status = ground.status()
    (mark,) = [each for each in status["conditions"] if each["type"] == "Evicted"]
    assert (mark["status"], mark["reason"], mark["message"]) == ("False", "NotEvictable", LET_RUN)
    assert (status["phase"], status["message"]) == ("Dequeued", LET_RUN)
    ground.show_unit()
    assert ground.grant() == []
    assert ground.book.takings.of("team-a/train") is None


async def test_a_job_that_slipped_through_and_cannot_be_held_is_counted() -> None:
    ground = Jobs()
    ground.job(metadata=LABELLED, suspend=False, status={"startTime": stamp(0), "active": 1})
    ground.book.saw(builders.pod())
    ground.api.fail(Forbidden("not here"), jobs, times=100)
    await ground.look()
    ground.show_unit()
    await ground.look()
    status = ground.status()
    counted = "already running when found, counted against quota team-a"
    assert (status["phase"], status["message"]) == ("Running", f"{counted}; {LET_RUN}")
    assert patches(ground) == 1


async def test_a_change_of_its_unit_that_is_refused_is_told_and_starts_nothing() -> None:
    ground = Jobs()
    await ground.granted()
    ground.notes.take()
    ground.api.edit(JOB, "team-a/train", {"metadata": {"labels": {"new": "one"}}})
    ground.show_job()

    def of_unit(asked: Asked) -> bool:
        return asked.kind is QUEUE_UNIT and asked.verb == "patch" and asked.subresource is None

    ground.api.fail(Invalid("not this"), of_unit, times=100)
    await ground.look()
    assert ground.status()["phase"] == "TimeoutBackoff"
    assert ground.job_now().suspended
    told = ground.notes.take()
    assert told[:2] == [
        "Warning UnitRefused QueueUnit/train: the queue unit was not changed: not this",
        "Warning UnitRefused Job/train: the queue unit was not changed: not this",
    ]
    assert (await ground.look()).requeue_after == 5


# -- for how long


ONE: list[Action] = [HoldJob(builders.job_view(), "", {}, {})]


def test_a_refusal_stands_for_ever_longer() -> None:
    refusals, now, found = Refusals(), NOW, []
    for _ in range(9):
        refusals.note("uid", HoldJob, "no", 1, now)
        left = refusals.seconds_left("uid", now)
        assert left
        assert refusals.standing("uid", 1, now + timedelta(seconds=left - 1)) == {HoldJob: "no"}
        now += timedelta(seconds=left)
        assert refusals.standing("uid", 1, now) == {}
        found.append(left)
    assert found == [5, 10, 20, 40, 80, 160, 320, 600, 600]


def test_a_release_is_tried_again_at_the_next_attempt_alone() -> None:
    refusals = Refusals()
    for write in (ReleaseJob, AddToPods):
        refusals.note("uid", write, "no", 1, NOW)
    later = NOW + timedelta(days=1)
    assert refusals.standing("uid", 1, later) == {ReleaseJob: "no", AddToPods: "no"}
    assert refusals.standing("uid", 2, NOW) == {}
    assert refusals.seconds_left("uid", NOW) is None


def test_what_was_taken_is_forgotten_and_others_stand() -> None:
    refusals = Refusals()
    for write in (HoldJob, ShowWaiting):
        refusals.note("uid", write, "no", 1, NOW)
    refusals.took("uid", ONE)
    assert refusals.standing("uid", 1, NOW) == {ShowWaiting: "no"}
    refusals.note("uid", HoldJob, "no", 1, NOW)
    assert refusals.seconds_left("uid", NOW) == 5
    refusals.took("another", ONE)
    assert refusals.standing("another", 1, NOW) == {}


def test_a_clock_that_was_set_back_keeps_nothing_waiting() -> None:
    refusals = Refusals()
    refusals.note("uid", HoldJob, "no", 1, NOW)
    assert refusals.standing("uid", 1, NOW - timedelta(hours=1)) == {}


def test_of_very_many_jobs_the_oldest_refusal_is_forgotten() -> None:
    refusals = Refusals()
    for number in range(4097):
        refusals.note(str(number), HoldJob, "no", 1, NOW)
    assert refusals.standing("0", 1, NOW) == {}
    assert refusals.standing("1", 1, NOW) == {HoldJob: "no"}
