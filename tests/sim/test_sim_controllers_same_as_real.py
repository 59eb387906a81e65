"""Jobs fare on the simulated cluster as they do on a real one: the same scenes, played on both."""

import asyncio
import re
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from controller_scenes import SCENES, Scene
from controller_stage import Stage
from controller_stories import Story, is_coalesced, milestones, outlines
from controlplane.cluster import Cluster

from kq.clock import utc_now
from kq.core.kinds import ResourceKind
from kq.kube.auth import load_connection
from kq.kube.client import Client
from kq.kube.connection import Connection
from kq.sim.api.server import ApiServer
from kq.sim.cluster.cluster import controllers, node
from kq.sim.control.running import Running
from kq.sim.local import LocalTransport

NODE = ResourceKind("", "v1", "Node", "nodes", namespaced=False)
START = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


async def played(client: Client, name: str, scene: Scene, now: Callable[[], datetime]) -> Story:
    """The story of a scene, played in a namespace of its own."""
    slug = re.sub("[^a-z]+", "-", name)[:40]
    stage = Stage(client, f"{slug}-{secrets.token_hex(3)}")
    await stage.open()
    try:
        await scene.play(stage, now)
    finally:
        await stage.close()
    return Story.of(stage.namespace, stage.happened)


async def all_played(cluster: Cluster) -> dict[str, Story | Exception]:
    """The stories of all scenes, played on the real cluster at the same time."""
    connection = await load_connection(str(cluster.kubeconfig), None)
    async with Client(connection) as client:
        plays = [played(client, name, scene, utc_now) for name, scene in SCENES.items()]
        told = await asyncio.gather(*plays, return_exceptions=True)
    return dict(zip(SCENES, told, strict=True))


@pytest.fixture(scope="module")
def real_stories(control_plane: Cluster) -> Iterator[dict[str, Story | Exception]]:
    """What a real cluster does in each scene."""
    with ThreadPoolExecutor(1) as thread:
        yield thread.submit(asyncio.run, all_played(control_plane)).result()


async def simulated(name: str) -> tuple[Story, list[Exception]]:
    """What the simulated cluster does in a scene, and what its controllers stumbled over."""
    loop = asyncio.get_running_loop()
    begin = loop.time()

    def clock() -> datetime:
        return START + timedelta(seconds=loop.time() - begin)

    server = ApiServer(clock=clock, random=Random(1))
    await server.start()
    running = Running(server, controllers())
    running.start()
    transport = LocalTransport(server)
    try:
        async with Client(Connection(base_url="https://sim"), transport=transport) as client:
            for number in range(2):
                await client.create(NODE, node(f"node-{number}"))
            story = await played(client, name, SCENES[name], clock)
    finally:
        await running.stop()
    return story, running.failures


@pytest.mark.looptime
@pytest.mark.parametrize("name", SCENES)
async def test_jobs_fare_as_on_a_real_cluster(
    name: str, real_stories: dict[str, Story | Exception]
) -> None:
    real = real_stories[name]
    if isinstance(real, Exception):
        raise real
    told, failures = await simulated(name)

    assert failures == []
    assert list(told.jobs) == list(real.jobs)
    for job, steps in real.jobs.items():
        assert milestones(told.jobs[job]) == milestones(steps)
        assert told.jobs[job][-1] == steps[-1]
    assert outlines(told.pods) == outlines(real.pods)
    assert real.events <= told.events
    assert told.quotas[-1:] == real.quotas[-1:]


@pytest.mark.looptime
@pytest.mark.parametrize("name", [name for name, scene in SCENES.items() if not scene.is_racy])
async def test_each_step_of_the_real_cluster_is_a_step_of_the_simulated_one(
    name: str, real_stories: dict[str, Story | Exception]
) -> None:
    real = real_stories[name]
    assert isinstance(real, Story)
    told, _ = await simulated(name)

    for job, steps in real.jobs.items():
        assert is_coalesced(steps, told.jobs[job])
    for seen, whole in zip(real.pods, told.pods, strict=True):
        assert is_coalesced(seen, whole)
