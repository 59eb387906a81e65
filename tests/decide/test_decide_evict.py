"""Taking grants back: suspended first, free once the pods are gone (spec 5.14, 9.5 l, n)."""

import pytest
from builders import (
    at,
    condition,
    job_view,
    running_job,
    situation,
    unit,
)
from plans import DEQUEUED, LIVE, RUNNING, STUCK, kinds, one, status

from kq.core import keys, messages
from kq.core.model import Grant
from kq.decide.actions import (
    HoldJob,
    PatchJob,
    PatchStatus,
    PatchUnit,
    ReleaseJob,
    TellJob,
    TellUnit,
)
from kq.decide.situation import PodFacts


def test_a_deactivated_unit_is_marked_and_told_first():
    now = situation(running_job(), unit(active=False, **RUNNING), pods=LIVE)
    assert kinds(now) == [PatchStatus, TellUnit, TellJob]
    (mark,) = status(now)["conditions"]
    assert (mark["type"], mark["status"], mark["reason"]) == ("Evicted", "True", "Deactivated")
    assert "admissions" not in status(now)
    assert one(now, TellUnit).message == "deactivated"


ENDING = PodFacts(live=1, running=1, ending=1)
EVICTED = {
    "active": False,
    "conditions": (condition("Evicted", True, "Deactivated", "x"),),
    **RUNNING,
}


@pytest.mark.parametrize(
    ("job", "pods", "expected"),
    [
        pytest.param(running_job(), LIVE, [HoldJob], id="then suspended"),
        pytest.param(running_job(suspended=True, released_at=None), ENDING, [], id="pods live"),
        pytest.param(
            running_job(suspended=True, released_at=None),
            PodFacts(),
            [],
            id="no pod seen, but the job still counts some: not released beside them",
        ),
        pytest.param(
            job_view(pods_terminating=1),
            PodFacts(),
            [],
            id="the job counts one ending",
        ),
        pytest.param(job_view(pods_terminating=1), STUCK, [PatchStatus], id="stuck: gone (8.11)"),
        pytest.param(job_view(), PodFacts(), [PatchStatus], id="gone: nothing is held any more"),
    ],
)
def test_an_eviction_waits_for_the_pods(job, pods, expected):
    assert kinds(situation(job, unit(**EVICTED), pods=pods)) == expected


def test_an_eviction_goes_on_though_the_unit_is_active_again():
    again = unit(**{**EVICTED, "active": True})
    assert kinds(situation(running_job(), again, pods=LIVE)) == [HoldJob]
    assert status(situation(job_view(), again))["phase"] == "Enqueued"


def test_an_eviction_ends_with_nothing_held():
    """Spec 9.4: one patch."""
    found = status(situation(job_view(), unit(**EVICTED)))
    assert found["phase"] == "Enqueued"
    assert found["admissions"] == []
    assert found["message"] == "Evicted because the queue unit is deactivated"
    assert found["podState"] == {"running": 0, "pending": 0}
    by_type = {each["type"]: (each["status"], each["reason"]) for each in found["conditions"]}
    assert by_type == {
        "Evicted": ("True", "Deactivated"),
        "QuotaReserved": ("False", "Inactive"),
        "Admitted": ("False", "Pending"),
        "PodsReady": ("False", "Pending"),
    }


def test_our_suspension_takes_the_mark_of_release_away():
    held = one(situation(running_job(), unit(**EVICTED), pods=LIVE), HoldJob)
    assert held.annotations == {keys.DEQUEUE_TIMESTAMP: ""}


PAUSED = {"suspended": True, "released_at": at(0.5)}


def test_a_job_suspended_by_somebody_else_is_paused():
    """Case I4, third part: `active` is written first."""
    now = situation(running_job(**PAUSED), unit(**RUNNING), pods=LIVE)
    assert one(now, PatchUnit).patch == {"spec": {"active": False}}
    assert kinds(now) == [PatchUnit]


def test_an_old_true_is_removed_so_that_setting_it_counts():
    """Spec 5.14."""
    marked = {keys.ACTIVE: "true"}
    copied = {**unit().annotations, **marked}
    job = running_job(annotations=marked, **PAUSED)
    patch = one(situation(job, unit(annotations=copied, **RUNNING)), PatchJob).patch
    assert patch == {"metadata": {"annotations": {keys.ACTIVE: None}}}
    now = situation(running_job(**PAUSED), unit(annotations=copied, **RUNNING))
    assert one(now, PatchUnit).patch == {
        "spec": {"active": False},
        "metadata": {"annotations": {keys.ACTIVE: None}},
    }


def test_a_pause_is_told_with_how_to_go_on():
    now = situation(running_job(**PAUSED), unit(active=False, **RUNNING), pods=LIVE)
    assert kinds(now) == [PatchStatus, TellUnit, TellJob]
    assert one(now, TellJob).message == (
        "Paused because the job was suspended by someone else; "
        "set spec.active to true to queue it again"
    )


def test_a_job_held_since_before_its_grant_is_not_paused():
    old = job_view(released_at=at(-5))
    assert kinds(situation(old, unit(**DEQUEUED))) == [ReleaseJob, TellJob]


# -- a new run that does not fit (row w, spec 8.19)


def test_a_new_run_that_does_not_fit_counts_as_it_is_now_and_is_suspended():
    grown = unit(replicas=3, grants=(Grant("main", 2),), **RUNNING)
    now = situation(running_job(), grown, pods=LIVE, pod_sets=grown.pod_sets, outgrown=True)
    assert kinds(now) == [PatchStatus, TellUnit, TellJob]
    (mark,) = status(now)["conditions"]
    assert (mark["status"], mark["reason"]) == ("True", "Restarted")
    assert [each["replicas"] for each in status(now)["admissions"]] == [3]


def test_what_it_asks_now_waits_once_its_pods_are_gone():
    mark = condition("Evicted", True, "Restarted", messages.M34)
    grown = unit(replicas=3, conditions=(mark,), **RUNNING)
    job = running_job(suspended=True, released_at=None, pods_active=0)
    now = situation(job, grown, pods=PodFacts(), pod_sets=grown.pod_sets)
    assert (status(now)["phase"], status(now)["message"]) == ("Enqueued", messages.M34)
    assert status(now)["admissions"] == []
