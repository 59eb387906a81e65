"""The plan for one job is total: any job, any unit, any pods."""

from builders import (
    NOW,
    at,
    condition,
    job_view,
    pod_set,
    situation,
    unit,
)
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kq.core import keys
from kq.core.model import JobState, Owner, Phase
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
from kq.decide.situation import PodFacts, Rules

times = st.sampled_from((None, at(-9), NOW, at(0.99), at(1), at(5)))
jobs = st.builds(
    job_view,
    suspended=st.booleans(),
    deleting=st.booleans(),
    state=st.sampled_from(JobState),
    has_run=st.booleans(),
    started=times,
    released_at=times,
    pods_active=st.integers(0, 2),
    pods_terminating=st.integers(0, 1),
    annotations=st.sampled_from(({}, {keys.ACTIVE: "true"}, {keys.ACTIVE: "FALSE"})),
    pod_sets=st.sampled_from(
        ((), (pod_set(cpu=1),), (pod_set(count=3, cpu=2),), (pod_set("a"), pod_set("b", 2, cpu=1)))
    ),
    owners=st.sampled_from(((), (Owner("v1", "X", "x", "u", controller=True),))),
)
units = st.builds(
    unit,
    phase=st.none() | st.sampled_from(Phase),
    active=st.booleans(),
    deleting=st.booleans(),
    replicas=st.integers(0, 3),
    allocated=times,
    updated=times,
    message=st.sampled_from(("", "Succeeded", "Failed")),
    conditions=st.sampled_from(
        (
            (),
            (condition("Evicted", True, "Deactivated"),),
            (condition("Evicted", True, "Suspended"),),
            (condition("Evicted", True, "Preempted"),),
            (condition("Finished", True, "Succeeded"),),
        )
    ),
)
pods = st.builds(
    PodFacts,
    live=st.integers(0, 2),
    running=st.integers(0, 2),
    pending=st.integers(0, 2),
    stuck=st.booleans(),
)


situations = st.builds(
    lambda now, taken: replace(now, name_taken_by=None if now.unit else taken),
    st.builds(
        situation,
        jobs,
        st.none() | units,
        pods=pods,
        rules=st.builds(
            Rules,
            slipped=st.sampled_from(("suspend", "count", "ignore")),
            finished_ttl_seconds=st.sampled_from((0, 30, 600)),
        ),
        first_run=times,
        may_hold_at=times,
        refused=st.sampled_from(
            ({}, {ReleaseJob: "no"}, {HoldJob: "no"}, dict.fromkeys((PatchJob, PatchUnit), "no"))
        ),
    ),
    st.sampled_from((None, unit(owner_uid="other"))),
)


@given(situations)
def test_the_plan_knows_every_situation(now):
    for action in plan_job(now):
        assert is_right(action, now)
        # What stops or starts a job has a plan without it; of one that is reserved nobody asks it.
        is_reserved = now.unit is not None and now.unit.phase is Phase.RESERVED
        assert type(action) not in {ReleaseJob, HoldJob} & now.refused.keys() or is_reserved
    if now.unit is not None and (now.unit.deleting or now.unit.phase is None):
        assert plan_job(now) == []


def is_right(action, now):
    """What must hold of each action, whatever the situation (spec 24.2, 24.3, 9.4)."""
    match action:
        case LookAgain():
            return 0 < action.seconds <= 600
        case ReleaseJob():
            idle = not now.pods.live and not now.pods.stuck
            return now.unit is not None and now.unit.holds_quota and now.job.suspended and idle
        case HoldJob():
            return not now.job.suspended
        case PatchStatus(patch=patch):
            return keeps_quota(patch["status"]) or drops_it_rightly(patch["status"], now)
        case CreateUnit():
            return now.unit is None
        case _:
            return isinstance(action, (DeleteUnit, PatchUnit, PatchJob, TellJob, TellUnit))


def keeps_quota(status):
    return status.get("phase") not in ("Enqueued", "TimeoutBackoff", "Succeed", "Failed")


def drops_it_rightly(status, now):
    """With the phase, and not while pods of a job live that goes on."""
    return status["admissions"] == [] and (not now.pods.live or now.job.finished)
