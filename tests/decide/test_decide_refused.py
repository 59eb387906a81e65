"""Writes that the API server refuses for what they say: nothing is held, nor hangs, by them."""

from datetime import timedelta

import msgspec
import pytest
from builders import at, condition, job_view, running_job, situation, unit
from plans import DEQUEUED, LIVE, RUNNING, kinds, one, status

from kq.core import checks, keys
from kq.core.kinds import ResourceKind
from kq.core.model import Grant, Phase, Requeue
from kq.decide.actions import (
    AddToPods,
    CreateUnit,
    HoldJob,
    PatchJob,
    PatchStatus,
    PatchUnit,
    ReleaseJob,
    ShowWaiting,
    TakeFromPods,
    TellJob,
    TellUnit,
)
from kq.decide.causes import is_leaving
from kq.decide.ignored import is_given_up, is_in_vain
from kq.decide.situation import Patience, Rules, Taken

ANSWER = 'Job.batch "train" is invalid: spec.template.spec.tolerations[0]: bad'
WANTS = checks.answers(
    [{"name": "zone", "state": "Ready", "podSetUpdates": [{"name": "main", "labels": {"a": "b"}}]}]
)
REMEDY = "or the rule that refuses it; it is tried again by itself"
NOT_STARTED = (
    f"the API server refused to let job team-a/train start: {ANSWER}; correct the job, {REMEDY}"
)
LET_RUN = (
    f"the API server refused to suspend job team-a/train: {ANSWER}; it runs on, and counts; "
    "correct the rule that refuses it"
)
NOT_HELD = f"{LET_RUN}; it is tried again by itself"


def refused(*writes):
    return {"refused": dict.fromkeys(writes, ANSWER)}


# -- what cannot start


def test_a_release_that_is_refused_gives_the_quota_back_and_says_what_to_do():
    """Spec 9.5 h, 9.6: one patch, as no pod is there."""
    now = situation(job_view(), unit(**DEQUEUED), **refused(ReleaseJob))
    assert kinds(now) == [PatchStatus, TellUnit, TellJob]
    found = status(now)
    assert (found["phase"], found["admissions"], found["message"]) == (
        "TimeoutBackoff",
        [],
        NOT_STARTED,
    )
    assert found["requeueState"]["count"] == 1
    by_type = {each["type"]: (each["status"], each["reason"]) for each in found["conditions"]}
    assert by_type["Evicted"] == ("True", "ResumeFailed")
    assert by_type["QuotaReserved"] == ("False", "BackOff")
    told = one(now, TellJob)
    assert (told.warning, told.reason, told.message) == (True, "ResumeFailed", NOT_STARTED)
    assert one(now, TellUnit).message == NOT_STARTED


def test_the_checks_that_add_to_its_pods_are_named():
    now = situation(job_view(), unit(checks=WANTS, **DEQUEUED), **refused(ReleaseJob))
    assert status(now)["message"] == (
        f"the API server refused to let job team-a/train start: {ANSWER}; "
        f"correct what admission checks zone add to its pods, {REMEDY}"
    )


def test_each_time_it_waits_longer():
    again = unit(requeue=Requeue(3), **DEQUEUED)
    found = status(situation(job_view(), again, **refused(ReleaseJob)))
    assert found["requeueState"]["count"] == 4
    assert found["requeueState"]["requeueAt"] == "2026-03-01T12:09:00Z"


def test_once_too_often_it_waits_for_somebody():
    """Spec 9.7, in its steps: marked, made inactive, given back."""
    rules = Rules(patience={"Job": Patience(base=timedelta(minutes=1), limit=1)})
    held = unit(**DEQUEUED)
    now = situation(job_view(), held, rules=rules, **refused(ReleaseJob))
    (mark,) = status(now)["conditions"]
    assert (mark["reason"], mark["message"]) == ("ResumeFailed", f"deactivated: {NOT_STARTED}")
    marked = (condition("Evicted", True, "ResumeFailed", mark["message"]),)
    held = unit(conditions=marked, **DEQUEUED)
    now = situation(job_view(), held, rules=rules, **refused(ReleaseJob))
    assert one(now, PatchUnit).patch == {"spec": {"active": False}}
    now = situation(job_view(), unit(conditions=marked, active=False, **DEQUEUED), rules=rules)
    assert status(now)["phase"] == "TimeoutBackoff"
    assert status(now)["message"] == f"deactivated: {NOT_STARTED}"
    assert one(now, TellUnit).reason == "RequeueLimitExceeded"


SPARK = ResourceKind("sparkoperator.k8s.io", "v1beta2", "SparkApplication", "sparkapplications")


def left_over(**fields):
    text = checks.remembered(checks.Added(1, {"main": {"labels": {"a": "b"}}}))
    return job_view(annotations={keys.POD_SET_UPDATES: text}, **fields)


