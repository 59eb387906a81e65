"""What only some kinds need: holds that are defied, runs after the end, chores of Workflows."""

import msgspec
import pytest
from builders import at, finished_job, job_view, running_job, situation, unit
from plans import LIVE, event, kinds, one, status

from kq.core import messages
from kq.core.model import Chore, Condition, Phase
from kq.decide.actions import (
    CreateUnit,
    FreeNodes,
    LetEnd,
    LookAgain,
    PatchStatus,
    ReleaseJob,
    ShowWaiting,
    TellJob,
)
from kq.decide.plan import plan_job
from kq.decide.situation import PodFacts, Rules

RUNS = {"phase": Phase.RUNNING, "cpu": 1}
MARK = "Evicted"


def waits(job, **fields):
    return situation(job, unit(), **fields)


def conditions(now):
    return {each["type"]: (each["status"], each["reason"]) for each in status(now)["conditions"]}


# -- the condition Queuing (spec 8.8)


def test_a_job_that_can_show_it_shows_that_it_waits_once_it_has_its_unit():
    assert kinds(waits(job_view(queuing=False))) == [ShowWaiting]
    assert kinds(waits(job_view(queuing=True))) == []
    assert kinds(waits(job_view(queuing=None))) == []
    assert kinds(situation(job_view(queuing=False))) == [CreateUnit]


def test_a_job_that_was_let_go_shows_nothing():
    assert ShowWaiting not in kinds(situation(running_job(queuing=False), unit(**RUNS), pods=LIVE))


# -- holds that are defied (spec 8.12, row t)

DEFIED = {"pods": PodFacts(live=1, running=1), "defied_since": at(0)}


def test_pods_of_a_held_job_are_counted_when_they_do_not_end():
    now = waits(job_view(), now=at(0.2), **DEFIED)
    assert status(now)["phase"] == "Running"
    assert conditions(now)["QuotaReserved"] == ("True", "QuotaReserved")
    text = messages.m25("Job")
    assert status(now)["message"] == text
    assert event(now) == (True, "HoldIneffective", text)


def test_a_job_that_defies_its_hold_cannot_be_stopped_by_it():
    """Spec 13.15: it is told so once, and goes on."""
    text = messages.m25("Job")
    told = (Condition("QuotaReserved", True, "QuotaReserved", text),)
    defied = unit(**RUNS, active=False, attempts=0, conditions=told)
    now = situation(job_view(), defied, pods=LIVE)
    assert kinds(now) == [PatchStatus, TellJob]
    assert conditions(now)[MARK] == ("False", "NotEvictable")
    mark = Condition(MARK, False, "NotEvictable", event(now)[2])
    again = msgspec.structs.replace(defied, conditions=(*told, mark), pods_running=1)
    assert plan_job(situation(job_view(), again, pods=LIVE)) == []


def test_a_job_that_defies_its_hold_is_nobodys_victim_though_the_cause_is_over():
    """Spec 13.15."""
    told = Condition("QuotaReserved", True, "QuotaReserved", messages.m25("Job"))
    text = "Job cannot be stopped while it runs (Enqueued after preempted): it runs on, and counts"
    spared = (told, Condition(MARK, False, "NotEvictable", text))
    defied = unit(**RUNS, conditions=spared, message=text, pods_running=1)
    assert plan_job(situation(job_view(), defied, pods=LIVE)) == []


def test_a_job_that_defies_its_hold_shows_no_waiting():
    """Its operator would write over it, and each write of it ours, for ever."""
    now = waits(job_view(queuing=False), now=at(0.1), **DEFIED)
    assert plan_job(now) == [LookAgain(4.0)]


def test_pods_that_were_there_get_a_moment_to_end():
    assert plan_job(waits(job_view(), now=at(0.1), **DEFIED)) == [LookAgain(4.0)]


def test_pods_of_an_earlier_grant_are_no_defiance():
    again = unit(attempts=1)
    assert plan_job(situation(job_view(), again, now=at(1), **DEFIED)) == []


# -- the end of one run is no pass for the next (spec 8.7, rows r and w)

ENDED = {"phase": Phase.SUCCEED, "raw_phase": "Succeed", "message": "Succeeded"}


def test_a_job_that_runs_again_after_its_end_is_counted_and_then_stopped():
    now = situation(running_job(), unit(**ENDED), pods=LIVE)
    assert status(now)["phase"] == "Running"
    assert conditions(now)[MARK] == ("True", "Restarted")
    assert conditions(now)["Finished"] == ("False", "RunsAgain")
    assert event(now)[1] == "RunningAgain"


def test_a_job_that_cannot_be_stopped_is_counted_alone():
    now = situation(running_job(evictable=False), unit(**ENDED), pods=LIVE)
    assert status(now)["phase"] == "Running"
    assert MARK not in conditions(now)


@pytest.mark.parametrize(
    ("job", "pods"),
    [
        pytest.param(job_view(), LIVE, id="held"),
        pytest.param(running_job(), PodFacts(), id="no pods yet"),
        pytest.param(finished_job(), PodFacts(), id="still ended"),
    ],
)
def test_what_does_not_run_does_not_run_again(job, pods):
    assert PatchStatus not in kinds(situation(job, unit(**ENDED), pods=pods))


