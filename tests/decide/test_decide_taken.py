"""Grants that another unit is to have: taken back whole, in part, or in vain (spec 13.5-13.15)."""

import msgspec
import pytest
from builders import (
    amounts,
    at,
    condition,
    grant,
    job_view,
    pod_set,
    running_job,
    situation,
    template,
    unit,
)
from hypothesis import given
from hypothesis import strategies as st
from plans import DEQUEUED, LIVE, RUNNING, kinds, one, status

from kq.core import messages
from kq.core.model import Phase, PodSet
from kq.decide.actions import (
    HoldJob,
    LookAgain,
    PatchStatus,
    ReleaseJob,
    TellJob,
    TellUnit,
)
from kq.decide.plan import plan_job
from kq.decide.situation import PodFacts, Taken

S7 = messages.s7("team-a/high", "team-a")
TAKEN = Taken(reason="Preempted", text=S7, told="preempted by team-a/high for cpu of quota team-a")
ENDING = PodFacts(live=1, running=1, ending=1)
SUSPENDED = running_job(suspended=True, released_at=None)
MARK = condition("Evicted", True, "Preempted", S7)


def wanted(unit_=None, job=None, **fields):
    unit_ = unit_ or unit(**RUNNING)
    job = job or running_job(pod_sets=unit_.pod_sets)
    return situation(job, unit_, **{"pods": LIVE, "taken": TAKEN} | fields)


def victim(**fields):
    return unit(**{"conditions": (MARK,), **RUNNING} | fields)


# -- the whole of it (13.5)


def test_a_victim_is_marked_with_all_its_replicas_asked_back():
    """Spec 13.5."""
    now = wanted(unit(replicas=3, **RUNNING))
    (mark,) = status(now)["conditions"]
    assert (mark["type"], mark["status"], mark["reason"]) == ("Evicted", "True", "Preempted")
    assert mark["message"] == "Enqueued after preempted by team-a/high for quota team-a"
    (asked,) = status(now)["admissions"]
    assert (asked["replicas"], asked["reclaimState"]) == (3, {"replicas": 3})


def test_its_event_names_candidate_quota_and_resource():
    now = wanted()
    assert kinds(now) == [PatchStatus, TellUnit, TellJob]
    for kind in (TellUnit, TellJob):
        told = one(now, kind)
        assert (told.warning, told.reason, told.message) == (True, "Preempted", TAKEN.told)


def test_then_it_is_suspended_and_its_pods_may_end():
    assert kinds(wanted(victim())) == [HoldJob]
    assert kinds(wanted(victim(), SUSPENDED, pods=ENDING)) == []


@pytest.mark.parametrize("taken", [TAKEN, None], ids=["still wanted", "nobody waits any more"])
def test_it_is_enqueued_when_its_pods_are_gone(taken):
    """Row i; what was begun is completed (spec 13.6)."""
    found = status(wanted(victim(), job_view(), pods=PodFacts(), taken=taken))
    assert (found["phase"], found["message"], found["admissions"]) == ("Enqueued", S7, [])
    by_type = {each["type"]: (each["status"], each["reason"]) for each in found["conditions"]}
    assert by_type["QuotaReserved"] == ("False", "Pending")
    assert by_type["Evicted"] == ("True", "Preempted")


@pytest.mark.parametrize("evictable", [True, False], ids=["can be stopped", "a Workflow"])
@pytest.mark.parametrize("phase", [Phase.RESERVED, Phase.DEQUEUED])
def test_one_that_was_not_released_is_enqueued_at_once(phase, evictable):
    """Row f, and row i of a job that is still held; no attempt has failed (case F5)."""
    held_job = job_view(evictable=evictable)
    found = status(wanted(unit(phase=phase), held_job, pods=PodFacts()))
    assert (found["phase"], found["message"]) == ("Enqueued", S7)
    assert "requeueState" not in found


def test_a_weightier_cause_decides():
    """Row l before i."""
    (mark,) = status(wanted(victim(active=False)))["conditions"]
    assert mark["reason"] == "Deactivated"


# -- in vain (13.15)


def held(minutes, unit_=None, pods=LIVE):
    return wanted(
        unit_ or victim(pods_running=1), SUSPENDED, pods=pods, now=at(minutes), held_since=at(0)
    )


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(held(0.99), [LookAgain], id="not yet"),
        pytest.param(held(1), [PatchStatus, ReleaseJob, TellJob], id="ignored for a minute"),
        pytest.param(held(9, pods=ENDING), [], id="a pod is on its way out"),
        pytest.param(
            held(9, victim(pods_running=2)), [], id="a pod has ended since they were counted"
        ),
        pytest.param(
            held(9, victim(pods_pending=2)), [], id="one that did not run has ended since"
        ),
        pytest.param(held(9, pods=PodFacts()), [], id="no pod is there"),
        pytest.param(held(9, victim(), PodFacts()), [], id="none was there"),
    ],
)
def test_a_suspension_that_is_ignored_is_taken_back(now, expected):
    assert kinds(now) == expected


