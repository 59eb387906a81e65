"""Jobs that grow and shrink, of several kinds, on the simulated cluster: B10 and E9."""

from collections.abc import Callable
from typing import Any

import kind_cases_data as data
import kind_cases_kubeflow as kubeflow
import pytest
from kind_cases import KindCase
from kind_world import KindWorld
from sim_case import Case
from test_sim_case_kinds import stage_of

Scale = Callable[[KindWorld, int], None]


def by_workers(field: str) -> Scale:
    def scale(jobs: KindWorld, workers: int) -> None:
        jobs.change("first", {"spec": {field: {"Worker": {"replicas": workers}}}})

    return scale


def by_group(jobs: KindWorld, workers: int) -> None:
    """As Ray's own autoscaler does it."""
    groups: list[Any] = jobs.wait("first", bool)["spec"]["workerGroupSpecs"]
    groups[0] |= {"replicas": workers, "minReplicas": 0, "maxReplicas": 9}
    jobs.change("first", {"spec": {"workerGroupSpecs": groups}})


def by_executors(jobs: KindWorld, workers: int) -> None:
    jobs.change("first", {"spec": {"executor": {"instances": workers}}})


RUNNING = [
    pytest.param(kubeflow.TF_JOB, by_workers("tfReplicaSpecs"), id="TFJob"),
    pytest.param(kubeflow.PYTORCH_JOB, by_workers("pytorchReplicaSpecs"), id="PyTorchJob"),
    pytest.param(kubeflow.MPI_JOB, by_workers("mpiReplicaSpecs"), id="MPIJob"),
    pytest.param(data.RAY_CLUSTER, by_group, id="RayCluster"),
]
"""A leader and two workers each."""
WAITING = [*RUNNING, pytest.param(data.SPARK_APPLICATION, by_executors, id="SparkApplication")]


def used(case: Case, quota: str) -> int:
    """Whole cpus that the Queue of a quota tells to be in use."""
    return int(case.world.queue(quota)["status"]["usage"]["cpu"])


def unseen(case: Case, act: Callable[[], None]) -> None:
    """It happens while no manager is there."""
    case.ground.run(case.simulation.kill_manager())
    act()
    case.passes(5)
    case.ground.run(case.simulation.start_manager())


@pytest.mark.parametrize("is_seen", [True, False], ids=["seen", "while no manager runs"])
@pytest.mark.parametrize(("kind", "scale"), RUNNING)
def test_e9_growth_of_a_running_job_counts_at_once_and_what_it_gives_back_is_used(
    kind: KindCase, scale: Scale, is_seen: bool
) -> None:
    """Cases E9, B10: 5 of 3, and nobody starts; then 2, and one starts."""
    with stage_of(kind) as case:
        world, jobs = case.world, KindWorld.of(case.world, kind)
        quota = world.quota("a", cpu=kind.cpu)
        jobs.submit("first", quota)
        jobs.wait_running("first")
        world.job("small", quota, cpu=1)
        case.passes(2)
        for workers, usage in ((4, 5), (1, 2)):
            if is_seen:
                scale(jobs, workers)
            else:
                unseen(case, lambda count=workers: scale(jobs, count))  # type: ignore[misc]
            free = kind.cpu - usage
            expected = usage + (1 if free > 0 else 0)
            case.until(lambda wanted=expected: used(case, quota) == wanted, f"{expected} used", 15)
            case.passes(5)
            assert len(jobs.pods("first")) == workers + 1
            assert case.phases()["small"] == ("Running" if free > 0 else "Enqueued")
            assert used(case, quota) == expected
        assert case.phases()[jobs.unit("first")] == "Running"
        assert world.unit(jobs.unit("first"))["status"]["attempts"] == 1
        case.onlooker.wrongs.clear()


@pytest.mark.parametrize(("kind", "scale"), WAITING)
def test_b10_what_a_waiting_job_asks_for_is_what_it_says_now(kind: KindCase, scale: Scale) -> None:
    """Case B10: while it waits it may become too large, and small enough again."""
    with stage_of(kind) as case:
        world, jobs = case.world, KindWorld.of(case.world, kind)
        quota = world.quota("a", cpu=3)
        world.job("holds", quota, cpu=3)
        world.wait_phase("holds", "Running")
        jobs.submit("first", quota)
        unit = jobs.unit("first")
        world.wait_phase(unit, "Enqueued")
        scale(jobs, 5)
        never = f"cannot start: 6 cpu requested, but max of quota {quota} is 3"
        assert world.wait_message(unit, never)["spec"]["resource"]["cpu"] == "6"
        scale(jobs, 1)
        later = f"waiting for quota {quota}: 2 cpu requested, not enough free of 3"
        changed = world.wait_message(unit, later)["spec"]
        assert changed["resource"]["cpu"] == "2"
        assert changed["request"]["cpu"] == "3"
        world.delete_job("holds")
        world.wait_phase(unit, "Running")
        world.job("small", quota, cpu=1)
        world.wait_phase("small", "Running")
        assert used(case, quota) == 3
        case.onlooker.wrongs.clear()
