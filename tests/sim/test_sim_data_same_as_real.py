"""Jobs of Ray, Spark and Argo fare as with the real operators: the same scenes, played on both."""

import asyncio
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from controller_stage import Stage
from controlplane.cluster import Cluster
from data_scenes import PARTS, Part, Play
from data_stories import Story, differing

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
NAMES = ("ray", "spark", "argo")

pytestmark = pytest.mark.operators(*NAMES)


async def played(client: Client, part: Part) -> Story:
    """The story of a scene, played in a namespace of its own."""
    slug = part.scene.__name__.replace("_", "-")[:40].rstrip("-")
    stage = Stage(client, f"{slug}-{secrets.token_hex(3)}", part.watched)
    await stage.open()
    try:
        await part.scene(Play(stage, part.kind))
    finally:
        await stage.close()
    return Story.of(stage.namespace, stage.happened)


async def all_played(cluster: Cluster) -> dict[str, Story | BaseException]:
    """The stories of all scenes, played on the real cluster at the same time."""
    connection = await load_connection(str(cluster.kubeconfig), None)
    async with Client(connection) as client:
        plays = [played(client, part) for part in PARTS.values()]
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
            story = await played(client, part)
    finally:
        await running.stop()
    return story, running.failures


@pytest.mark.looptime
@pytest.mark.parametrize("name", PARTS)
async def test_jobs_fare_as_with_real_operators(
    name: str, real_stories: dict[str, Story | BaseException]
) -> None:
    real = real_stories[name]
    if isinstance(real, BaseException):
        raise real
    told, failures = await simulated(PARTS[name])

    assert failures == []
    assert told.jobs.keys() == real.jobs.keys()
    for kind, steps in real.jobs.items():
        assert not differing(steps, told.jobs[kind]), kind
    assert told.ends == real.ends
    assert told.made == real.made
    assert not differing(real.pods, told.pods)
