"""Units take grants from others on the simulated cluster (spec 13)."""

from collections import Counter

import pytest
from reading import is_suspended, message_of, phase_of
from sim_case import Case

from kq.core import keys
from kq.core.kinds import JOB, QUEUE_UNIT

PREEMPTS = {keys.ENABLE_PREEMPTION[0]: "true"}
LINGERS = {"linger-for": "20s"}


def running(
    case: Case, name: str, quota: str, *, cpu: int, priority: int = 0, **more: object
) -> None:
    case.world.job(name, quota, cpu=cpu, priority=priority, **more)
    case.world.wait_phase(name, "Running")


def evictions(case: Case, name: str) -> int:
    """How often the job was suspended."""
    told = case.world.events(name, QUEUE_UNIT)
    return sum(
        each.get("count", 1) for each in told if each["reason"] in ("Preempted", "Reclaimed")
    )


@pytest.mark.parametrize("spelling", keys.ENABLE_PREEMPTION)
def test_a_higher_one_takes_the_place_of_a_lower_one(case: Case, spelling: str) -> None:
    quota = case.world.quota("a", cpu=3)
    case.world.set_queue(quota, {"metadata": {"annotations": {spelling: "true"}}})
    running(case, "keeps", quota, cpu=1, priority=1)
    running(case, "loses", quota, cpu=2)
    case.world.job("wins", quota, cpu=2, priority=5, run_for="30s")
    case.world.wait_phase("wins", "Running")
    text = f"Enqueued after preempted by team-a/wins for quota {quota}"
    lost = case.world.wait_unit("loses", lambda unit: phase_of(unit) == "Enqueued")
    assert is_suspended(case.world.wait_job("loses", bool))
    told = case.world.wait_event("loses", "Preempted", JOB)
    assert told["message"] == f"Preempted by team-a/wins for cpu of quota {quota}"
    assert case.phases()["keeps"] == "Running"
    assert lost["status"].get("requeueState") is None
    assert text in {message_of(lost), case.message("loses")} or "waiting" in case.message("loses")
    case.until(lambda: case.phases()["loses"] == "Running", "its turn again", 60)
    assert evictions(case, "loses") == 1


def test_without_the_annotation_nobody_loses_anything(case: Case) -> None:
    quota = case.world.quota("a", cpu=2)
    running(case, "runs", quota, cpu=2)
    case.world.job("waits", quota, cpu=2, priority=9)
    case.passes(120)
    assert case.phases() == {"runs": "Running", "waits": "Enqueued"}


@pytest.mark.parametrize("policy", ["Priority", "Block", "Intelligent"])
def test_what_is_freed_is_for_the_one_that_waits_for_it(case: Case, policy: str) -> None:
    """Spec 13.6: it waits with M12, and nobody slips into the gap."""
    quota = case.world.quota("a", cpu=4, annotations=PREEMPTS, policy=policy)
    case.passes(2)
    running(case, "keeps", quota, cpu=1, priority=9)
    for name in ("one", "two"):
        running(case, name, quota, cpu=1, played=LINGERS)
    case.world.job("wins", quota, cpu=3, priority=5)
    waits = f"waiting for 2 unit(s) to give back quota {quota}: team-a/one, team-a/two"
    case.world.wait_message("wins", waits)
    case.world.job("slips", quota, cpu=1, priority=1)
    case.passes(10)
    assert case.phases()["slips"] == "Enqueued"
    assert case.phases()["wins"] == "Enqueued"
    case.until(lambda: case.phases()["wins"] == "Running", "its victims are gone", 40)
    assert {name: phase for name, phase in case.phases().items() if phase != "Enqueued"} == {
        "keeps": "Running",
        "wins": "Running",
    }


def test_a_hopeless_one_takes_nothing_and_hides_nobody(case: Case) -> None:
    """Case F1."""
    quota = case.world.quota("a", cpu=3, annotations=PREEMPTS)
    case.passes(2)
    running(case, "w1", quota, cpu=1, priority=1)
    case.world.job("big", quota, cpu=4, priority=9)
    case.world.job("mid", quota, cpu=3, priority=8)
    case.world.wait_phase("mid", "Running")
    case.passes(600)
    assert case.phases() == {"w1": "Enqueued", "big": "Enqueued", "mid": "Running"}
    assert evictions(case, "w1") == 1


