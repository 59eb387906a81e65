"""One job at a time: what is known is gathered, planned and carried out (spec 5.13, 9.14, 24.9)."""

import asyncio
from datetime import timedelta
from typing import Any

import builders
import msgspec
import pytest
from builders import stamp
from shells import Ground

from kq.core import keys
from kq.core.kinds import JOB, QUEUE_UNIT
from kq.core.model import Chore, NamespaceView, Phase, Requeue
from kq.decide.situation import Patience, Rules
from kq.kube.errors import Conflict, ServerError
from kq.reconcile.controller import Request, Result
from kq.reconcile.execute import STALE
from kq.reconcile.family import Family
from kq.reconcile.gather import Gatherer
from kq.reconcile.grants import GrantsReconciler
from kq.reconcile.intake import IntakeReconciler
from kq.reconcile.job import JobReconciler
from kq.reconcile.owners import Owners
from kq.reconcile.strikes import Refusals, Strikes

TRAIN = Request("team-a", "train", "Job")
LABELLED = {"labels": {keys.QUOTA_LABEL: "team-a"}}
FIRST_RUN = builders.at(-60)


class Jobs(Ground):
    """A quota, its Queue, and the reconciler with all that it asks."""

    def __init__(self, **rules: Any) -> None:
        super().__init__(builders.quota(cpu=5))
        self.queue()
        view = NamespaceView(name="team-a", resource_version="1")
        self.watches.namespaces.show(view)  # type: ignore[attr-defined]
        self.book.saw(view)
        gatherer = Gatherer(
            watches=self.watches,
            hub=self.hub,
            owners=Owners(self.api),  # type: ignore[arg-type]
            is_excluded=lambda namespace: False,
            holds_unmatched=False,
            bypass_enabled=False,
            suffixes=True,
            rules=Rules(**rules),
            first_runs={"Job": FIRST_RUN},
        )
        self.pods_reached = 1_000_000
        self._grants = GrantsReconciler(
            hub=self.hub,
            executor=self.executor,
            teller=self.teller,
            metrics=self.metrics,
            clock=self.clock,
        )
        strikes, refusals = Strikes(), Refusals()
        self.reconciler = JobReconciler(
            family=Family(self.watches),
            hub=self.hub,
            executor=self.executor,
            gatherer=gatherer,
            strikes=strikes,
            refusals=refusals,
            metrics=self.metrics,
            clock=self.clock,
            monotonic=self.clock.monotonic,
            pods_reached=lambda: self.pods_reached,
            keeps_time=bool(rules.get("finished_ttl_seconds")),
        )

        self.intake = IntakeReconciler(
            family=Family(self.watches),
            hub=self.hub,
            executor=self.executor,
            gatherer=gatherer,
            strikes=strikes,
            refusals=refusals,
            metrics=self.metrics,
            clock=self.clock,
        )

    async def granted(self) -> None:
        """The job has its unit, and that its grant."""
        self.job(metadata=LABELLED)
        await self.look()
        assert len(self.grant()) == 1
        await self.write_grant()

    async def write_grant(self) -> None:
        """What the cycle decided."""
        await self._grants.reconcile(TRAIN)

    def grants_are_taken_back(self) -> None:
        """Somebody deactivates the unit."""
        self.api.edit(QUEUE_UNIT, "team-a/train", {"spec": {"active": False}})
        self.show_unit()

    async def look(self) -> Result:
        """The job reconciler, and the intake where that one hands the job over."""
        result = await self.reconciler.reconcile(TRAIN)
        if not len(self.queues.intake):
            return result
        request = await self.queues.intake.get()
        try:
            return await self.intake.reconcile(request)
        finally:
            self.queues.intake.done(request)

    def kinds(self) -> list[str]:
        return [each.short for each in self.api.writes]

    def drop_job(self) -> None:
        view = self.job_now()
        self.api.remove(JOB, view.key)
        self.watches.jobs["Job"].drop(view)  # type: ignore[attr-defined]
        self.book.lost(view)

    def drop_unit(self) -> None:
        """Its unit goes, and the watch shows it."""
        unit = self.unit_now()
        self.api.remove(QUEUE_UNIT, unit.key)
        self.book.lost(unit)

    def slipped(self) -> float | None:
        return self.registry.get_sample_value("kq_slipped_jobs_total", {"kind": "Job"})


