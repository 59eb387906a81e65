"""The end of a unit: its job has ended, goes, or is gone (spec 9.5 q and v, 9.14, 9.16)."""

from datetime import timedelta

import pytest
from builders import (
    NOW,
    at,
    condition,
    finished_job,
    job_view,
    running_job,
    situation,
    unit,
)
from msgspec.structs import replace
from plans import LIVE, RUNNING, kinds, status

from kq.core.model import Condition, Phase
from kq.decide.actions import (
    DeleteUnit,
    LookAgain,
    PatchStatus,
)
from kq.decide.ending import plan_orphan
from kq.decide.situation import PodFacts, Rules


@pytest.mark.parametrize(
    "phase", [each for each in Phase if each not in (Phase.SUCCEED, Phase.FAILED)]
)
@pytest.mark.parametrize(("failed", "becomes"), [(False, "Succeed"), (True, "Failed")])
def test_the_end_of_a_job_ends_its_unit(phase, failed, becomes):
    """Row q, case G3."""
    found = status(situation(finished_job(failed=failed), unit(phase=phase)))
    assert found["phase"] == becomes
    assert found["admissions"] == []
    assert found["message"] == ("Failed" if failed else "Succeeded")
    reason = "Failed" if failed else "Succeeded"
    assert [(each["type"], each["reason"]) for each in found["conditions"]] == [
        ("Finished", reason)
    ]


ENDED = {
    "phase": Phase.SUCCEED,
    "message": "Succeeded",
    "conditions": (condition("Finished", True, "Succeeded", "Succeeded"),),
}
STILL = "Succeeded; its pods still run and count"


@pytest.mark.parametrize(
    ("fields", "pods", "rules", "expected"),
    [
        pytest.param({}, PodFacts(), Rules(), [], id="rests"),
        pytest.param({}, LIVE, Rules(), [PatchStatus], id="pods still run"),
        pytest.param({"message": STILL}, LIVE, Rules(), [], id="told so once"),
        pytest.param({"message": STILL}, PodFacts(), Rules(), [PatchStatus], id="gone: told so"),
        pytest.param({"message": "other"}, LIVE, Rules(), [], id="another's message stays"),
        pytest.param({}, PodFacts(), Rules(finished_ttl_seconds=90), [LookAgain], id="kept"),
        pytest.param({}, PodFacts(), Rules(finished_ttl_seconds=60), [DeleteUnit], id="over"),
        pytest.param(
            {"message": STILL}, LIVE, Rules(finished_ttl_seconds=60), [], id="not with pods"
        ),
    ],
)
def test_a_finished_unit(fields, pods, rules, expected):
    now = situation(finished_job(), unit(**{**ENDED, **fields}), pods=pods, rules=rules)
    assert kinds(now) == expected


def test_pods_that_only_seem_to_live_are_not_told():
    now = situation(finished_job(), unit(**ENDED), pods=LIVE, now=NOW + timedelta(seconds=1))
    assert kinds(now) == [LookAgain]
    assert kinds(situation(finished_job(), unit(**RUNNING), pods=LIVE)) == [PatchStatus, LookAgain]


def test_a_job_on_its_way_out_ends_its_unit_when_no_pod_is_live():
    """Row v."""
    for phase in (Phase.ENQUEUED, Phase.RUNNING):
        now = situation(running_job(deleting=True), unit(phase=phase), pods=LIVE)
        assert kinds(now) == []
        found = status(replace(now, pods=PodFacts()))
        assert (found["phase"], found["admissions"]) == ("Failed", [])
        assert found["message"] == "job team-a/train is being deleted"


@pytest.mark.parametrize(
    ("job", "each"),
    [
        pytest.param(running_job(), unit(deleting=True, **RUNNING), id="the unit goes"),
        pytest.param(running_job(), unit(phase=None, raw_phase="Odd"), id="unknown phase (9.3)"),
        pytest.param(job_view(), unit(phase=None, raw_phase="Odd"), id="unknown phase, held"),
        pytest.param(running_job(deleting=True), unit(phase=Phase.FAILED), id="ended already"),
        pytest.param(running_job(), unit(phase=Phase.SUCCEED), id="ended, yet it runs"),
    ],
)
def test_what_is_left_alone(job, each):
    assert kinds(situation(job, each, pods=PodFacts())) == []


def ended(phase=Phase.FAILED):
    return unit(phase=phase, conditions=(condition("Finished", True, "OwnerNotFound", minute=1),))


@pytest.mark.parametrize("phase", [Phase.ENQUEUED, Phase.RUNNING, Phase.BACKOFF, None])
def test_an_orphan_ends_and_holds_nothing(phase):
    actions = plan_orphan(unit(phase=phase, raw_phase="Odd"), 0, at(1))
    assert [type(each) for each in actions] == [PatchStatus, LookAgain]
    status = actions[0].patch["status"]
    assert (status["phase"], status["admissions"]) == ("Failed", [])
    assert status["message"] == "job team-a/train does not exist"
    assert [(each["type"], each["reason"]) for each in status["conditions"]] == [
        ("Finished", "OwnerNotFound")
    ]


def test_an_orphan_holds_its_quota_while_its_pods_live():
    assert plan_orphan(unit(phase=Phase.RUNNING), 2, at(1)) == []


def test_an_ended_orphan_keeps_how_it_ended():
    actions = plan_orphan(unit(phase=Phase.SUCCEED), 0, at(1))
    assert actions[0].patch["status"]["phase"] == "Succeed"


def test_an_orphan_goes_after_a_minute():
    assert plan_orphan(ended(), 0, at(1.75)) == [LookAgain(15)]
    assert plan_orphan(ended(), 0, at(2)) == [DeleteUnit(ended())]


def test_a_condition_without_a_time_counts_from_now():
    timeless = Condition("Finished", True, "Failed", "")
    odd = unit(phase=Phase.FAILED, conditions=(timeless,))
    assert plan_orphan(odd, 0, at(1)) == [LookAgain(60)]
