"""Units whose job does not exist (spec 9.14)."""

import pytest
from builders import at, condition, unit

from kq.core.model import Condition, Phase
from kq.decide.actions import DeleteUnit, LookAgain, PatchStatus
from kq.decide.ending import plan_orphan


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