def test_once_its_pods_are_gone_it_is_queued_at_its_old_place():
    marked = unit(**RUNS, conditions=(Condition(MARK, True, "Restarted", messages.M34),))
    now = situation(job_view(), marked)
    assert status(now)["phase"] == "Enqueued"
    assert conditions(now)["QuotaReserved"] == ("False", "Pending")
    assert status(now)["message"] == messages.M34


# -- kinds that suspension does not stop (spec 13.15)


def unstoppable(**fields):
    return situation(running_job(evictable=False), unit(**RUNS, **fields), pods=LIVE)


def test_a_job_that_cannot_be_stopped_goes_on_and_is_told_once():
    now = unstoppable(active=False)
    assert kinds(now) == [PatchStatus, TellJob]
    assert conditions(now)[MARK] == ("False", "NotEvictable")
    text = event(now)[2]
    assert event(now)[:2] == (True, "NotEvictable")
    told = {"conditions": (Condition(MARK, False, "NotEvictable", text),), "pods_running": 1}
    for message in (text, messages.M26):
        assert plan_job(unstoppable(active=False, message=message, **told)) == []


def test_its_unit_says_so_for_as_long_as_it_should_stop():
    text = status(unstoppable(active=False))["message"]
    cause = "Evicted because the queue unit is deactivated"
    assert text == f"Job cannot be stopped while it runs ({cause}): it runs on, and counts"
    told = {"conditions": (Condition(MARK, False, "NotEvictable", text),), "pods_running": 1}
    found = status(unstoppable(message=text, **told))
    assert found["message"] == messages.S8
    assert conditions(unstoppable(message=text, **told)) == {MARK: ("False", "QuotaReserved")}
    assert "message" not in status(unstoppable(message=messages.M26, **told))
    over = (Condition(MARK, False, "QuotaReserved", ""),)
    assert plan_job(unstoppable(conditions=over, pods_running=1)) == []
    assert status(unstoppable(active=False, conditions=over))["message"] == text


def test_a_job_that_slipped_through_and_cannot_be_stopped_is_counted():
    job = running_job(evictable=False, released_at=None)
    assert kinds(situation(job))[0] is CreateUnit


# -- chores of Workflows (spec 8.14b-8.16)


def test_a_workflow_at_our_suspend_node_goes_on_while_it_holds_quota():
    job = running_job(chores=(Chore.FREE_NODES,))
    held = unit(**RUNS, pods_running=1)
    assert kinds(situation(job, held, pods=LIVE)) == [FreeNodes]
    assert FreeNodes not in kinds(waits(msgspec.structs.replace(job, suspended=True)))


def test_nodes_out_of_reach_are_told_once():
    job = running_job(chores=(Chore.TELL_OUT_OF_REACH,))
    now = situation(job, unit(**RUNS, pods_running=1), pods=LIVE)
    assert status(now)["message"] == messages.M26
    told = unit(**RUNS, pods_running=1, message=messages.M26)
    assert plan_job(situation(job, told, pods=LIVE)) == []


def test_a_held_workflow_that_was_shut_down_ends_without_a_grant():
    shut = job_view(chores=(Chore.END,))
    assert kinds(waits(shut)) == [LetEnd]
    let_go = msgspec.structs.replace(shut, suspended=False)
    assert plan_job(waits(let_go)) == []


def test_a_workflow_that_was_granted_is_released_whatever_its_shutdown():
    granted = unit(phase=Phase.DEQUEUED)
    assert ReleaseJob in kinds(situation(job_view(chores=(Chore.END,)), granted))


def test_a_workflow_without_min_resources_is_told_so_when_it_is_queued():
    now = situation(job_view(estimated=True))
    assert kinds(now) == [CreateUnit, TellJob]
    assert one(now, TellJob).reason == "MinResourcesMissing"


def test_a_lock_that_a_waiting_workflow_holds_is_told():
    """Argo gives it the lock only when it has seen it: its unit is there by then."""
    holds = job_view(chores=(Chore.TELL_LOCK,))
    assert one(waits(holds), TellJob).reason == "HoldsLock"
    assert kinds(situation(holds)) == [CreateUnit]


def test_why_a_job_failed_is_told():
    now = situation(finished_job(failed=True, note="ValidationFailed: no"), unit(**RUNS))
    assert status(now)["message"] == "Failed: ValidationFailed: no"


def test_a_job_that_ended_before_it_had_a_unit_gets_one_that_says_why():
    """KubeRay may find a RayJob invalid before anybody has seen it (spec 8.13)."""
    held = finished_job(failed=True, note="ValidationFailed: no", suspended=True)
    assert kinds(situation(held)) == [CreateUnit]
    assert kinds(situation(finished_job(failed=True, suspended=True))) == []
    assert kinds(situation(held, rules=Rules(finished_ttl_seconds=60))) == []
