"""The API server refuses for good what kq writes of a job, on the simulated cluster (spec 22.1).

A job that cannot start holds nothing, one that cannot be stopped counts; each is told once, and
what is mended later goes on by itself.
"""

import pytest
from reading import conditions_of, is_suspended, message_of
from sim_case import ALWAYS, Case

from kq.core import keys
from kq.core.kinds import JOB
from kq.sim.faults import Asked, Fault, Trouble

PREEMPTS = {keys.ENABLE_PREEMPTION[0]: "true"}
TEN_MINUTES = 600.0
FINAL = pytest.mark.parametrize("code", [400, 403, 413, 422], ids=str)
REMEDY = "correct the job, or the rule that refuses it; it is tried again by itself"


def refused(case: Case, *names: str, code: int = 403) -> Fault:
    """For ten minutes from now whatever is written of these jobs."""
    ends = case.now + TEN_MINUTES

    def matches(asked: Asked) -> bool:
        is_job = (asked.verb, asked.plural) == ("patch", "jobs")
        return is_job and asked.name in names and case.now < ends

    return case.plan(Trouble.FAILED, matches, times=ALWAYS, code=code)


@FINAL
def test_a_job_that_may_not_start_leaves_the_quota_to_others_and_starts_once_it_may(
    case: Case, code: int
) -> None:
    quota = case.world.quota("a", cpu=2)
    fault = refused(case, "first", code=code)
    case.world.job("first", quota, cpu=2, priority=9, run_for="2s")
    case.until(lambda: case.phases().get("first") == "TimeoutBackoff", "given back", 5)
    begin = "the API server refused to let job team-a/first start: "
    assert case.message("first").startswith(begin)
    assert case.message("first").endswith(REMEDY)
    told = case.world.wait_event("first", "ResumeFailed", JOB)
    assert (told["type"], told["message"]) == ("Warning", case.message("first"))
    for name in ("second", "third"):
        case.world.job(name, quota, cpu=2, run_for="2s")
    case.until(lambda: case.phases()["third"] == "Succeed", "others run", 20)
    assert is_suspended(case.world.wait_job("first", bool))
    case.passes(TEN_MINUTES)
    # At once, and 1, 2, 4 and 8 minutes after the one before, with the label of its pods.
    assert fault.struck <= 2 * 4
    took = case.until(lambda: case.phases()["first"] == "Succeed", "it may by now", 600)
    assert took < 8 * 60
    assert case.onlooker.releases["first"] == 1


def test_many_that_may_not_start_let_those_behind_them_in_a_strict_line_go(case: Case) -> None:
    """Bad input never blocks other jobs, whatever the policy."""
    quota = case.world.quota("a", cpu=1)
    case.world.set_queue(quota, {"spec": {"queuePolicy": "Block"}})
    bad = [f"bad-{number}" for number in range(10)]
    refused(case, *bad, code=422)
    for name in (*bad, "good"):
        case.world.job(name, quota, cpu=1, run_for="1s")
    case.until(lambda: case.phases().get("good") == "Succeed", "its turn", 10)
    assert {case.phases()[name] for name in bad} == {"TimeoutBackoff"}


def test_what_may_not_start_is_tried_again_by_another_manager(case: Case) -> None:
    quota = case.world.quota("a", cpu=2)
    refused(case, "first")
    case.world.job("first", quota, cpu=2, run_for="2s")
    case.until(lambda: case.phases().get("first") == "TimeoutBackoff", "given back", 5)
    case.ground.run(case.simulation.kill_manager())
    case.ground.run(case.simulation.start_manager())
    case.passes(TEN_MINUTES)
    case.until(lambda: case.phases()["first"] == "Succeed", "it may by now", 600)


