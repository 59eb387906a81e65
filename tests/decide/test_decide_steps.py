"""Plans carried out one after the other, as the shell does it, until nothing is left to do."""

from dataclasses import dataclass, field

import msgspec
from builders import NOW, as_bytes, at, granted, job_view, pod_set, situation
from msgspec.structs import replace

from kq.core import codec, keys, views
from kq.core.model import JobState, JobView, Phase, QueueUnit
from kq.core.patch import Patch
from kq.core.wire import grants_to_wire
from kq.decide.actions import (
    CreateUnit,
    DeleteUnit,
    HoldJob,
    PatchJob,
    PatchStatus,
    PatchUnit,
    ReleaseJob,
)
from kq.decide.plan import plan_job
from kq.decide.situation import PodFacts

NONE, LIVE = PodFacts(), PodFacts(live=1, running=1)


@dataclass
class Step:
    """One job and its unit on an API server; each write is seen at once."""

    job: JobView
    body: dict | None = None
    pods: PodFacts = NONE
    minute: float = 1
    done: list[str] = field(default_factory=list)

    @property
    def unit(self) -> QueueUnit | None:
        return views.unit(as_bytes(self.body)) if self.body else None

    def plan(self):
        now = situation(self.job, self.unit, now=at(self.minute), pods=self.pods)
        return plan_job(replace(now, pod_sets=self.job.pod_sets))

    def run(self, **job) -> list[str]:
        """What is done from here until nothing more is."""
        self.job = msgspec.structs.replace(self.job, **job)
        self.done = []
        for _ in range(10):
            actions = self.plan()
            names = [name for each in actions if (name := self.carry_out(each))]
            self.done += names
            if not names:
                return self.done
        raise AssertionError(f"no end: {self.done}")

    def carry_out(self, action) -> str | None:
        match action:
            case CreateUnit(body=body):
                meta = {
                    **body["metadata"],
                    "uid": "unit-1",
                    "creationTimestamp": "2026-03-01T12:00:00Z",
                }
                self.body = {**body, "metadata": meta}
            case DeleteUnit():
                self.body = None
            case PatchUnit(patch=patch) | PatchStatus(patch=patch):
                assert self.body is not None
                self.body = Patch(patch).apply(self.body)
            case HoldJob(annotations=annotations, labels=labels):
                released = {**self.job.annotations, **annotations}.get(keys.DEQUEUE_TIMESTAMP)
                self.job = msgspec.structs.replace(
                    self.job,
                    suspended=True,
                    labels={**self.job.labels, **labels},
                    released_at=codec.parse_time(released) if released else None,
                )
            case ReleaseJob(released_at=text):
                self.job = msgspec.structs.replace(
                    self.job, suspended=False, released_at=codec.parse_time(text)
                )
            case PatchJob(patch=patch):
                changed = Patch(patch["metadata"]["annotations"]).apply(self.job.annotations)
                self.job = msgspec.structs.replace(self.job, annotations=changed)
                if keys.DEQUEUE_TIMESTAMP in changed:
                    time = codec.parse_time(changed[keys.DEQUEUE_TIMESTAMP])
                    self.job = msgspec.structs.replace(self.job, released_at=time)
            case _:
                return None
        return type(action).__name__

    def grant(self) -> None:
        """What a cycle does."""
        assert self.unit is not None
        held = granted(self.unit, allocated=at(self.minute))
        grants = grants_to_wire(held.grants)
        status = {
            "phase": "Dequeued",
            "admissions": grants,
            "attempts": held.attempts,
            "lastAllocateTime": codec.format_time(at(self.minute)),
            "conditions": [
                {**each, "status": "False" if each["type"] == "Evicted" else "True"}
                for each in codec.conditions_to_wire(held.conditions)
            ],
        }
        self.body = Patch({"status": status}).apply(self.body or {})

    @property
    def phase(self) -> Phase | None:
        assert self.unit is not None
        return self.unit.phase


def running(**job) -> Step:
    """A job that was queued, granted, released, and runs."""
    step = Step(job_view(**job))
    assert step.run() == ["CreateUnit"]
    step.grant()
    assert step.run() == ["ReleaseJob"]
    step.pods, step.minute = LIVE, 2
    assert step.run(has_run=True, started=at(1), pods_active=1) == ["PatchStatus"]
    assert step.phase is Phase.RUNNING
    return step


def test_a_job_from_submit_to_end():
    """Spec 24.9: four writes, five with Running (the grant is the cycle's)."""
    step = running()
    step.pods = NONE
    assert step.run(state=JobState.SUCCEEDED, pods_active=0) == ["PatchStatus"]
    assert step.phase is Phase.SUCCEED
    assert step.run() == []


