"""The operators that a simulated cluster can have: by name, and with kq at work on their jobs."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from controlplane.errors import Refused
from simulated_ground import SimulatedGround, manifests, simulated_ground
from world import World

from kq.core import keys
from kq.core.kinds import NAMESPACE, POD, QUEUE_UNIT, ResourceKind
from kq.errors import ConfigError
from kq.settings import Settings
from kq.sim.operators import (
    OPERATORS,
    chosen,
    extensions,
    operator_controllers,
    operator_kinds,
)
from kq.sim.world import Terms

EXAMPLES = Path(__file__).parents[2] / "manifests" / "examples"
THAT_END = (
    "job.yaml",
    "jobset.yaml",
    "mpijob.yaml",
    "paddlejob.yaml",
    "pytorchjob.yaml",
    "tfjob.yaml",
    "trainjob.yaml",
    "xgboostjob.yaml",
)
NAMES = ("training", "mpi", "trainer")
SERVICE_ACCOUNT = ResourceKind("", "v1", "ServiceAccount", "serviceaccounts")
NAME = "test-a"
REPLICAS = {
    "tfReplicaSpecs": {"Worker": {}},
    "mpiReplicaSpecs": {"Launcher": {}, "Worker": {"replicas": 1}},
    "replicatedJobs": [{"name": "x", "template": {}}],
    "runtimeRef": {"name": "nobody"},
}
"""Roles without pods; what a kind does not know is dropped."""


@pytest.mark.parametrize("name", OPERATORS)
def test_each_operator_brings_the_kinds_that_it_looks_after(name: str) -> None:
    defined = {each["metadata"]["name"] for each in operator_kinds([name])}
    assert defined == {kind for each in chosen([name]) for kind in each.kinds}
    followed = {kind for each in operator_controllers([name]) for kind in each.kinds}
    assert set(OPERATORS[name].kinds) - {"trainingruntimes.trainer.kubeflow.org",
        "clustertrainingruntimes.trainer.kubeflow.org"} <= followed  # fmt: skip


def test_an_operator_comes_with_those_that_it_needs_and_each_comes_once() -> None:
    assert chosen(["trainer"]) == [OPERATORS["jobset"], OPERATORS["trainer"]]
    assert chosen(["trainer", "jobset", "trainer"]) == chosen(["trainer"])


def test_without_operators_there_is_nothing_to_define() -> None:
    assert (operator_kinds([]), operator_controllers([]), extensions([])) == ([], [], ("job",))


def test_kq_is_told_of_the_kinds_that_there_are() -> None:
    assert extensions(["mpi", "trainer"]) == ("job", "mpijob", "jobset", "trainjob")


def test_a_name_that_nobody_has_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(
        ConfigError, match="no operator is called nix, nox; there are training, mpi"
    ):
        operator_kinds(["nix", "mpi", "nox"])


@pytest.fixture
def ground() -> Iterator[SimulatedGround]:
    """A cluster with the operators of training jobs, all of which kq queues."""
    settings = Settings()
    settings = replace(settings, jobs=replace(settings.jobs, enabled=extensions(NAMES)))
    terms = Terms(objects=manifests(), settings=settings, operators=NAMES)
    with simulated_ground(terms=terms) as ground:
        ground.create(NAMESPACE, {"metadata": {"name": NAME}})
        ground.wait(SERVICE_ACCOUNT, NAME, "default", bool)
        yield ground


def example(file: str, quota: str) -> list[Any]:
    """The objects of an example, queued for a quota, in the namespace of the test."""
    read = deepcopy(list(yaml.safe_load_all((EXAMPLES / file).read_text())))
    for each in read:
        each["metadata"]["namespace"] = NAME
    read[-1]["metadata"]["labels"][keys.QUOTA_LABEL] = quota
    return read


def test_all_examples_wait_their_turn_in_one_small_quota_and_run_to_their_end(
    ground: SimulatedGround,
) -> None:
    world = World(ground=ground, namespace=NAME)
    quota = world.quota("a", cpu="1500m", memory="3Gi")
    told = ground.submit([each for file in THAT_END for each in example(file, quota)])
    assert told.count(f"held by koord-queue until quota {quota} allows") == len(THAT_END)

    def all_ended() -> bool:
        units = ground.items(QUEUE_UNIT, NAME)
        used = sum(map(cpu_of, ground.items(POD, NAME)))
        assert used <= 1500
        phases = [each.get("status", {}).get("phase") for each in units]
        return phases == ["Succeed"] * len(THAT_END)

    ground.until(all_ended, "all have succeeded", seconds=600.0)


def cpu_of(pod: Any) -> int:
    """What a pod that has not ended asks for, in thousandths."""
    if pod["status"]["phase"] in ("Succeeded", "Failed"):
        return 0
    asked = [each["resources"]["requests"]["cpu"] for each in pod["spec"]["containers"]]
    return sum(int(each.removesuffix("m")) for each in asked)


BODIES: tuple[Any, ...] = ({}, {"spec": {}}, {"spec": {"suspend": True}}, {"spec": REPLICAS})


def test_operators_stumble_over_nothing_that_the_definitions_let_through(
    ground: SimulatedGround,
) -> None:
    ground.run(ground.simulation.kill_webhook())
    made = 0
    for kind in kinds_of(ground):
        for number, body in enumerate(BODIES):
            meta = {"name": f"a-{number}", "namespace": NAME}
            with suppress(Refused):
                ground.create(kind, {"metadata": meta, **body})
                made += 1
    ground.run(asyncio.sleep(3.0))
    assert made > len(BODIES)
    assert ground.simulation.cluster.failures == []


def kinds_of(ground: SimulatedGround) -> list[ResourceKind]:
    """The kinds of jobs that the operators serve."""
    served = {kind for each in chosen(NAMES) for kind in each.kinds}
    return [
        ResourceKind(each.group, each.version, each.kind, each.plural, each.namespaced)
        for each in ground.simulation.server.registry
        if each.key in served
    ]