@FINAL
def test_a_job_that_cannot_be_stopped_counts_until_it_can(case: Case, code: int) -> None:
    quota = case.world.quota("a", cpu=2)
    case.world.job("first", quota, cpu=2)
    case.world.wait_phase("first", "Running")
    case.world.job("second", quota, cpu=2)
    fault = refused(case, "first", code=code)
    case.world.change_unit("first", {"spec": {"active": False}})
    begin = "the API server refused to suspend job team-a/first: "
    case.until(lambda: case.message("first").startswith(begin), "told", 5)
    told = case.world.wait_event("first", "NotEvictable", JOB)
    assert (told["message"], told.get("count", 1)) == (case.message("first"), 1)
    case.passes(TEN_MINUTES - 10)
    assert case.phases() == {"first": "Running", "second": "Enqueued"}
    assert fault.struck == 7
    case.until(lambda: case.phases()["second"] == "Running", "it can by now", 620)
    assert is_suspended(case.world.wait_job("first", bool))
    assert case.message("first") == "Evicted because the queue unit is deactivated"


def test_who_waits_for_one_that_cannot_be_stopped_takes_another(case: Case) -> None:
    quota = case.world.quota("a", cpu=4)
    case.world.set_queue(quota, {"metadata": {"annotations": PREEMPTS}})
    for name in ("older", "newer"):
        case.world.job(name, quota, cpu=2)
        case.world.wait_phase(name, "Running")
        case.passes(2)
    refused(case, "newer")
    case.world.job("high", quota, cpu=2, priority=5)
    case.until(lambda: case.phases().get("high") == "Running", "its turn", 20)
    assert case.phases() == {"older": "Enqueued", "newer": "Running", "high": "Running"}
    unit = case.world.unit("newer")
    (evicted,) = [each for each in conditions_of(unit) if each["type"] == "Evicted"]
    assert (evicted["status"], evicted["reason"]) == ("False", "NotEvictable")
    assert evicted["message"] == message_of(unit)
    assert not any("reclaimState" in each for each in unit["status"]["admissions"])


def test_nobody_waits_for_what_a_drained_job_holds_that_cannot_be_stopped(case: Case) -> None:
    root = case.world.quota("root", cpu=4, labels={keys.IS_PARENT_LABEL: "true"})
    a = case.world.quota("a", parent=root, cpu=4)
    b = case.world.quota("b", parent=root, cpu=4)
    case.world.set_queue(b, {"metadata": {"annotations": PREEMPTS}})
    case.world.job("first", a, cpu=2)
    case.world.job("low", b, cpu=2)
    case.world.wait_granted("first", "low")
    case.world.wait_phase("low", "Running")
    refused(case, "first")
    case.world.set_queue(a, {"spec": {"stopPolicy": "HoldAndDrain"}})
    begin = "the API server refused to suspend job team-a/first: "
    case.until(lambda: case.message("first").startswith(begin), "told", 5)
    case.world.job("high", b, cpu=2, priority=5)
    case.until(lambda: case.phases().get("high") == "Running", "takes low", 20)
    assert case.phases()["low"] == "Enqueued"


@FINAL
def test_a_unit_that_may_not_say_that_it_is_granted_leaves_the_quota_to_others(
    case: Case, code: int
) -> None:
    quota = case.world.quota("a", cpu=2)
    case.passes(5)
    ends = case.now + TEN_MINUTES

    def matches(asked: Asked) -> bool:
        is_status = (asked.plural, asked.subresource) == ("queueunits", "status")
        return is_status and asked.name == "first" and case.now < ends

    fault = case.plan(Trouble.FAILED, matches, times=ALWAYS, code=code)
    case.world.job("first", quota, cpu=2, priority=9, run_for="2s")
    case.world.job("second", quota, cpu=2, run_for="2s")
    case.until(lambda: case.phases().get("second") == "Succeed", "others run", 30)
    told = case.world.wait_event("first", "UnitRefused", JOB)
    assert told["message"].startswith("the API server refused to note a grant: ")
    case.passes(TEN_MINUTES)
    # Ten grants in some seconds, then one after 1, 2 and 4 minutes, and as often why it waits.
    assert fault.struck < 40
    case.until(lambda: case.phases()["first"] == "Succeed", "it may by now", 1000)
    assert case.onlooker.releases["first"] == 1
