"""Scenes of jobs of Ray, Spark and Argo, played on a cluster: on any, or on a simulated one."""

import asyncio
import secrets
from datetime import UTC, datetime, timedelta
from random import Random

from controller_stage import Stage
from data_scenes import Part, Play
from data_stories import Story

from kq.core.kinds import CRD, ResourceKind
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