@pytest.fixture
def ground() -> Jobs:
    return Jobs()


COMPLETE = {"type": "Complete", "status": "True"}
CREATE = "create queueunits team-a/train"
PATCH_JOB = "patch jobs team-a/train"
STATUS = "patch queueunits/status team-a/train"


# -- a job's way


async def test_a_unit_that_somebody_deleted_is_made_again(ground: Jobs) -> None:
    ground.job(metadata=LABELLED)
    await ground.look()
    ground.drop_unit()
    await ground.look()
    assert ground.kinds() == [CREATE, CREATE]


async def test_no_unit_is_made_again_for_a_job_that_only_the_watch_still_shows(
    ground: Jobs,
) -> None:
    job = ground.job(metadata=LABELLED)
    await ground.look()
    ground.api.remove(JOB, job.key)
    ground.drop_unit()
    assert await ground.look() == Result(requeue_after=STALE)
    assert ground.kinds() == [CREATE]


async def test_a_held_job_gets_its_unit_once(ground: Jobs) -> None:
    ground.job(metadata=LABELLED)
    for _ in range(3):
        assert await ground.look() == Result()
    assert ground.kinds() == [CREATE]
    made = ground.unit_now()
    assert (made.queue, made.labels, made.job_uid) == ("team-a", LABELLED["labels"], "job-train")


async def test_a_lock_that_a_waiting_job_holds_is_told_once(ground: Jobs) -> None:
    ground.job(metadata=LABELLED)
    await ground.look()
    holds = msgspec.structs.replace(ground.job_now(), chores=(Chore.TELL_LOCK,))
    ground.watches.jobs["Job"].show(holds)  # type: ignore[attr-defined]
    for _ in range(3):
        await ground.look()
    text = "while it waits it holds a lock of its WorkflowTemplate"
    assert ground.notes.told == [f"Warning HoldsLock Job/train: {text}"]


async def test_a_state_that_kq_does_not_know_is_counted_at_its_first_sight(ground: Jobs) -> None:
    """Spec 8.6."""
    ground.job(metadata=LABELLED)
    await ground.look()
    for state in ("Dreaming", "Dreaming", "", "Dreaming", "Musing"):
        view = msgspec.structs.replace(ground.job_now(), unknown_state=state)
        ground.watches.jobs["Job"].show(view)  # type: ignore[attr-defined]
        await ground.look()
    found = ground.registry.get_sample_value("kq_unknown_states_total", {"kind": "Job"})
    assert found == 3


async def test_from_the_grant_on_the_job_is_released_once(ground: Jobs) -> None:
    await ground.granted()
    for _ in range(3):
        await ground.look()
    assert ground.kinds() == [CREATE, STATUS, PATCH_JOB]
    assert not ground.job_now().suspended


async def test_a_whole_life_is_five_writes(ground: Jobs) -> None:
    """Unit, grant (of the grants reconciler), release, Running, end (spec 24.9)."""
    await ground.granted()
    await ground.look()
    ground.book.saw(builders.pod())
    ground.show_job()
    assert await ground.look() == Result(requeue_after=1)
    ground.clock.move(2)
    await ground.look()
    ground.api.edit(JOB, "team-a/train", {"status": {"conditions": [COMPLETE]}})
    ground.show_job()
    ground.book.lost(builders.pod())
    for _ in range(3):
        await ground.look()
    assert ground.kinds() == [CREATE, STATUS, PATCH_JOB, STATUS, STATUS]
    assert ground.status()["phase"] == "Succeed"
    assert ground.notes.told == [
        "Normal Scheduled QueueUnit/train: dequeue success",
        "Normal Resume Job/train: Job is resumed by koord-queue",
    ]


async def test_while_a_grant_is_to_be_written_the_job_waits(ground: Jobs) -> None:
    ground.job(metadata=LABELLED)
    ground.unit(told=None)
    assert len(ground.grant()) == 1
    assert await ground.look() == Result()
    assert ground.api.writes == []


