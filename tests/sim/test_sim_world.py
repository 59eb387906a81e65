"""A simulation as a whole: what is installed, and what starting, stopping and killing kq means."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from simulated_ground import SimulatedGround, manifests, simulated_ground
from world import World

from kq.core.kinds import NAMESPACE, QUEUE_UNIT
from kq.errors import ConfigError
from kq.sim.install import LEFT_OUT, installation

NAME = "test-a"


@pytest.fixture
def ground() -> Iterator[SimulatedGround]:
    with simulated_ground() as ground:
        ground.create(NAMESPACE, {"metadata": {"name": NAME}})
        yield ground


@pytest.fixture
def world(ground: SimulatedGround) -> World:
    return World(ground=ground, namespace=NAME)


def test_all_manifests_are_installed_but_what_runs_beside_the_cluster() -> None:
    kinds = [each["kind"] for each in manifests()]
    assert kinds[:5] == ["CustomResourceDefinition"] * 4 + ["Namespace"]
    assert {"MutatingWebhookConfiguration", "ClusterRole", "ConfigMap", "Service"} <= set(kinds)
    assert not set(kinds) & set(LEFT_OUT)


def test_a_folder_that_is_no_kustomization_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"kustomization\.yaml cannot be read"):
        installation([tmp_path])


def test_a_manager_that_is_stopped_finishes_and_one_that_follows_goes_on(
    ground: SimulatedGround, world: World
) -> None:
    a = world.quota("a", cpu=1)
    world.job("first", a, cpu=1)
    world.wait_granted("first")
    ground.run(ground.simulation.stop_manager())
    assert ground.simulation.manager is None
    world.job("second", a, cpu=1)
    world.delete_job("first")
    with pytest.raises(AssertionError, match="not within 5 s"):
        ground.until(lambda: world.seen_unit("second"), "there is a unit", seconds=5.0)
    ground.run(ground.simulation.start_manager())
    world.wait_granted("second")


def test_a_manager_that_is_killed_writes_nothing_more(
    ground: SimulatedGround, world: World
) -> None:
    a = world.quota("a", cpu=1)
    manager = ground.simulation.manager
    assert manager is not None
    world.submit(*(world.manifest(f"job-{number}", a, cpu=1) for number in range(5)))
    manager.kill()
    version = ground.simulation.server.storage.version
    ground.until(lambda: manager.is_over, "it is over")
    units = ground.items(QUEUE_UNIT, NAME)
    assert all(int(each["metadata"]["resourceVersion"]) <= version for each in units)


def test_without_a_webhook_jobs_are_not_held_at_submit(
    ground: SimulatedGround, world: World
) -> None:
    a = world.quota("a", cpu=1)
    ground.run(ground.simulation.kill_webhook())
    read = world.submit(world.manifest("first", a, cpu=1))
    assert read == "job.batch/first created\n"
    ground.run(ground.simulation.start_webhook())
    assert "held by koord-queue" in world.submit(world.manifest("second", a, cpu=1))
