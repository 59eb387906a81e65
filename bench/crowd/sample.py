"""One job of each shape that waits, with its unit, as kq leaves them: made by kq itself."""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from bench.failure import BenchError
from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, JOB, NAMESPACE, POD, QUEUE, QUEUE_UNIT, ResourceKind
from kq.kube.client import Client
from kq.sim.time import LoopClock, VirtualLoop
from kq.sim.world import Simulation

Object = dict[str, Any]

TEAMS = 20
SHAPES = 10
"""Sizes of jobs in each team."""
ROOT = "company"
LIMIT = 100
"""What a team has, in cpus; jobs that never end have it all."""
HOLDER = "holder"
ROOMS = 5
"""Of the jobs that have it so many are of one cpu: what they give back is enough for one more."""
WAITING = "train-"
"""How names of jobs begin that wait."""
START = datetime(2026, 3, 2, 9, tzinfo=UTC)
HOLDING_SECONDS = 10.0
SETTLING_SECONDS = 60.0
"""Longer than any interval in which a Queue's status is written."""
KINDS = (NAMESPACE, ELASTIC_QUOTA, QUEUE, JOB, POD, QUEUE_UNIT)
"""Of which objects are taken along, owners first."""
SYSTEM = ("default", "koord-queue", "kube-node-lease", "kube-public", "kube-system")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What is there once, and what is to be multiplied."""

    once: list[Object]
    waiting: list[tuple[Object, Object]]
    """Jobs and their units."""


def taken() -> Sample:
    """Twenty teams with a full quota each, and jobs of ten sizes that wait for each."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(_taken())


def team(number: int) -> str:
    """The name of a team, its quota and its namespace."""
    return f"team-{number:02}"


def room(number: int) -> str:
    """The name of such a small job."""
    return f"room-{number}"


def quota(name: str, cpus: int, parent: str) -> Object:
    """So many cpus, and as many Gi of memory."""
    labels = {keys.PARENT_LABEL: parent} if parent else {keys.IS_PARENT_LABEL: "true"}
    return {
        "apiVersion": ELASTIC_QUOTA.api_version,
        "kind": ELASTIC_QUOTA.kind,
        "metadata": {"name": name, "namespace": name, "labels": labels},
        "spec": {"max": limits(cpus)},
    }


def limits(cpus: int) -> Mapping[str, str]:
    """The amounts of a quota."""
    return {"cpu": str(cpus), "memory": f"{cpus}Gi"}


def job(name: str, namespace: str, cpus: int) -> Object:
    """A job of one pod, as people write them."""
    container = {
        "name": "train",
        "image": "registry.example/train:1",
        "command": ["python", "-m", "train", "--config", "/etc/train/config.yaml"],
        "env": [{"name": f"SETTING_{number}", "value": f"value-{number}"} for number in range(6)],
        "resources": {"requests": limits(cpus), "limits": limits(cpus)},
    }
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {keys.QUOTA_LABEL: namespace, "app": "train"},
        },
        "spec": {
            "template": {
                "metadata": {"annotations": {"run-for": "forever"}},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            }
        },
    }


async def _taken() -> Sample:
    chance = random.Random(1)  # noqa: S311 - UIDs that are the same at each run
    clock = LoopClock(START, asyncio.get_running_loop())
    async with Simulation(clock=clock, random=chance) as simulation:
        client = simulation.client()
        await _submit(client)
        await asyncio.sleep(SETTLING_SECONDS)
        found = {kind: await _objects(client, kind) for kind in KINDS}
    units = {each["spec"]["consumerRef"]["uid"]: each for each in found[QUEUE_UNIT]}
    waiting = [
        (each, units[each["metadata"]["uid"]]) for each in found[JOB] if each["spec"]["suspend"]
    ]
    if len(waiting) != TEAMS * SHAPES or not all(unit["status"]["message"] for _, unit in waiting):
        raise BenchError(f"{len(waiting)} jobs of the sample wait, or a unit has no reason")
    left_out = {each["metadata"]["uid"] for pair in waiting for each in pair}
    return Sample(
        once=[
            each
            for kind in KINDS
            for each in found[kind]
            if each["metadata"]["uid"] not in left_out and each["metadata"]["name"] not in SYSTEM
        ],
        waiting=waiting,
    )


async def _submit(client: Client) -> None:
    for name in (ROOT, *map(team, range(TEAMS))):
        await client.create(NAMESPACE, {"metadata": {"name": name}})
    await client.create(ELASTIC_QUOTA, quota(ROOT, TEAMS * LIMIT * 2, ""), ROOT)
    for name in map(team, range(TEAMS)):
        await client.create(ELASTIC_QUOTA, quota(name, LIMIT, ROOT), name)
        await client.create(JOB, job(HOLDER, name, LIMIT - ROOMS), name)
        for number in range(ROOMS):
            await client.create(JOB, job(room(number), name, 1), name)
    await asyncio.sleep(HOLDING_SECONDS)
    for name in map(team, range(TEAMS)):
        for size in range(SHAPES):
            await client.create(JOB, job(f"{WAITING}{name}-{size}", name, size + 1), name)


async def _objects(client: Client, kind: ResourceKind) -> list[Object]:
    found: list[Object] = msgspec.json.decode(await client.list_page(kind))["items"]
    return [{"apiVersion": kind.api_version, "kind": kind.kind, **each} for each in found]
