"""Jobs that nobody may preempt, within min, on the simulated cluster (spec 11.13)."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
import test_e2e_within_min
from ground import Object
from mode_objects import grow, limit, node, plant
from reading import condition_of, is_suspended
from simulated_ground import manifests, simulated_ground
from test_e2e_within_min import IS_PARENT, KEPT, kept, lent, waits
from test_sim_scenarios import SERVICE_ACCOUNT, MortalSimulation, scenarios
from world import World

from kq.core.kinds import JOB, NAMESPACE
from kq.settings import Settings
from kq.settings.quotas import QuotaSettings
from kq.sim.world import Terms

NAME = "test-a"
BOUNDS = QuotaSettings(nonPreemptibleWithinMin=True)


@contextmanager
def bounded(**settings: Any) -> Iterator[World]:
    """A cluster of its own with kq so set."""
    terms = Terms(objects=manifests(), settings=Settings(**settings))
    with simulated_ground(terms=terms) as ground:
        ground.create(NAMESPACE, {"metadata": {"name": NAME}})
        ground.wait(SERVICE_ACCOUNT, NAME, "default", bool)
        yield World(ground=ground, namespace=NAME)


@pytest.fixture
def world() -> Iterator[World]:
    with bounded(quota=BOUNDS) as made:
        yield made


globals().update(scenarios(test_e2e_within_min))


def cpu(minimum: int, limit: int) -> Mapping[str, Any]:
    return {"min": {"cpu": str(minimum)}, "max": {"cpu": str(limit)}}


def test_in_a_tree_the_min_of_the_root_bounds_its_own_jobs_alone() -> None:
    """Spec 11.4: nodes and ancestors, but not the root."""
    leaf = node("leaf", **cpu(4, 8))
    with bounded(quota=BOUNDS, quotaPlugin="ElasticQuota") as world:
        plant(world, node("root", node("team", leaf, **cpu(3, 8)), **cpu(0, 8)))
        kept(world, "first", "leaf", cpu=3)
        world.wait_granted("first")
        kept(world, "second", "leaf", cpu=1)
        path = "root/team/leaf"
        world.wait_message(
            "second", f"waiting for quota root/team, ancestor of {path}: {waits(1, 3)}"
        )
        kept(world, "third", "root", cpu=1)
        world.wait_message(
            "third",
            "cannot start: 1 cpu requested, "
            "but min of quota root is 0 for jobs that are not preemptible",
        )
        lent(world, "fourth", "root", cpu=1)
        world.wait_granted("fourth")
        grow(world, node("root", node("team", leaf, **cpu(4, 8)), **cpu(5, 8)))
        world.wait_granted("second", "third")


def test_without_the_setting_min_bounds_nobody() -> None:
    with bounded() as world:
        a = world.quota("a", cpu=4, minimum={"cpu": 1})
        kept(world, "first", a, cpu=4)
        world.wait_granted("first")


def test_who_says_nothing_of_it_is_bound_where_nobody_is_preemptible_by_default() -> None:
    by_default = QuotaSettings(nonPreemptibleWithinMin=True, defaultPreemptible=False)
    with bounded(quota=by_default) as world:
        a = world.quota("a", cpu=4, minimum={"cpu": 1})
        lent(world, "first", a, cpu=1)
        lent(world, "second", a, cpu=1)
        world.wait_granted("first")
        world.wait_message("second", f"waiting for quota {a}: {waits(1, 1)}")


def test_resource_quotas_have_no_min_that_bounds_anybody() -> None:
    """The setting makes no difference there."""
    with bounded(quota=BOUNDS, quotaPlugin="ResourceQuota") as world:
        limit(world, "all", {"requests.cpu": 2})
        kept(world, "first", NAME, cpu=2)
        world.wait_granted("first")
        kept(world, "second", NAME, cpu=1)
        text = "1 requests.cpu requested, not enough free of 2"
        world.wait_message("second", f"waiting for quota {NAME}/all: {text}")


def runs(job: Object) -> bool:
    """Whether its pods may run."""
    ended = condition_of(job, "Complete") or condition_of(job, "Failed")
    return not (is_suspended(job) or ended)


def test_no_min_is_exceeded_at_any_moment_though_the_manager_dies_again_and_again() -> None:
    """Spec 24.1, 24.8: what it knows of who may be preempted follows from what is there."""
    mins = {"root": 4, "a": 3, "b": 2}
    with bounded(quota=BOUNDS) as world:
        root = world.quota("root", cpu=9, minimum={"cpu": 4}, labels=IS_PARENT)
        of = {
            each: world.quota(each, cpu=9, minimum={"cpu": mins[each]}, parent=root)
            for each in "ab"
        }
        since = world.ground.version(JOB, NAME)
        asks: dict[str, tuple[str, int]] = {}
        for number in range(18):
            name, leaf, cpu = f"j{number}", "ab"[number % 2], 1 + number % 2 + number // 9
            marks = KEPT if number % 3 else {}
            if marks:
                asks[name] = (leaf, min(cpu, mins[leaf]))
            what = {"cpu": min(cpu, mins[leaf]), "run_for": f"{2 + number % 4}s"}
            world.submit(world.manifest(name, of[leaf], labels=marks, **what))
        mortal = MortalSimulation(world.ground)
        for _ in range(3):
            world.ground.run(asyncio.sleep(1.7))
            mortal.kill_manager()
            world.ground.run(asyncio.sleep(0.4))
            mortal.start_manager()
        world.wait_complete(*(f"j{number}" for number in range(18)))
        used, most = Counter[str](), Counter[str]()
        running: set[str] = set()
        for change in world.ground.changes(NAME, {JOB: since}):
            name = change.thing["metadata"]["name"]
            if name in asks and (runs(change.thing) and not change.gone) is not (name in running):
                leaf, cpu = asks[name]
                sign = 1 if name not in running else -1
                used.update({leaf: sign * cpu, "root": sign * cpu})
                running ^= {name}
            most |= used
        assert all(most[level] <= mins[level] for level in mins)
        assert most["root"] == mins["root"]
