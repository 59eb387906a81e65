"""A manager that is killed at any write of a preemption, simulated: case L1 with other kinds."""

from typing import Any

import kind_cases_data as data
import kind_cases_kubeflow as kubeflow
import pytest
from kind_cases import KindCase
from kind_world import KindWorld
from sim_case import Case
from test_sim_case_kinds import stage_of

from kq.core import keys
from kq.sim.faults import Trouble

PREEMPTS = {keys.ENABLE_PREEMPTION[0]: "true"}
MOST_WRITES = 40
SETTLED = 120


def killed_at(kind: KindCase, write: int) -> tuple[bool, Any]:
    """Whether there was such a write, and the end of it all; 0: nobody is killed."""
    with stage_of(kind) as case:
        world, jobs = case.world, KindWorld.of(case.world, kind)
        quota = world.quota("a", cpu=kind.cpu, annotations=PREEMPTS)
        case.passes(2)
        jobs.submit("low", quota, linger_for="3s")
        jobs.wait_running("low")
        case.passes(3)
        fault = case.faults.plan(Trouble.DEATH, spared=write - 1) if write else None
        world.job("high", quota, cpu=kind.cpu, priority=5, run_for="20s")
        is_back = fault is None
        for _ in range(SETTLED):
            case.passes(1)
            if fault is not None and fault.struck and not is_back:
                case.ground.run(case.simulation.kill_manager())
                case.ground.run(case.simulation.start_manager())
                is_back = True
        return is_back, outcome(case, jobs)


def outcome(case: Case, jobs: KindWorld) -> Any:
    unit = case.world.unit(jobs.unit("low"))
    return (
        case.phases(),
        unit["status"]["attempts"],
        len(jobs.pods("low")),
        case.world.queue(unit["spec"]["queue"])["status"]["usage"],
    )


@pytest.mark.parametrize(
    "kind", [kubeflow.TF_JOB, data.SPARK_APPLICATION], ids=lambda kind: kind.id
)
def test_l1_killed_at_any_write_of_a_preemption_the_end_is_the_same(kind: KindCase) -> None:
    """Case L1: the one has run, the other one is back; nobody ran twice, or beside the other."""
    _, expected = killed_at(kind, 0)
    phases, attempts, pods, usage = expected
    assert phases == {f"low{kind.suffix}": "Running", "high": "Succeed"}
    assert (attempts, pods, usage) == (2, kind.pods, {"cpu": str(kind.cpu)})
    writes = 0
    while writes < MOST_WRITES:
        was_struck, found = killed_at(kind, writes + 1)
        assert found == expected, f"killed at write {writes + 1}"
        if not was_struck:
            break
        writes += 1
    assert 10 < writes < MOST_WRITES