def test_a_deactivated_unit_is_evicted_step_by_step_and_starts_again():
    step = running()
    step.body = Patch({"spec": {"active": False}}).apply(step.body)
    assert step.run() == ["PatchStatus", "HoldJob"]
    assert step.phase is Phase.RUNNING
    step.pods = PodFacts(live=1, pending=1)
    assert step.run() == []
    step.pods = NONE
    assert step.run() == []
    assert step.run(pods_active=0, pods_terminating=1) == []
    assert step.run(pods_terminating=0) == ["PatchStatus"]
    assert step.phase is Phase.ENQUEUED
    assert step.unit.grants == ()
    assert step.run() == []
    step.body = Patch({"spec": {"active": True}}).apply(step.body)
    assert step.run() == []
    step.minute = 5
    step.grant()
    assert step.run() == ["ReleaseJob"]


def test_a_job_paused_by_its_owner_waits_until_it_is_told_to_go_on():
    """Case I4: the quota is free once the pods are gone, and kq does not start it by itself."""
    step = running(annotations={keys.ACTIVE: "true"})
    assert step.run(suspended=True) == ["PatchJob", "PatchUnit", "PatchStatus"]
    step.pods = NONE
    assert step.run(pods_active=0) == ["PatchStatus", "PatchJob"]
    assert (step.phase, step.unit.active) == (Phase.ENQUEUED, False)
    assert step.job.released_at is None
    assert step.unit.message.startswith("Paused because the job was suspended by someone else")
    assert step.run() == []
    assert step.run(annotations={keys.ACTIVE: "true"}) == ["PatchUnit"]
    assert step.unit.active
    step.minute = 5
    step.grant()
    assert step.run() == ["ReleaseJob"]


def test_a_paused_job_resumed_by_hand_is_held_again():
    """A pause is no way round the queue: the release of before counts no more."""
    step = running()
    step.run(suspended=True)
    step.pods = NONE
    step.run(pods_active=0)
    assert step.run(suspended=False, pods_active=1) == ["HoldJob"]
    assert step.job.suspended
    assert step.phase is Phase.ENQUEUED


def test_a_job_that_starts_itself_again_is_held_again_and_keeps_its_place():
    """Case I4."""
    step = Step(job_view())
    step.run()
    before = step.unit
    assert step.run(suspended=False) == ["HoldJob"]
    assert step.unit == before
    assert step.run() == []


def test_a_slipped_job_is_held_and_queued():
    step = Step(job_view(suspended=False, started=NOW), minute=0.5)
    assert step.run() == ["HoldJob", "CreateUnit"]
    assert step.phase is Phase.ENQUEUED


def test_a_running_job_whose_unit_was_lost_is_counted_and_not_touched():
    """Cases L1 and 9.15: released, running, no unit."""
    step = running()
    step.body = None
    assert step.run() == ["CreateUnit", "PatchStatus"]
    assert (step.phase, len(step.unit.grants)) == (Phase.RUNNING, 1)
    assert not step.job.suspended


def test_a_held_job_whose_unit_was_deleted_gets_another_at_its_old_place():
    """Spec 9.15."""
    step = Step(job_view())
    step.run()
    created = step.unit.annotations[keys.JOB_CREATION]
    step.body = None
    assert step.run() == ["CreateUnit"]
    assert step.unit.annotations[keys.JOB_CREATION] == created


def test_scaling_up_and_down_moves_spec_and_grants_in_one_step_each():
    """Spec 9.17, case E2."""
    step = running(pod_sets=(pod_set(count=2, cpu=1),))
    for count in (5, 1):
        assert step.run(pod_sets=(pod_set(count=count, cpu=1),)) == ["PatchUnit", "PatchStatus"]
        assert [each.replicas for each in step.unit.grants] == [count]
        assert step.phase is Phase.RUNNING
    assert step.run() == []


def test_a_waiting_job_that_changes_changes_its_unit():
    step = Step(job_view())
    step.run()
    step.job = msgspec.structs.replace(step.job, labels={"team": "x"})
    assert step.run(pod_sets=(pod_set(count=3, cpu=2),)) == ["PatchUnit"]
    assert step.unit.labels["team"] == "x"
    assert [each.count for each in step.unit.pod_sets] == [3]
    assert step.run() == []


def test_deactivating_a_unit_before_its_job_is_released_takes_its_quota_back():
    step = Step(job_view())
    step.run()
    step.grant()
    step.body = Patch({"spec": {"active": False}}).apply(step.body)
    assert step.run() == ["PatchStatus"]
    assert (step.phase, step.unit.grants, step.job.suspended) == (Phase.ENQUEUED, (), True)