async def test_no_second_write_is_decided_on_an_old_view(ground: Jobs) -> None:
    await ground.granted()
    await ground.look()
    ground.grants_are_taken_back()
    assert await ground.look() == Result()
    assert ground.kinds()[-1] == PATCH_JOB
    ground.show_job()
    await ground.look()
    assert ground.kinds()[-1] == STATUS


@pytest.mark.looptime
async def test_a_look_makes_the_status_of_its_queue_due_a_second_later(ground: Jobs) -> None:
    ground.job(metadata=LABELLED)
    ground.unit()
    await ground.look()
    await asyncio.sleep(0.9)
    assert "status" not in await ground.due()
    await asyncio.sleep(0.2)
    assert (await ground.due())["status"] == ["team-a"]


async def test_errors_are_raised_to_be_tried_again(ground: Jobs) -> None:
    ground.job(metadata=LABELLED)
    ground.api.fail(ServerError("not now", code=503))
    with pytest.raises(ServerError):
        await ground.look()
    await ground.look()
    assert ground.kinds() == [CREATE, CREATE]


async def test_a_unit_that_was_made_though_no_answer_came_is_found_by_its_watch(
    ground: Jobs,
) -> None:
    ground.job(metadata=LABELLED)
    ground.api.fail(ServerError("the connection broke", code=504), applied=True)
    with pytest.raises(ServerError):
        await ground.look()
    ground.show_unit()
    assert await ground.look() == Result()
    assert ground.kinds() == [CREATE]


