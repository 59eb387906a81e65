"""What `kq sim` says of the objects that it began with."""

import random
from collections.abc import Iterable
from dataclasses import replace

import pytest

from kq.cli.loaded import remarks
from kq.clock import utc_now
from kq.sim.cluster.cluster import node
from kq.sim.install import create
from kq.sim.loading import Bereft
from kq.sim.world import Simulation

UNIT = Bereft(
    kind="QueueUnit", place="n/a", owner="Job", owners="jobs", is_served=True, operator=""
)


@pytest.fixture
async def simulation() -> Simulation:
    """One that has a node and nothing else."""
    made = Simulation(clock=utc_now, random=random.Random(1))
    await made.server.start()
    await create(made.server, node("node-1"))
    return made


def units(count: int) -> list[Bereft]:
    return [replace(UNIT, place=f"n/{number}") for number in range(count)]


async def test_an_empty_cluster_is_not_worth_a_word(simulation: Simulation) -> None:
    assert list(remarks(simulation)) == []


@pytest.mark.parametrize(
    ("count", "namespaces", "text"),
    [
        (1, (), "1 object loaded"),
        (
            7,
            ("b", "a"),
            "7 objects loaded; made namespaces a, b, without labels, as no file has any:"
            " export namespaces too",
        ),
        (
            2,
            "a",
            "2 objects loaded; made namespace a, without labels, as no file has any:"
            " export namespaces too",
        ),
    ],
)
async def test_namespaces_that_were_made_are_named(
    simulation: Simulation, count: int, namespaces: Iterable[str], text: str
) -> None:
    simulation.loader.count, simulation.loader.namespaces = count, set(namespaces)
    assert list(remarks(simulation)) == [text]


async def test_what_came_again_is_named(simulation: Simulation) -> None:
    simulation.loader.repeated = ["Job n/a"]
    assert list(remarks(simulation)) == ["loaded more than once, the last one counts: Job n/a"]


@pytest.mark.parametrize(
    ("bereft", "text"),
    [
        pytest.param(
            [UNIT],
            "1 QueueUnit will be deleted, as its Job is in no file: n/a; export jobs too",
            id="one",
        ),
        pytest.param(
            units(7),
            "7 QueueUnits will be deleted, as their Jobs are in no file:"
            " n/0, n/1, n/2, n/3, n/4 and 2 more; export jobs too",
            id="many",
        ),
        pytest.param(
            [UNIT, replace(UNIT, place="n/b", owner="JobSet", owners="jobsets")],
            "2 QueueUnits will be deleted, as their JobSets, Jobs are in no file: n/a, n/b;"
            " export jobs,jobsets too",
            id="of several kinds",
        ),
        pytest.param(
            [replace(UNIT, owner="TFJob", owners="tfjobs", is_served=False, operator="training")],
            "1 QueueUnit stays without its TFJob, which this cluster does not serve: n/a;"
            " start it with --operators training, and export tfjobs too",
            id="of an operator",
        ),
        pytest.param(
            [
                replace(UNIT, owner="TFJob", owners="tfjobs", is_served=False, operator="training"),
                replace(UNIT, owner="RayJob", owners="rayjobs", is_served=False, operator="ray"),
            ],
            "2 QueueUnits stay without their RayJobs, TFJobs, which this cluster does not serve:"
            " n/a, n/a; start it with --operators ray,training, and export rayjobs,tfjobs too",
            id="of several operators",
        ),
        pytest.param(
            [replace(each, owner="Other", owners="others", is_served=False) for each in units(2)],
            "2 QueueUnits stay without their Others, which this cluster does not serve: n/0, n/1;"
            " export others too",
            id="of nobody known",
        ),
    ],
)
async def test_what_has_lost_its_owner_is_named(
    simulation: Simulation, bereft: list[Bereft], text: str
) -> None:
    simulation.bereft = bereft
    assert list(remarks(simulation)) == [text]


async def test_each_kind_has_a_sentence(simulation: Simulation) -> None:
    simulation.bereft = [UNIT, replace(UNIT, kind="Pod"), replace(UNIT, owner="JobSet"), UNIT]
    said = [each.partition(" will")[0] for each in remarks(simulation)]
    assert said == ["1 Pod", "3 QueueUnits"]


async def test_a_cluster_without_nodes_says_so() -> None:
    empty = Simulation(clock=utc_now, random=random.Random(1))
    assert list(remarks(empty)) == ["no node on it: pods stay Pending until you create one"]