@pytest.mark.parametrize(
    ("job", "held", "write"),
    [
        pytest.param(
            job_view(kind=SPARK),
            unit(checks=WANTS, **DEQUEUED),
            AddToPods,
            id="what is added first",
        ),
        pytest.param(
            left_over(), unit(attempts=2, **DEQUEUED), TakeFromPods, id="what is to be taken out"
        ),
        pytest.param(
            job_view(labels={"a": "b"}), unit(**DEQUEUED), PatchUnit, id="what its unit is to say"
        ),
    ],
)
def test_whatever_has_to_be_written_before_it_starts_gives_the_quota_back(job, held, write):
    found = status(situation(job, held, **refused(write)))
    assert (found["phase"], found["admissions"]) == ("TimeoutBackoff", [])


def test_it_gives_back_for_nothing_that_it_needs_no_more():
    held = unit(**DEQUEUED)
    for write in (TakeFromPods, PatchUnit, ShowWaiting, PatchJob, HoldJob):
        assert kinds(situation(job_view(), held, **refused(write))) == [ReleaseJob, TellJob]


def test_a_weightier_cause_decides():
    held = unit(active=False, **DEQUEUED)
    assert one(situation(job_view(), held, **refused(ReleaseJob)), TellUnit).reason == "Deactivated"


def test_a_unit_that_waits_goes_on_whatever_is_refused():
    """It leaves its back-off though neither its conditions nor its pods can be changed."""
    over = unit(phase=Phase.BACKOFF, requeue=Requeue(1, at(-1)))
    for job in (left_over(queuing=False), left_over(labels={"a": "b"})):
        now = situation(job, over, **refused(ShowWaiting, TakeFromPods, PatchUnit))
        assert status(now)["phase"] == "Enqueued"


# -- what cannot be stopped


def evicted(reason, **fields):
    mark = condition("Evicted", True, reason, "x")
    return unit(conditions=(mark,), **RUNNING | fields)


def test_a_suspension_that_is_refused_is_told_once_while_the_job_counts_on():
    now = situation(running_job(), evicted("Deactivated", active=False), pods=LIVE)
    assert kinds(now) == [HoldJob]
    now = msgspec.structs.replace(now, **refused(HoldJob))
    assert kinds(now) == [PatchStatus, TellJob]
    assert (status(now)["message"], "admissions" in status(now)) == (NOT_HELD, False)
    told = one(now, TellJob)
    assert (told.warning, told.reason, told.message) == (True, "NotEvictable", NOT_HELD)
    told_already = evicted("Deactivated", active=False, message=NOT_HELD)
    assert kinds(situation(running_job(), told_already, pods=LIVE, **refused(HoldJob))) == []
    assert kinds(situation(running_job(), told_already, pods=LIVE)) == [HoldJob]


def test_a_victim_that_cannot_be_suspended_is_none():
    """Spec 13.15: whoever waits for it chooses anew."""
    victim = evicted("Preempted", grants=(Grant("main", 1, reclaim=1),))
    taken = Taken(reason="Preempted", text="x", told="x")
    now = situation(running_job(), victim, pods=LIVE, taken=taken, **refused(HoldJob))
    (mark,) = status(now)["conditions"]
    assert (mark["status"], mark["reason"], mark["message"]) == ("False", "NotEvictable", LET_RUN)
    assert "reclaimState" not in status(now)["admissions"][0]
    assert status(now)["message"] == LET_RUN
    spared = unit(conditions=(condition("Evicted", False, "NotEvictable", LET_RUN),), **RUNNING)
    assert is_given_up(spared)


def test_nobody_waits_for_what_a_drained_job_holds_that_cannot_be_suspended():
    assert is_leaving(evicted("QueueStopped"))
    held = evicted("QueueStopped", message=NOT_HELD)
    assert is_in_vain(held)
    assert not is_leaving(held)


def test_a_job_that_slipped_through_and_cannot_be_held_is_counted():
    job = running_job(released_at=None)
    assert HoldJob in kinds(situation(job, None, pods=LIVE))
    assert CreateUnit in kinds(situation(job, None, pods=LIVE, **refused(HoldJob)))
    now = situation(job, unit(), pods=LIVE, quota="team-a", **refused(HoldJob))
    found = status(now)
    assert found["phase"] == "Running"
    assert found["message"] == (
        f"already running when found, counted against quota team-a; {LET_RUN}"
    )


def test_it_leaves_its_back_off_first():
    late = unit(phase=Phase.BACKOFF, requeue=Requeue(1, at(-1)))
    job = running_job(released_at=None)
    assert HoldJob in kinds(situation(job, late, pods=LIVE))
    found = status(situation(job, late, pods=LIVE, **refused(HoldJob)))
    assert found["phase"] == "Enqueued"


def test_a_pause_is_noted_though_the_jobs_annotation_cannot_be_removed():
    """Spec 5.14; the unit's copy stays, as else what is left would count as set anew."""
    left = {keys.ACTIVE: "true"}
    job = running_job(annotations=left, suspended=True, released_at=at(0.5))
    held = unit(annotations={**unit().annotations, **left}, **RUNNING)
    patch = one(situation(job, held, **refused(PatchJob)), PatchUnit).patch
    assert patch == {"spec": {"active": False}}