def test_then_it_is_a_victim_no_more():
    (mark,) = status(held(1))["conditions"]
    assert (mark["status"], mark["reason"]) == ("False", "NotEvictable")
    (kept,) = status(held(1))["admissions"]
    assert "reclaimState" not in kept
    spared = unit(conditions=(condition("Evicted", False, "NotEvictable"),), **RUNNING)
    assert kinds(held(9, spared, LIVE))[0] is not HoldJob


def test_a_hold_that_could_not_be_taken_back_at_once_is_later():
    spared = unit(conditions=(condition("Evicted", False, "NotEvictable"),), **RUNNING)
    assert kinds(situation(SUSPENDED, spared, pods=LIVE)) == [ReleaseJob]


def test_in_other_evictions_the_hold_stays_and_is_told_once():
    deactivated = {
        "active": False,
        "conditions": (condition("Evicted", True, "Deactivated"),),
        **RUNNING,
    }
    now = held(1, unit(**deactivated))
    assert kinds(now) == [PatchStatus, TellJob]
    assert one(now, TellJob).reason == "NotEvictable"
    assert "conditions" not in status(now)
    assert kinds(held(2, unit(message=status(now)["message"], **deactivated))) == []


# -- a part of it (13.13)


def worker(count, fewest):
    return PodSet("worker", count, template(cpu=1), fewest, count)


def asked(reclaim, *, replicas=4, running=0, fewest=2, **fields):
    return unit(
        pod_sets=(worker(4, fewest),),
        grants=(grant("worker", replicas, running, reclaim, cpu=1),),
        **{**RUNNING, **fields},
    )


def handed(unit_, pods=0):
    job = running_job(pod_sets=unit_.pod_sets)
    facts = PodFacts(live=pods, running=pods, by_pod_set={"": pods})
    return situation(job, unit_, pods=facts)


@pytest.mark.parametrize(
    ("unit_", "running", "left"),
    [
        pytest.param(asked(2), 0, 2, id="as many as are asked back"),
        pytest.param(asked(2), 3, 3, id="but none that runs"),
        pytest.param(asked(2, running=3), 0, 3, id="by the grant's own word"),
        pytest.param(asked(9, fewest=1), 1, 1, id="no more than there are"),
        pytest.param(asked(1), 4, 4, id="all run"),
    ],
)
def test_replicas_that_others_ask_back_are_given(unit_, running, left):
    """Spec 13.13."""
    found = status(handed(unit_, running))
    (given,) = found["admissions"]
    assert (given["replicas"], given["resources"]) == (left, {"cpu": str(left)})
    assert "reclaimState" not in given
    told = [TellUnit, TellJob] if left < 4 else []
    assert kinds(handed(unit_, running)) == [PatchStatus, *told]


def test_what_is_given_is_told_on_the_unit_and_on_the_job():
    """Spec 13.13, 18.4."""
    now = handed(asked(2), 3)
    for kind in (TellUnit, TellJob):
        told = one(now, kind)
        assert (told.warning, told.reason) == (True, "Reclaimed")
        assert told.message == "replicas asked back: 1 of worker"


def test_what_is_enough_stays_given():
    """The grant is not raised again to the pod set's count."""
    assert kinds(handed(asked(0, replicas=3, pods_running=1, updated=at(1)), 1)) == []
    refreshed = status(handed(asked(0, replicas=3), 1))
    assert refreshed["admissions"][0]["replicas"] == 3


@pytest.mark.parametrize(
    "unit_", [asked(3), asked(1, fewest=None)], ids=["below minCount", "without minCount"]
)
def test_a_unit_that_is_left_with_too_few_is_evicted_whole(unit_):
    (mark,) = status(handed(unit_))["conditions"]
    assert (mark["status"], mark["reason"]) == ("True", "Reclaimed")
    (grant_,) = status(handed(unit_))["admissions"]
    assert grant_["reclaimState"] == {"replicas": 4}
    told = one(handed(unit_), TellUnit)
    text = "replicas are asked back, and the rest would be too few"
    assert (told.reason, told.message) == ("Reclaimed", text)


def of_two_roles(launchers, workers, **running):
    """A launcher, and four workers of which two are enough; so many are asked back of each."""
    sets = (PodSet("launcher", 1, template(cpu=1), None, 1), worker(4, 2))
    grants = (
        grant("launcher", 1, 0, launchers, cpu=1),
        grant("worker", 4, 0, workers, cpu=1),
    )
    each = unit(pod_sets=sets, grants=grants, **RUNNING)
    count = sum(running.values())
    pods = PodFacts(live=count, running=count, by_pod_set=running)
    return situation(running_job(pod_sets=sets), each, pods=pods)