def test_who_may_not_be_taken_from_and_who_takes_none(case: Case) -> None:
    """Spec 11.13, case F2."""
    quota = case.world.quota("a", cpu=2, annotations=PREEMPTS)
    case.passes(2)
    running(case, "safe", quota, cpu=1, labels={keys.PREEMPTIBLE_LABELS[1]: "false"})
    running(case, "equal", quota, cpu=1, priority=5)
    case.world.job("waits", quota, cpu=1, priority=5)
    case.world.job("modest", quota, cpu=1, priority=9, pod_spec={"preemptionPolicy": "Never"})
    case.passes(120)
    assert case.phases() == {
        "safe": "Running",
        "equal": "Running",
        "waits": "Enqueued",
        "modest": "Enqueued",
    }


def test_a_min_is_taken_back_from_those_above_theirs(case: Case) -> None:
    """Case F3, spec 13.9-13.11."""
    world = case.world
    root = world.quota("root", cpu=10, labels={keys.IS_PARENT_LABEL: "true"})
    a = world.quota("a", cpu=10, parent=root, minimum={"cpu": 4})
    b = world.quota("b", cpu=10, parent=root)
    c = world.quota(
        "c", cpu=10, parent=root, minimum={"cpu": 4}, annotations={keys.RECLAIM[0]: "Any"}
    )
    case.passes(2)
    running(case, "a1", a, cpu=4, priority=1)
    for number in range(3):
        running(case, f"b{number}", b, cpu=2, priority=1)
    world.job("more", c, cpu=8, priority=9)
    case.passes(30)
    assert evictions(case, "b2") == 0
    world.delete_job("more")
    world.job("due", c, cpu=4, priority=1)
    world.wait_phase("due", "Running")
    assert case.phases()["a1"] == "Running"
    told = world.wait_event("b2", "Reclaimed", JOB)
    assert told["message"] == f"Reclaimed by team-a/due for cpu of quota {root}"
    case.passes(300)
    assert Counter(case.phases().values()) == {"Running": 3, "Enqueued": 2}
    assert sum(evictions(case, f"b{n}") for n in range(3)) == 2


def test_an_eviction_that_has_begun_is_completed_and_no_other_begun(case: Case) -> None:
    """Case F4: the one that was to win is deleted."""
    quota = case.world.quota("a", cpu=2, annotations=PREEMPTS)
    case.passes(2)
    running(case, "loses", quota, cpu=2, played=LINGERS)
    case.world.job("wins", quota, cpu=2, priority=5)
    case.world.wait_event("loses", "Preempted", JOB)
    case.world.delete_job("wins")
    case.until(lambda: case.world.seen_unit("wins") is None, "it is gone")
    case.until(lambda: case.world.unit("loses")["status"]["attempts"] == 2, "it comes again", 90)
    case.world.wait_phase("loses", "Running")
    assert evictions(case, "loses") == 1


def test_another_manager_goes_on_with_what_was_begun(case: Case) -> None:
    """Spec 1.4."""
    quota = case.world.quota("a", cpu=2, annotations=PREEMPTS)
    case.passes(2)
    running(case, "loses", quota, cpu=2, played=LINGERS)
    case.world.job("wins", quota, cpu=2, priority=5)
    case.world.wait_event("loses", "Preempted", JOB)
    case.ground.run(case.simulation.kill_manager())
    case.world.job("slips", quota, cpu=2, priority=1)
    case.ground.run(case.simulation.start_manager())
    case.until(lambda: case.phases()["wins"] == "Running", "it gets its place", 90)
    case.passes(60)
    assert case.phases() == {"loses": "Enqueued", "wins": "Running", "slips": "Enqueued"}


def test_many_that_go_first_find_their_victims_at_once(case: Case) -> None:
    """They do not wait for one another's."""
    quota = case.world.quota("a", cpu=4, annotations=PREEMPTS)
    case.passes(2)
    for number in range(4):
        running(case, f"low{number}", quota, cpu=1, played=LINGERS)
    for number in range(4):
        case.world.job(f"high{number}", quota, cpu=1, priority=5)
    case.until(
        lambda: [case.phases()[f"high{n}"] for n in range(4)] == ["Running"] * 4, "all run", 35
    )
    case.passes(60)
    assert sum(evictions(case, f"low{n}") for n in range(4)) == 4
