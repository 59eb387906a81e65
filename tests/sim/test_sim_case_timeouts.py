"""Jobs that do not start in time, or run too long, on the simulated cluster (spec 9.6-9.13)."""

from collections.abc import Iterator
from datetime import datetime

import pytest
from reading import condition_of, is_suspended, message_of, phase_of
from sim_case import Case, on_stage
from simulated_ground import manifests

from kq.core import keys
from kq.core.kinds import QUEUE_UNIT
from kq.settings import parse
from kq.sim.world import Terms

START, BACKOFF = 60.0, 30.0
SETTINGS = {
    "jobs": {"job": {"runningTimeout": "1m", "backoffTimeout": "30s"}},
    "scheduling": {"backoff": {"limit": 2}},
}
NEVER_STARTS = {"start-after": "9h"}
CLOSE = 2.5
"""Seconds that a step may take beside the time it waits for."""


@pytest.fixture
def patient() -> Iterator[Case]:
    """Jobs have a minute to start, twice."""
    with on_stage(terms=Terms(settings=parse(SETTINGS), objects=manifests())) as case:
        yield case


def test_a_job_that_does_not_start_makes_room_and_comes_again(patient: Case) -> None:
    """Rows h and o: its quota serves another meanwhile."""
    world = patient.world
    quota = world.quota("a", cpu=2)
    world.job("stuck", quota, cpu=2, played=NEVER_STARTS, priority=1)
    world.wait_phase("stuck", "Dequeued")
    world.job("other", quota, cpu=2, run_for="45s")
    waited = patient.until(
        lambda: patient.phases()["stuck"] == "TimeoutBackoff", "it backs off", 90
    )
    assert START - CLOSE < waited < START + CLOSE
    assert world.message("stuck") == "Backoff due to running timeout"
    assert world.unit("stuck")["status"]["requeueState"]["count"] == 1
    assert is_suspended(world.wait_job("stuck", bool))
    world.wait_phase("other", "Running")
    waited = patient.until(lambda: patient.phases()["stuck"] == "Enqueued", "it comes again", 60)
    assert BACKOFF - CLOSE < waited < BACKOFF + CLOSE
    world.wait_phase("stuck", "Dequeued")
    assert phase_of(world.unit("other")) == "Succeed"


def test_a_restart_gives_no_further_time(patient: Case) -> None:
    """Cases G1 and G2: the times are those of the unit."""
    world, simulation = patient.world, patient.simulation
    world.job("stuck", world.quota("a", cpu=2), cpu=2, played=NEVER_STARTS)
    world.wait_phase("stuck", "Dequeued")
    begin = patient.now
    patient.passes(40)
    patient.ground.run(simulation.kill_manager())
    patient.ground.run(simulation.start_manager())
    patient.until(lambda: patient.phases()["stuck"] == "TimeoutBackoff", "it backs off", 90)
    assert patient.now - begin < START + CLOSE
    patient.passes(20)
    patient.ground.run(simulation.kill_manager())
    patient.ground.run(simulation.start_manager())
    world.wait_phase("stuck", "Dequeued")
    assert patient.now - begin < START + BACKOFF + 2 * CLOSE


def test_after_the_last_try_it_waits_for_somebody(patient: Case) -> None:
    """Spec 9.7, row p."""
    world = patient.world
    world.job("stuck", world.quota("a", cpu=2), cpu=2, played=NEVER_STARTS)
    last = "deactivated: Backoff due to running timeout"
    patient.until(lambda: patient.message("stuck") == last, "it gives up", 300)
    patient.passes(3600)
    unit = world.unit("stuck")
    assert (phase_of(unit), unit["spec"]["active"]) == ("TimeoutBackoff", False)
    assert unit["status"]["attempts"] == 2
    told = {each["reason"] for each in world.events("stuck", QUEUE_UNIT)}
    assert told >= {"Evicted", "RequeueLimitExceeded"}
    world.change_unit("stuck", {"spec": {"active": True}})
    unit = world.wait_phase("stuck", "Dequeued")
    assert "requeueState" not in unit["status"]


def test_a_job_that_starts_in_time_is_left_alone(patient: Case) -> None:
    world = patient.world
    world.job("slow", world.quota("a", cpu=2), cpu=2, played={"start-after": "50s"})
    patient.until(lambda: patient.phases().get("slow") == "Running", "it runs", 60)
    patient.passes(600)
    assert patient.phases() == {"slow": "Running"}
    assert world.unit("slow")["status"]["attempts"] == 1


def test_a_job_that_runs_too_long_is_stopped_and_waits_for_somebody(case: Case) -> None:
    """Row m: admitted time of all runs; the annotation may be raised (spec 9.13, 9.18)."""
    world = case.world
    quota = world.quota("a", cpu=2)
    world.job("long", quota, cpu=2, annotations={keys.MAX_EXEC_TIME: "120"})
    world.wait_phase("long", "Running")
    granted = world.unit("long")["status"]["lastAllocateTime"]
    world.job("next", quota, cpu=2)
    case.until(lambda: case.phases()["long"] == "Enqueued", "its time is over", 180)
    took = case.ground.simulation.server.clock() - datetime.fromisoformat(granted)
    assert 120 <= took.total_seconds() < 120 + 2 * CLOSE
    unit = world.unit("long")
    assert message_of(unit) == "Evicted because the maximum execution time was exceeded"
    assert unit["spec"]["active"] is False
    assert 120 <= unit["status"]["accumulatedPastExecutionTimeSeconds"] < 120 + 2 * CLOSE
    assert condition_of(unit, "Evicted")
    world.wait_phase("next", "Running")
    world.delete_job("next")
    world.annotate_job("long", {keys.MAX_EXEC_TIME: "600", keys.ACTIVE: "true"})
    world.wait_phase("long", "Running")
    case.passes(300)
    assert case.phases()["long"] == "Running"
    case.until(lambda: case.phases()["long"] == "Enqueued", "its time is over again", 300)