def test_replicas_are_asked_back_role_by_role():
    """Spec 13.13: what runs counts for its own role; what runs of no known role perhaps for all."""
    found = status(of_two_roles(0, 2, launcher=1, worker=3))["admissions"]
    assert [(each["name"], each["replicas"]) for each in found] == [("launcher", 1), ("worker", 3)]
    found = status(of_two_roles(0, 2, **{"": 2, "worker": 1}))["admissions"]
    assert [each["replicas"] for each in found] == [1, 3]


def test_one_that_has_fewer_than_it_needs_gives_nothing_for_that():
    """Spec 13.13, 9.17: nothing is asked back, so its grant is raised."""
    short = handed(asked(0, replicas=3, fewest=None), 3)
    assert kinds(short) == [PatchStatus]
    assert status(short)["admissions"][0]["replicas"] == 4
    assert "conditions" not in status(short)


def test_one_role_that_is_left_with_too_few_takes_the_others_along():
    for now in (of_two_roles(1, 0), of_two_roles(0, 3)):
        (mark,) = status(now)["conditions"]
        assert (mark["status"], mark["reason"]) == ("True", "Reclaimed")
        asked_back = [each["reclaimState"] for each in status(now)["admissions"]]
        assert asked_back == [{"replicas": 1}, {"replicas": 4}]


def test_what_kq_itself_asks_back_is_no_ask_of_others():
    given_up = victim(
        pod_sets=(pod_set(cpu=1, count=3),), grants=(grant(replicas=3, reclaim=3, cpu=1),)
    )
    assert kinds(wanted(given_up)) == [HoldJob]


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5), st.sampled_from((None, 1, 2, 3, 4)))
def test_running_replicas_are_never_taken_and_no_unit_is_left_with_too_few(
    reclaim, running, counted, fewest
):
    unit_ = asked(reclaim, running=min(4, running), fewest=fewest)
    for action in plan_job(handed(unit_, counted)):
        if isinstance(action, PatchStatus):
            for each in action.patch["status"].get("admissions", ()):
                assert each["replicas"] >= min(4, max(running, counted))
                assert "reclaimState" in each or each["replicas"] >= (fewest or 4)


def test_what_cannot_be_stopped_keeps_what_it_needs_and_tells_so_once():
    """Spec 13.13, 13.15: a Workflow between two steps has no pod, and goes on and stays counted."""
    asks = unit(
        pod_sets=(PodSet("default", 1, template(cpu=1), None, 1),),
        grants=(grant("default", 1, 0, 1, cpu=1),),
        **RUNNING,
    )
    job = running_job(pod_sets=asks.pod_sets, evictable=False)
    first = situation(job, asks)
    assert kinds(first) == [PatchStatus, TellJob]
    assert one(first, TellJob).reason == "NotEvictable"
    (mark,) = status(first)["conditions"]
    told = condition("Evicted", False, "NotEvictable", mark["message"])
    asks = msgspec.structs.replace(asks, conditions=(told,), message=status(first)["message"])
    then = situation(job, asks)
    assert kinds(then) == [PatchStatus]
    (kept,) = status(then)["admissions"]
    assert (kept["replicas"], kept["resources"], "reclaimState" in kept) == (1, {"cpu": "1"}, False)
    asks = msgspec.structs.replace(asks, grants=(grant("default", 1, cpu=1),))
    (mark,) = status(situation(job, asks))["conditions"]
    assert (mark["status"], mark["reason"]) == ("False", "QuotaReserved")


def test_an_unknown_pod_set_gives_by_its_own_word():
    odd = msgspec.structs.replace(
        asked(0, fewest=None), grants=(grant("odd", 2, 0, 2, cpu=1), grant("worker", 4, cpu=1))
    )
    found = status(handed(odd, 0))["admissions"]
    assert [(each["name"], each["replicas"]) for each in found] == [("odd", 0), ("worker", 4)]
    assert amounts(cpu=2).to_wire() == found[0]["resources"]


def test_a_unit_that_the_reference_was_evicting_is_evicted():
    """Spec 9.2."""
    being = unit(**DEQUEUED | {"raw_phase": "Preempted"})
    now = wanted(being, taken=None)
    assert kinds(now) == [PatchStatus, TellUnit, TellJob]
    assert one(now, TellUnit).message == "Enqueued after preempted"
    found = status(wanted(being, job_view(), taken=None, pods=PodFacts()))
    assert (found["phase"], found["message"]) == ("Enqueued", "Enqueued after preempted")
