"""The end-to-end scenarios of the job kinds with simulated operators, word for word."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import test_e2e_kinds as scenarios
from kind_cases import KindCase
from kind_world import KindWorld
from simulated_ground import manifests, simulated_ground
from world import World

from kq.core.kinds import NAMESPACE, ResourceKind
from kq.jobs import INTEGRATIONS
from kq.settings import Settings
from kq.sim.operators import OPERATORS
from kq.sim.world import Terms

SERVICE_ACCOUNT = ResourceKind("", "v1", "ServiceAccount", "serviceaccounts")
NAME = "test-a"


def is_simulated(case: KindCase) -> bool:
    """Whether its operator is played: MPIJob's is mpi-operator alone."""
    kind = f"{case.kind.plural}.{case.kind.group}"
    return any(kind in OPERATORS[name].kinds for name in case.operators if name in OPERATORS)


CASES = [each for each in scenarios.CASES if is_simulated(each)]


def of_kinds(cases: list[KindCase]) -> Callable[..., object]:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.id)


@pytest.fixture
def world(case: KindCase) -> Iterator[World]:
    """A namespace on a cluster with the operators of a kind, whose jobs kq queues."""
    settings = Settings()
    settings = replace(settings, jobs=replace(settings.jobs, enabled=tuple(INTEGRATIONS)))
    terms = Terms(objects=manifests(), settings=settings, operators=case.operators)
    with simulated_ground(terms=terms) as ground:
        ground.create(NAMESPACE, {"metadata": {"name": NAME}})
        ground.wait(SERVICE_ACCOUNT, NAME, "default", bool)
        yield World(ground=ground, namespace=NAME)


@pytest.fixture
def jobs(world: World, case: KindCase) -> KindWorld:
    return KindWorld.of(world, case)


@of_kinds(CASES)
def test_a_job_waits_without_pods_and_runs_on_what_it_asks_for(
    world: World, jobs: KindWorld
) -> None:
    scenarios.test_a_job_waits_without_pods_runs_on_what_it_asks_for_and_frees_that_at_its_end(
        world, jobs
    )


@of_kinds([each for each in CASES if each.evictable])
def test_a_stopped_job_frees_its_quota_when_its_pods_are_gone(
    world: World, jobs: KindWorld
) -> None:
    scenarios.test_a_stopped_job_frees_its_quota_when_its_pods_are_gone_and_runs_again(world, jobs)


@of_kinds([each for each in CASES if not each.evictable])
def test_a_job_that_cannot_be_stopped_runs_on_and_counts(world: World, jobs: KindWorld) -> None:
    scenarios.test_a_job_that_cannot_be_stopped_runs_on_and_counts(world, jobs)


@of_kinds(CASES)
def test_a_running_job_is_charged_once_and_leaves_the_rest_to_others(
    world: World, jobs: KindWorld
) -> None:
    """By its grant or by its pods, never by both, nor by those of a child beside them."""
    cpu = jobs.case.cpu
    a = world.quota("a", cpu=cpu + 1)
    jobs.submit("first", a)
    jobs.wait_running("first")
    world.wait_phase(jobs.unit("first"), "Running")
    world.submit(world.manifest("second", a, cpu=1))
    world.wait_pods("second")
