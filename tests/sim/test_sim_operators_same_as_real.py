"""Jobs of operators fare as with the real ones: the same scenes, played with both."""

import asyncio
import secrets
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from controller_stage import Stage
from controlplane.cluster import Cluster
from operator_scenes import CASTS, PARTS, Cast, Part, Play
from operator_stories import Story, differing

from kq.core.kinds import CRD, ResourceKind
from kq.kube.auth import load_connection
from kq.kube.client import Client
from kq.kube.connection import Connection
from kq.sim.api.server import ApiServer
from kq.sim.cluster.cluster import controllers, node
from kq.sim.control.running import Running
from kq.sim.local import LocalTransport
from kq.sim.operators import operator_controllers, operator_kinds

NODE = ResourceKind("", "v1", "Node", "nodes", namespaced=False)
START = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
NAMES = ("training", "mpi", "trainer")

# All scenes are played at the same time, before the first test; training-operator takes its time.
pytestmark = [pytest.mark.operators(*NAMES), pytest.mark.timeout(300)]


async def played(client: Client, cast: Cast, part: Part) -> Story:
    """The story of a scene, played in a namespace of its own."""
    slug = f"{cast.kind.kind.lower()}-{part.scene.__name__.replace('_', '-')}"[:40].rstrip("-")
    stage = Stage(client, f"{slug}-{secrets.token_hex(3)}", cast.watched)
    await stage.open()
    try:
        await part.scene(Play(cast=cast, stage=stage))
    finally:
        await stage.close()
    return Story.of(stage.namespace, stage.happened)


async def all_played(cluster: Cluster) -> dict[str, Story | BaseException]:
    """The stories of all scenes, played on the real cluster at the same time."""
    connection = await load_connection(str(cluster.kubeconfig), None)
    async with Client(connection) as client:
        plays = [played(client, CASTS[part.cast], part) for part in PARTS.values()]
        told = await asyncio.gather(*plays, return_exceptions=True)
    return dict(zip(PARTS, told, strict=True))


@pytest.fixture(scope="module")
def real_stories(
    control_plane: Cluster, operators: Callable[..., None]
) -> Iterator[dict[str, Story | BaseException]]:
    """What real operators do in each scene."""
    operators(*NAMES)
    with ThreadPoolExecutor(1) as thread:
        yield thread.submit(asyncio.run, all_played(control_plane)).result()


async def simulated(part: Part) -> tuple[Story, list[Exception]]:
    """What the simulated operators do in a scene, and what they stumbled over."""
    loop = asyncio.get_running_loop()
    begin = loop.time()

    def clock() -> datetime:
        return START + timedelta(seconds=loop.time() - begin)

    server = ApiServer(clock=clock, random=Random(1))
    await server.start()
    running = Running(server, [*controllers(), *operator_controllers(NAMES)])
    running.start()
    transport = LocalTransport(server)
    try:
        async with Client(Connection(base_url="https://sim"), transport=transport) as client:
            await client.create(NODE, node("node-0"))
            for crd in operator_kinds(NAMES):
                await client.create(CRD, crd)
            story = await played(client, CASTS[part.cast], part)
    finally:
        await running.stop()
    return story, running.failures


TRANSIENT = {"active", "ready", "terminating"}


def settled(ends: Mapping[str, Any]) -> dict[str, Any]:
    """Without how many pods of child Jobs still run or end: at a JobSet's failure they race it."""
    return {
        name: without_transient(end) if name.startswith("Job ") else end
        for name, end in ends.items()
    }


def without_transient(end: Mapping[str, Any]) -> dict[str, Any]:
    counts = {key: count for key, count in end["counts"].items() if key not in TRANSIENT}
    return {**end, "counts": counts}


@pytest.mark.looptime
@pytest.mark.parametrize("name", PARTS)
async def test_jobs_fare_as_with_real_operators(
    name: str, real_stories: dict[str, Story | BaseException]
) -> None:
    real, part = real_stories[name], PARTS[name]
    if isinstance(real, BaseException):
        raise real
    told, failures = await simulated(part)

    assert failures == []
    assert sorted(told.jobs) == sorted(real.jobs)
    for job, steps in real.jobs.items():
        begin = -1 if part.is_racy else 0
        assert not differing(steps[begin:], told.jobs[job][begin:]), job
    assert settled(told.ends) == settled(real.ends)
    if not part.is_racy:
        assert told.made == real.made
        assert not differing(real.pods, told.pods)
