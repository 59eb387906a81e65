"""Times that a wrong clock wrote, on the simulated cluster: cases G1 and G2 with other times."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from case_plays import never_starting
from kind_cases import KindCase
from kind_cases_data import RAY_CLUSTER, SPARK_APPLICATION
from kind_cases_kubeflow import JOB_SET, TF_JOB
from kind_world import KindWorld
from sim_case import Case, on_stage
from simulated_ground import manifests
from test_sim_case_kinds import stage_of

from kq.core import keys
from kq.settings import parse
from kq.sim.world import Terms

HOURS = 6 * 3600.0
START, BACKOFF, LONGEST = 60.0, 300.0, 300.0
PATIENCE: Mapping[str, Any] = {"runningTimeout": "60s", "backoffTimeout": "5m"}
STUCK = (
    pytest.param(TF_JOB, "tfjob", id="TFJob"),
    pytest.param(RAY_CLUSTER, "raycluster", id="RayCluster"),
    pytest.param(SPARK_APPLICATION, "sparkapp", id="SparkApplication"),
    pytest.param(JOB_SET, "jobset", id="JobSet"),
)
CLOSE = 3.0
"""Seconds that a step may take beside the time it waits for."""


@pytest.mark.parametrize(("kind", "key"), STUCK)
def test_g2_a_start_time_out_that_began_in_the_future_is_over_soon(
    kind: KindCase, key: str
) -> None:
    """Case G2: the clock was six hours ahead when the unit was granted, and is put right."""
    with stage_of(kind, **{key: PATIENCE}) as case:
        jobs = KindWorld.of(case.world, kind)
        quota = case.world.quota("a", cpu=kind.cpu)
        case.ground.kq_clock.jump(HOURS)
        case.world.submit(never_starting(jobs.manifest("stuck", quota)))
        case.world.wait_phase(jobs.unit("stuck"), "Dequeued")
        begin = case.now
        case.passes(5)
        case.ground.kq_clock.jump(-HOURS)
        case.until(
            lambda: case.phases()[jobs.unit("stuck")] == "TimeoutBackoff", "it backs off", 3 * START
        )
        assert case.now - begin < 2 * START + CLOSE
        case.until(
            lambda: case.phases()[jobs.unit("stuck")] == "Dequeued", "its next try", 2 * BACKOFF
        )


@pytest.mark.parametrize("ahead", [HOURS, -HOURS], ids=["ahead", "behind"])
def test_g2_a_back_off_ends_in_time_whatever_the_clock_was_when_it_was_written(
    ahead: float,
) -> None:
    """Case G2: cut back to what a back-off may be, and never skipped."""
    with stage_of(TF_JOB, tfjob=PATIENCE) as case:
        jobs = KindWorld.of(case.world, TF_JOB)
        case.ground.kq_clock.jump(ahead)
        case.world.submit(never_starting(jobs.manifest("stuck", case.world.quota("a", cpu=3))))
        unit = jobs.unit("stuck")
        case.until(lambda: case.phases().get(unit) == "TimeoutBackoff", "it backs off", 2 * START)
        begin = case.now
        case.ground.kq_clock.jump(-ahead)
        case.until(lambda: case.phases()[unit] == "Dequeued", "its next try", 3 * BACKOFF)
        waited = case.now - begin
        assert waited < 2 * BACKOFF + CLOSE
        if ahead > 0:
            assert waited > BACKOFF - CLOSE


@pytest.mark.parametrize("kind", [TF_JOB, SPARK_APPLICATION], ids=lambda kind: kind.id)
def test_g1_a_limited_run_that_began_in_the_future_ends_all_the_same(kind: KindCase) -> None:
    """Case G1, spec 9.13: what it ran before the clock was put right is forgiven, no more."""
    with stage_of(kind) as case:
        jobs = KindWorld.of(case.world, kind)
        quota = case.world.quota("a", cpu=kind.cpu)
        case.ground.kq_clock.jump(HOURS)
        made = jobs.manifest("long", quota)
        meta = {**made["metadata"], "annotations": {keys.MAX_EXEC_TIME: str(int(LONGEST))}}
        case.world.submit({**made, "metadata": meta})
        unit = jobs.unit("long")
        case.world.wait_phase(unit, "Running")
        begin = case.now
        case.ground.kq_clock.jump(-HOURS)
        case.until(lambda: case.phases()[unit] == "Enqueued", "its time is over", 3 * LONGEST)
        assert case.now - begin < 2 * LONGEST + CLOSE
        status = case.world.unit(unit)["status"]
        assert status["accumulatedPastExecutionTimeSeconds"] <= LONGEST + CLOSE


@pytest.fixture
def protecting() -> Iterator[Case]:
    """A grant is safe for a minute."""
    settings = parse({"defaultReclaimProtectTime": "60s"})
    with on_stage(terms=Terms(settings=settings, objects=manifests())) as case:
        yield case


@pytest.mark.parametrize("ahead", [HOURS, 0.0], ids=["a wrong clock", "a right one"])
def test_g2_a_grant_of_the_future_is_not_safe_until_then(protecting: Case, ahead: float) -> None:
    """Case G2, spec 13.8."""
    world = protecting.world
    quota = world.quota("a", cpu=2, annotations={keys.ENABLE_PREEMPTION[0]: "true"})
    protecting.passes(2)
    protecting.ground.kq_clock.jump(ahead)
    world.job("low", quota, cpu=2)
    world.wait_phase("low", "Running")
    protecting.ground.kq_clock.jump(-ahead)
    world.job("high", quota, cpu=2, priority=5)
    waited = protecting.until(
        lambda: protecting.phases().get("high") == "Running", "its place is free", 120
    )
    assert waited < 60 + CLOSE
    if not ahead:
        assert waited > 60 - 2 * CLOSE