async def test_a_conflict_is_tried_again_on_the_newer_view(ground: Jobs) -> None:
    ground.job(metadata=LABELLED, suspend=False, status={"startTime": stamp(0)})
    ground.api.edit(JOB, "team-a/train", {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(Conflict):
        await ground.look()
    ground.show_job()
    await ground.look()
    assert ground.job_now().suspended


async def test_a_job_that_is_not_ours_is_left_alone(ground: Jobs) -> None:
    ground.job()
    assert await ground.look() == Result()
    assert ground.api.writes == []


# -- jobs that start themselves (spec 5.12, 5.13)


def start_by_hand(ground: Jobs) -> None:
    """Somebody un-suspends the job, and the watch shows it."""
    ground.api.edit(JOB, "team-a/train", {"spec": {"suspend": False}})
    ground.show_job()


async def test_a_job_that_slipped_through_is_suspended_told_and_counted(ground: Jobs) -> None:
    ground.job(metadata=LABELLED, suspend=False, status={"startTime": stamp(0)})
    await ground.look()
    assert ground.job_now().suspended
    cause = "started without a grant of quota team-a"
    assert ground.notes.told == [
        f"Normal Suspended Job/train: {cause}",
        f"Warning SlippedThrough Job/train: {cause}: suspended and queued",
    ]
    assert ground.slipped() == 1.0
    ground.show_job()
    await ground.look()
    assert ground.kinds() == [PATCH_JOB, CREATE]


async def test_it_is_suspended_again_at_ever_longer_distances(ground: Jobs) -> None:
    ground.job(metadata=LABELLED, suspend=False, status={"startTime": stamp(0)})
    await ground.look()
    ground.show_job()
    await ground.look()
    for seconds in (1, 2, 4, 8, 16, 32, 60, 60):
        start_by_hand(ground)
        result = await ground.look()
        assert result == Result(requeue_after=seconds)
        assert not ground.job_now().suspended
        ground.clock.move(seconds)
        await ground.look()
        assert ground.job_now().suspended
        ground.show_job()
        await ground.look()


async def test_a_suspension_that_failed_is_not_told_and_not_counted(ground: Jobs) -> None:
    ground.job(metadata=LABELLED, suspend=False, status={"startTime": stamp(0)})
    ground.api.fail(ServerError("not now", code=503))
    with pytest.raises(ServerError):
        await ground.look()
    assert ground.notes.told == []
    assert not ground.slipped()


async def test_a_suspension_that_failed_is_tried_again_at_once(ground: Jobs) -> None:
    """No strike for what did not happen."""
    ground.job(metadata=LABELLED, suspend=False, status={"startTime": stamp(0)})
    ground.api.fail(ServerError("not now", code=503))
    with pytest.raises(ServerError):
        await ground.look()
    assert await ground.look() == Result()
    assert ground.job_now().suspended


# -- times (spec 9.6, 9.12, 9.13)


PATIENT = {
    "Job": Patience(
        start=timedelta(minutes=5), base=timedelta(minutes=1), longest=timedelta(hours=1)
    )
}


def evictions(ground: Jobs, reason: str) -> float | None:
    labels = {"queue": "team-a", "reason": reason}
    return ground.registry.get_sample_value("kq_evictions_total", labels)


async def test_a_job_that_never_starts_goes_into_back_off_and_gets_another_try() -> None:
    """Rows h and o."""
    ground = Jobs(patience=PATIENT)
    await ground.granted()
    assert await ground.look() == Result(requeue_after=300)
    ground.show_job()
    ground.clock.move(299)
    assert await ground.look() == Result(requeue_after=1)
    ground.clock.move(1)
    await ground.look()
    await ground.look()
    assert ground.job_now().suspended
    ground.show_job()
    await ground.look()
    status = ground.status()
    assert (status["phase"], status["admissions"]) == ("TimeoutBackoff", [])
    assert status["requeueState"] == {"count": 1, "requeueAt": stamp(6)}
    assert evictions(ground, "PodsReadyTimeout") == 1.0
    assert await ground.look() == Result(requeue_after=60)
    ground.clock.move(60)
    await ground.look()
    assert ground.status()["phase"] == "Enqueued"
    ground.show_unit()
    assert len(ground.grant()) == 1


async def test_a_back_off_is_kept_by_another_manager() -> None:
    """Case G2: it is read of the unit."""
    ground = Jobs(patience=PATIENT)
    ground.job(metadata=LABELLED)
    ground.unit(phase=Phase.BACKOFF, raw_phase="TimeoutBackoff", requeue=Requeue(2, builders.at(1)))
    await ground.look()
    ground.clock.move(30)
    assert await ground.look() == Result(requeue_after=30)


async def test_a_job_whose_time_is_over_waits_for_somebody(ground: Jobs) -> None:
    """Row m."""
    limited = {keys.MAX_EXEC_TIME: "90"}
    ground.job(metadata=LABELLED | {"annotations": limited})
    await ground.look()
    assert ground.unit_now().longest_seconds == 90
    ground.grant()
    await ground.write_grant()
    assert await ground.look() == Result(requeue_after=90)
    ground.show_job()
    ground.clock.move(90)
    await ground.look()
    await ground.look()
    ground.show_job()
    await ground.look()
    await ground.look()
    unit = ground.unit_now()
    assert (unit.phase, unit.active, unit.past_seconds) == (Phase.ENQUEUED, False, 90)
    assert unit.message == "Evicted because the maximum execution time was exceeded"
    assert evictions(ground, "MaximumExecutionTimeExceeded") == 1.0


# -- victims (spec 13.5, 13.15)


async def running_victim() -> Jobs:
    """A job that runs, and one that goes first and wants its place."""
    ground = Jobs()
    ground.queue(metadata={"annotations": {keys.ENABLE_PREEMPTION[0]: "true"}})
    await ground.granted()
    await ground.look()
    ground.show_job()
    ground.book.saw(builders.pod())
    ground.clock.move(2)
    await ground.look()
    ground.show_unit()
    ground.book.saw(builders.job_view("high"))
    ground.book.saw(builders.unit("high", cpu=5, priority=5))
    assert ground.grant() == []
    await ground.due()
    ground.notes.take()
    return ground


async def test_a_victim_is_marked_suspended_and_enqueued() -> None:
    ground = await running_victim()
    await ground.look()
    text = "Preempted by team-a/high for cpu of quota team-a"
    assert ground.notes.take() == [
        f"Warning Preempted QueueUnit/train: {text}",
        f"Warning Preempted Job/train: {text}",
    ]
    assert evictions(ground, "Preempted") == 1.0
    await ground.look()
    assert ground.job_now().suspended
    ground.show_job()
    ground.book.lost(builders.pod())
    await ground.look()
    status = ground.status()
    assert (status["phase"], status["admissions"]) == ("Enqueued", [])
    assert status["message"] == "Enqueued after preempted by team-a/high for quota team-a"
    assert [each.name for each in ground.grant()] == ["high"]


async def test_a_victim_whose_operator_ignores_it_goes_on() -> None:
    ground = await running_victim()
    await ground.look()
    await ground.look()
    ground.show_job()
    assert await ground.look() == Result(requeue_after=60)
    ground.clock.move(60)
    await ground.look()
    assert not ground.job_now().suspended
    mark = ground.unit_now().condition("Evicted")
    assert mark is not None
    assert (mark.status, mark.reason) == (False, "NotEvictable")
    ground.show_job()
    ground.grant()
    assert ground.book.takings.of("team-a/train") is None


async def test_who_is_deleted_takes_nothing() -> None:
    """Case F4: an eviction that has not begun does not begin."""
    ground = await running_victim()
    ground.book.lost(builders.unit("high", cpu=5, priority=5))
    ground.grant()
    await ground.look()
    assert ground.notes.take() == []
    assert ground.unit_now().condition("Evicted") is None


# -- units without their job (spec 9.14)


def orphan(ground: Jobs, **fields: Any) -> None:
    ground.job(metadata=LABELLED)
    ground.unit(**fields)
    ground.drop_job()
    ground.api.asked.clear()


async def test_garbage_collection_goes_first(ground: Jobs) -> None:
    orphan(ground)
    assert await ground.look() == Result(requeue_after=5.0)
    ground.clock.move(4)
    assert await ground.look() == Result(requeue_after=1.0)
    assert ground.api.writes == []
    ground.book.lost(ground.unit_now())
    ground.clock.move(1)
    assert await ground.look() == Result()
    assert ground.api.writes == []


async def test_a_unit_left_behind_ends_and_goes_after_a_minute(ground: Jobs) -> None:
    orphan(ground, phase=Phase.RUNNING)
    await ground.look()
    ground.clock.move(5)
    assert await ground.look() == Result(requeue_after=60)
    assert ground.status()["phase"] == "Failed"
    assert ground.status()["admissions"] == []
    ended = ground.unit_now().condition("Finished")
    assert ended is not None
    assert (ended.reason, ended.message) == ("OwnerNotFound", "job team-a/train does not exist")
    ground.clock.move(60)
    assert await ground.look() == Result()
    assert ground.kinds() == [STATUS, "delete queueunits team-a/train"]


async def test_its_live_pods_keep_the_quota(ground: Jobs) -> None:
    orphan(ground, phase=Phase.RUNNING)
    ground.book.saw(builders.pod())
    await ground.look()
    ground.clock.move(5)
    assert await ground.look() == Result()
    assert ground.api.writes == []
    ground.book.lost(builders.pod())
    assert await ground.look() == Result(requeue_after=60)


async def test_a_unit_made_by_hand_stays_without_its_job(ground: Jobs) -> None:
    ground.book.saw(ground.stored(builders.unit_by_hand()))
    ground.clock.move(1000)
    assert await ground.look() == Result()
    assert ground.api.writes == []


async def test_a_unit_on_its_way_out_is_left_alone(ground: Jobs) -> None:
    orphan(ground)
    deleting = {"metadata": {"deletionTimestamp": stamp(0)}}
    ground.api.edit(QUEUE_UNIT, "team-a/train", deleting)
    ground.show_unit()
    assert await ground.look() == Result()


async def test_a_job_that_comes_back_gives_its_unit_a_new_grace(ground: Jobs) -> None:
    """A kind that was not served for a moment: its jobs are gone, and are there again."""
    orphan(ground)
    await ground.look()
    ground.clock.move(3)
    ground.job(metadata=LABELLED)
    await ground.look()
    ground.drop_job()
    ground.clock.move(3600)
    assert await ground.look() == Result(requeue_after=5.0)
    assert ground.unit_now().phase is Phase.ENQUEUED


async def test_another_job_of_the_name_gets_its_own_unit(ground: Jobs) -> None:
    orphan(ground)
    ground.job(metadata=LABELLED | {"uid": "job-again"})
    await ground.look()
    assert ground.kinds() == ["delete queueunits team-a/train"]
    ground.book.lost(builders.unit())
    await ground.look()
    assert ground.unit_now().job_uid == "job-again"
