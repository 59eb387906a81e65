"""Actions become writes, each on the version it was decided on, and the hub hears the answers."""

import asyncio

import builders
import pytest
from api import Asked
from builders import job_view
from shells import Ground

from kq.core import keys
from kq.core.kinds import JOB, QUEUE_UNIT
from kq.core.model import Phase
from kq.decide.actions import (
    CreateUnit,
    DeleteUnit,
    HoldJob,
    LookAgain,
    PatchJob,
    PatchStatus,
    PatchUnit,
    ReleaseJob,
    TellJob,
    TellUnit,
)
from kq.decide.plan import plan_job
from kq.kube.errors import (
    Conflict,
    Forbidden,
    Indeterminate,
    Invalid,
    NotFound,
    ServerError,
    TooLarge,
)
from kq.reconcile.controller import Result
from kq.reconcile.execute import STALE, Refused

RELEASED = "2026-03-01T12:01:00.000Z"


@pytest.fixture
def ground() -> Ground:
    made = Ground(builders.quota(cpu=5))
    made.queue()
    made.api.asked.clear()
    return made


def creation(ground: Ground) -> CreateUnit:
    (action,) = plan_job(builders.situation(ground.job()))
    assert isinstance(action, CreateUnit)
    return action


def only_write(ground: Ground) -> Asked:
    (write,) = ground.api.writes
    assert write.field_manager == "koord-queue"
    return write


# -- units


async def test_a_unit_is_created_and_counts_before_any_watch_shows_it(ground: Ground) -> None:
    await ground.executor.execute([creation(ground)])
    assert only_write(ground).short == "create queueunits team-a/train"
    assert ground.book.units["team-a/train"] == ground.unit_now()
    assert ground.book.take_woken() == []
    due = await ground.due()
    assert due["queue"] == ["team-a"]
    assert due["job"] == ["team-a/train"]


@pytest.mark.parametrize("error", [Invalid("spec.podSet: too many"), TooLarge("too large")])
async def test_a_unit_that_is_refused_is_told_on_its_job_and_tried_again(
    ground: Ground, error: Exception
) -> None:
    action = creation(ground)
    ground.api.fail(error)
    with pytest.raises(type(error)):
        await ground.executor.execute([action])
    assert ground.notes.told == [
        f"Warning UnitRefused Job/train: the queue unit was refused: {error}"
    ]
    assert not ground.book.units


