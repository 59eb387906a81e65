"""What settings of quotas do in a whole manager, simulated (spec 3.10, 11.2, 11.9a)."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest
from ground import Object
from simulated_ground import SimulatedGround, manifests, simulated_ground
from test_sim_scenarios import SERVICE_ACCOUNT
from world import World

from kq.core.keys import USAGE_ANNOTATIONS
from kq.core.kinds import NAMESPACE
from kq.settings import Settings
from kq.settings.quotas import QuotaSettings
from kq.sim.world import Terms

NAME = "test-a"


@contextmanager
def set_to(**quota: Any) -> Iterator[World]:
    """A cluster of its own with kq so set."""
    terms = Terms(objects=manifests(), settings=Settings(quota=QuotaSettings(**quota)))
    with simulated_ground(terms=terms) as ground:
        ground.create(NAMESPACE, {"metadata": {"name": NAME}})
        ground.wait(SERVICE_ACCOUNT, NAME, "default", bool)
        yield World(ground=ground, namespace=NAME)


def rests(world: World, seconds: float) -> None:
    """Nothing is done for so long."""
    assert isinstance(world.ground, SimulatedGround)
    loop = world.ground.loop
    end = loop.time() + seconds
    world.ground.until(lambda: loop.time() >= end, "the time is over")


def counts_one(queue: Object) -> bool:
    return bool(queue.get("status", {}).get("admittedUnits") == 1)


def marks(queue: Object) -> dict[str, str]:
    found = queue["metadata"]["annotations"]
    return {key: found[key] for key in USAGE_ANNOTATIONS if key in found}


@pytest.mark.parametrize("shown", [True, False])
def test_3_10_usage_annotations_are_shown_on_demand(shown: bool) -> None:
    with set_to(usageAnnotations=shown) as world:
        a = world.quota("a", cpu=2)
        world.job("first", a, cpu=1)
        world.wait_queue(a, counts_one)
        rests(world, 20)
        assert marks(world.queue(a)).get(USAGE_ANNOTATIONS[0]) == (
            '{"cpu":1000}' if shown else None
        )


def test_11_2_limits_are_multiplied_by_the_rate() -> None:
    with set_to(oversellRate=Decimal("1.5")) as world:
        a = world.quota("a", cpu=2)
        world.submit(*(world.manifest(name, a, cpu=1) for name in ("one", "two", "three", "four")))
        world.wait_message("four", f"waiting for quota {a}: 1 cpu requested, not enough free of 3")
        assert len(world.wait_pods("three")) == 1


@pytest.mark.parametrize("seconds", [2, 0], ids=["a limit", "none"])
def test_11_9a_how_long_ending_pods_count_is_set(seconds: int) -> None:
    """The pod takes nine seconds to end, and should have taken one."""
    with set_to(terminatingLimitSeconds=seconds) as world:
        a = world.quota("a", cpu=1)
        ends = {"terminationGracePeriodSeconds": 1}
        first = world.manifest("first", a, cpu=1, played={"linger-for": "9s"}, pod_spec=ends)
        world.submit(first)
        world.wait_pods("first")
        world.submit(world.manifest("second", a, cpu=1))
        world.wait_phase("second", "Enqueued")
        world.delete_job("first")
        world.wait_granted("second")
        assert len(world.pods("first")) == (1 if seconds else 0)
