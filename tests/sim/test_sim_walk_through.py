"""The walk-through of ack-kube-queue on the simulated cluster, word for word."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
import test_e2e_walk_through as scenarios
from kind_cases_kubeflow import TF_JOB
from kubectl_tables import rows
from simulated_ground import SimulatedGround, manifests, simulated_ground
from test_sim_scenarios import SERVICE_ACCOUNT
from world import World

from kq.cli.laying import default_policy, load_settings
from kq.core.kinds import NAMESPACE
from kq.jobs import INTEGRATIONS
from kq.sim.world import Terms

NAME = "test-a"
NO_FLAGS = {"config": None, "enabled_extensions": None, "default_queue_policy": None}


@pytest.fixture
def world(environment: Mapping[str, str]) -> Iterator[World]:
    """A namespace on a cluster of its own, with kq as that environment sets it up."""
    settings = load_settings(NO_FLAGS, environment)
    settings = replace(settings, jobs=replace(settings.jobs, enabled=tuple(INTEGRATIONS)))
    terms = Terms(
        objects=manifests(),
        settings=settings,
        default_policy=default_policy(settings, NO_FLAGS, environment),
        operators=("training", "argo"),
    )
    with simulated_ground(terms=terms) as ground:
        ground.create(NAMESPACE, {"metadata": {"name": NAME}})
        ground.wait(SERVICE_ACCOUNT, NAME, "default", bool)
        yield World(ground=ground, namespace=NAME)


@pytest.fixture
def listed(world: World) -> scenarios.Listed:
    """As the API server prints it for kubectl."""
    ground = world.ground
    assert isinstance(ground, SimulatedGround)

    def states(kind: str) -> Mapping[str, str]:
        assert kind == TF_JOB.kind.kind.lower()
        shown = ground.run(rows(ground.simulation.server, TF_JOB.kind))
        return {name: state for _, name, state, *_ in shown}

    return states


@pytest.mark.parametrize("environment", scenarios.MODES)
def test_the_second_tf_job_is_shown_as_queuing_until_the_first_has_ended(
    world: World, listed: scenarios.Listed, environment: Mapping[str, str]
) -> None:
    scenarios.test_the_second_tf_job_is_shown_as_queuing_until_the_first_has_ended(
        world, listed, environment
    )


@pytest.mark.parametrize("environment", scenarios.MODES[:1])
def test_a_workflow_is_queued_as_a_whole_by_what_it_says_that_it_needs(
    world: World, environment: Mapping[str, str]
) -> None:
    scenarios.test_a_workflow_is_queued_as_a_whole_by_what_it_says_that_it_needs(world, environment)