async def test_a_job_that_goes_with_its_namespace_gets_no_unit_any_more(ground: Ground) -> None:
    action = creation(ground)
    causes = [{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]
    ground.api.fail(Forbidden("it is being terminated", code=403, details={"causes": causes}))
    await ground.executor.execute([action])
    assert ground.notes.told == []
    assert not ground.book.units


@pytest.mark.parametrize("subresource", [None, "status"])
async def test_a_patch_names_version_and_uid_and_its_answer_counts(
    ground: Ground, subresource: str | None
) -> None:
    unit = ground.unit()
    action = (
        PatchStatus(unit, {"status": {"phase": "Dequeued"}})
        if subresource
        else PatchUnit(unit, {"spec": {"active": False}})
    )
    await ground.executor.execute([action])
    write = only_write(ground)
    assert (write.resource_version, write.uid) == (unit.resource_version, unit.uid)
    assert write.subresource == subresource
    now = ground.unit_now()
    assert ground.book.units["team-a/train"] == now
    assert (now.phase is Phase.DEQUEUED, now.active) == (bool(subresource), bool(subresource))


async def test_a_unit_is_deleted_by_its_uid(ground: Ground) -> None:
    unit = ground.unit()
    await ground.executor.execute([DeleteUnit(unit)])
    assert only_write(ground).uid == unit.uid
    assert ground.api.all(QUEUE_UNIT) == {}


async def test_another_unit_of_the_name_is_not_deleted(ground: Ground) -> None:
    unit = ground.unit()
    ground.unit(uid="another")
    with pytest.raises(Conflict):
        await ground.executor.execute([DeleteUnit(unit)])
    assert ground.unit_now().uid == "another"


@pytest.mark.parametrize(
    "action",
    [
        pytest.param(lambda unit: PatchUnit(unit, {"spec": {}}), id="patch"),
        pytest.param(lambda unit: PatchStatus(unit, {"status": {}}), id="status"),
        pytest.param(DeleteUnit, id="delete"),
    ],
)
async def test_what_is_gone_already_needs_no_write(ground: Ground, action: object) -> None:
    unit = builders.unit()
    assert callable(action)
    assert await ground.executor.execute([action(unit)]) == Result()


async def test_a_conflict_is_raised_and_what_follows_is_not_done(ground: Ground) -> None:
    unit, job = ground.unit(), ground.job()
    ground.api.edit(QUEUE_UNIT, unit.key, {"metadata": {"labels": {"a": "b"}}})
    patch = PatchStatus(unit, {"status": {"phase": "Dequeued"}})
    with pytest.raises(Conflict):
        await ground.executor.execute([patch, ReleaseJob(job, unit, RELEASED)])
    assert ground.job_now().suspended
    assert ground.unit_now().phase is Phase.ENQUEUED


# -- jobs


async def test_a_release_resumes_the_job_and_says_when(ground: Ground) -> None:
    job, unit = ground.job(), ground.unit(phase=Phase.DEQUEUED)
    await ground.executor.execute([ReleaseJob(job, unit, RELEASED)])
    write = only_write(ground)
    assert (write.resource_version, write.uid) == (job.resource_version, job.uid)
    assert write.body == {
        "metadata": {"annotations": {keys.DEQUEUE_TIMESTAMP: RELEASED}},
        "spec": {"suspend": False},
    }


async def test_a_hold_suspends_the_job_with_its_marks_and_tells_the_cause(ground: Ground) -> None:
    job = ground.job(suspend=False)
    marks: dict[str, str | None] = {keys.DEQUEUE_TIMESTAMP: ""}
    hold = HoldJob(job, "started without a grant", marks, {keys.QUOTA_LABEL: "team-a"})
    await ground.executor.execute([hold])
    assert only_write(ground).body == {
        "metadata": {"annotations": marks, "labels": {keys.QUOTA_LABEL: "team-a"}},
        "spec": {"suspend": True},
    }
    assert ground.notes.told == ["Normal Suspended Job/train: started without a grant"]


async def test_a_patch_of_a_job_is_sent_as_it_is(ground: Ground) -> None:
    job = ground.job(metadata={"annotations": {keys.ACTIVE: "true"}})
    body = {"metadata": {"annotations": {keys.ACTIVE: None}}}
    await ground.executor.execute([PatchJob(job, body)])
    assert only_write(ground).body == body
    assert ground.job_now().annotations == {}


async def test_no_second_write_rests_on_a_view_from_before_the_first(ground: Ground) -> None:
    job, unit = ground.job(), ground.unit(phase=Phase.DEQUEUED)
    assert not ground.executor.awaits(job)
    await ground.executor.execute([ReleaseJob(job, unit, RELEASED)])
    assert ground.executor.awaits(job)
    assert not ground.executor.awaits(ground.job_now())
    assert not ground.executor.awaits(job)


async def test_a_write_that_failed_is_not_waited_for(ground: Ground) -> None:
    job, unit = ground.job(), ground.unit(phase=Phase.DEQUEUED)
    ground.api.fail(Indeterminate("no answer came"), applied=True)
    with pytest.raises(Indeterminate):
        await ground.executor.execute([ReleaseJob(job, unit, RELEASED)])
    assert not ground.executor.awaits(job)


async def test_a_job_that_is_gone_is_no_longer_waited_for(ground: Ground) -> None:
    job, unit = ground.job(), ground.unit(phase=Phase.DEQUEUED)
    await ground.executor.execute([ReleaseJob(job, unit, RELEASED)])
    ground.executor.forget("Job", job.key)
    assert not ground.executor.awaits(job)


async def test_a_release_of_a_job_that_is_gone_is_a_success(ground: Ground) -> None:
    job = job_view()
    assert await ground.executor.execute([ReleaseJob(job, builders.unit(), RELEASED)]) == Result()
    assert not ground.executor.awaits(job)


async def test_a_release_that_goes_on_failing_is_told_after_five_times_in_a_row(
    ground: Ground,
) -> None:
    """Spec 22.2."""
    job, unit = ground.job(), ground.unit(phase=Phase.DEQUEUED)
    told = []
    for _ in range(6):
        ground.api.fail(ServerError("out of order"))
        with pytest.raises(ServerError):
            await ground.executor.execute([ReleaseJob(job, unit, RELEASED)])
        told.append(len(ground.notes.told))
    assert told == [0, 0, 0, 0, 1, 1]
    assert ground.notes.told == [
        "Warning ResumeFailed Job/train: the job was not changed: out of order"
    ]


@pytest.mark.parametrize("tells", [True, False], ids=["told here", "told by the plan"])
async def test_a_job_that_may_not_be_changed_is_refused_with_the_answer(
    ground: Ground, tells: bool
) -> None:
    """What follows from it says the plan; where nothing does, the job is told here."""
    job, unit = ground.job(), ground.unit(phase=Phase.DEQUEUED)
    write = PatchJob(job, {"metadata": {}}) if tells else ReleaseJob(job, unit, RELEASED)
    ground.api.fail(Invalid("spec.template: field is immutable"))
    with pytest.raises(Refused) as caught:
        await ground.executor.execute([write])
    assert caught.value.write is type(write)
    assert caught.value.answer == "spec.template: field is immutable"
    text = "the job was not changed: spec.template: field is immutable"
    assert ground.notes.told == ([f"Warning ResumeFailed Job/train: {text}"] if tells else [])
    assert not ground.executor.awaits(job)


async def test_a_release_on_an_old_version_is_refused(ground: Ground) -> None:
    job, unit = ground.job(), ground.unit(phase=Phase.DEQUEUED)
    ground.api.edit(JOB, job.key, {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(Conflict):
        await ground.executor.execute([ReleaseJob(job, unit, RELEASED)])
    assert ground.executor.awaits(job)
    assert not ground.executor.awaits(ground.job_now())


@pytest.mark.looptime
async def test_a_refusal_that_nothing_newer_explains_is_tried_again(ground: Ground) -> None:
    job, unit = ground.job(), ground.unit(phase=Phase.DEQUEUED)
    ground.api.fail(Conflict("refused for no reason that a watch would show"))
    with pytest.raises(Conflict):
        await ground.executor.execute([ReleaseJob(job, unit, RELEASED)])
    assert ground.executor.awaits(job)
    await asyncio.sleep(STALE)
    assert not ground.executor.awaits(job)
    assert ground.job_now().suspended


# -- the rest


async def test_the_nearest_look_counts(ground: Ground) -> None:
    looks = [LookAgain(30), LookAgain(5), LookAgain(60)]
    assert await ground.executor.execute(looks) == Result(requeue_after=5)


async def test_events_are_told_of_jobs_and_units(ground: Ground) -> None:
    job, unit = job_view(), builders.unit()
    told = [TellJob(job, True, "Evicted", "out"), TellUnit(unit, False, "Deactivated", "off")]
    await ground.executor.execute(told)
    assert ground.notes.told == [
        "Warning Evicted Job/train: out",
        "Normal Deactivated QueueUnit/train: off",
    ]
    assert ground.api.writes == []


async def test_nothing_to_do_writes_nothing(ground: Ground) -> None:
    assert await ground.executor.execute([]) == Result()
    assert ground.api.asked == []


async def test_a_read_brings_the_unit_as_it_is_now(ground: Ground) -> None:
    unit = ground.unit()
    ground.api.edit(QUEUE_UNIT, unit.key, {"status": {"attempts": 7}})
    assert (await ground.executor.read(unit)).attempts == 7
    ground.api.remove(QUEUE_UNIT, unit.key)
    with pytest.raises(NotFound):
        await ground.executor.read(unit)


async def test_the_answer_to_a_write_is_no_news_once_the_watch_was_faster(ground: Ground) -> None:
    """The informer shows our write and somebody's later one before the answer comes."""
    unit = ground.unit()

    def show_later(change: object) -> None:
        ground.api.listeners.clear()
        ground.show_unit()
        ground.api.edit(QUEUE_UNIT, unit.key, {"spec": {"priority": 9}})
        ground.show_unit()

    ground.api.listeners.append(show_later)
    await ground.executor.patch_status(unit, {"status": {"message": "waiting"}})
    assert ground.book.units[unit.key] == ground.unit_now()
    assert ground.book.units[unit.key].priority == 9
