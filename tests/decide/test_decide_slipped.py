"""Jobs that run without a grant: held again, counted, or left alone (spec 5.12, 5.13)."""

import pytest
from builders import (
    at,
    condition,
    job_view,
    pod_set,
    running_job,
    situation,
    unit,
)
from plans import LIVE, PENDING, event, kinds, one, status

from kq.core import keys
from kq.core.model import Phase
from kq.decide.actions import (
    HoldJob,
    LookAgain,
    PatchStatus,
    TellJob,
)
from kq.decide.plan import plan_job
from kq.decide.situation import PodFacts, Rules


def test_a_slipped_job_is_held_as_by_the_webhook():
    held = one(situation(running_job(released_at=None)), HoldJob)
    assert held.annotations == {keys.DEQUEUE_TIMESTAMP: "", keys.HAS_ENQUEUED: "true"}
    assert held.labels == {keys.QUOTA_LABEL: "team-a"}
    assert held.cause == "started without a grant of quota team-a"
    assert event(situation(running_job(released_at=None))) == (
        True,
        "SlippedThrough",
        "started without a grant of quota team-a: suspended and queued",
    )


@pytest.mark.parametrize("label", keys.QUOTA_LABELS)
def test_a_users_own_label_stays_the_only_one(label):
    held = one(situation(running_job(released_at=None, labels={label: "x"})), HoldJob)
    assert held.labels == {}


@pytest.mark.parametrize(
    ("job", "fields", "expected"),
    [
        pytest.param(job_view(), {}, [], id="held"),
        pytest.param(job_view(suspended=False), {}, [HoldJob, TellJob], id="un-suspended"),
        pytest.param(
            job_view(suspended=False),
            {"now": at(99)},
            [HoldJob, TellJob],
            id="also after the grace: it was held before (case I4)",
        ),
        pytest.param(
            job_view(suspended=False),
            {"may_hold_at": at(1.5)},
            [LookAgain],
            id="not too often (case I4)",
        ),
        pytest.param(
            job_view(suspended=False), {"may_hold_at": at(1)}, [HoldJob, TellJob], id="in time"
        ),
        pytest.param(
            job_view(suspended=False), {"rules": Rules(slipped="ignore")}, [], id="ignored"
        ),
        pytest.param(running_job(), {}, [PatchStatus], id="released by us: counted (L1)"),
        pytest.param(
            running_job(released_at=None),
            {"first_run": at(2)},
            [PatchStatus, TellJob],
            id="older than kq itself: counted, and told",
        ),
    ],
)
def test_a_job_whose_unit_waits(job, fields, expected):
    assert kinds(situation(job, unit(), **fields)) == expected


def test_when_to_look_again_is_when_it_may_be_held():
    now = situation(job_view(suspended=False), unit(), may_hold_at=at(1.5))
    assert plan_job(now) == [LookAgain(30)]


@pytest.mark.parametrize(
    ("pods", "phase", "running"),
    [(LIVE, "Running", 1), (PENDING, "Dequeued", 0), (PodFacts(), "Dequeued", 0)],
)
def test_a_job_found_running_is_counted(pods, phase, running):
    """Row s, case L1."""
    job = running_job(pod_sets=(pod_set(count=2, cpu=2),))
    found = status(situation(job, unit(cpu=2, replicas=2), pods=pods))
    assert found["phase"] == phase
    assert found["message"] == "already running when found, counted against quota team-a"
    assert [(each["name"], each["replicas"]) for each in found["admissions"]] == [("main", 2)]
    assert found["podState"] == {"running": running, "pending": pods.pending}
    assert found["attempts"] == 1
    by_type = {each["type"]: each["status"] for each in found["conditions"]}
    assert by_type == {
        "QuotaReserved": "True",
        "Admitted": "True",
        "PodsReady": "True" if running else "False",
    }


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, [HoldJob, TellJob], id="held again"),
        pytest.param(
            {"evictable": False}, [PatchStatus], id="cannot be held: its back-off goes on"
        ),
    ],
)
def test_a_job_that_runs_in_back_off_is_held_again(fields, expected):
    """Spec 5.13: no row of 9.5 counts it, as its grant was just taken back."""
    assert kinds(situation(running_job(**fields), unit(phase=Phase.BACKOFF))) == expected


def test_one_that_is_counted_is_not_being_evicted_any_more():
    """What was marked belongs to its last grant."""
    marked = unit(conditions=(condition("Evicted", True, "Deactivated"),))
    found = status(situation(running_job(), marked, pods=LIVE))
    by_type = {each["type"]: (each["status"], each["reason"]) for each in found["conditions"]}
    assert by_type["Evicted"] == ("False", "QuotaReserved")
