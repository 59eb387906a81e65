"""Scenes on both grounds: on a real cluster, all at the same time, and on a simulated one."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Generic, TypeVar

from controlplane.cluster import Cluster

from kq.core.kinds import CRD, ResourceKind
from kq.kube.auth import load_connection
from kq.kube.client import Client
from kq.kube.connection import Connection
from kq.sim.api.server import ApiServer
from kq.sim.cluster.cluster import controllers, node
from kq.sim.control.controller import Controller
from kq.sim.control.running import Running
from kq.sim.local import LocalTransport

NODE = ResourceKind("", "v1", "Node", "nodes", namespaced=False)
START = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
TRIES = 3

Clock = Callable[[], datetime]
SceneT = TypeVar("SceneT")
StoryT = TypeVar("StoryT")


class RealScenes(Generic[SceneT, StoryT]):
    """What a real cluster does in each scene, as often as that is asked."""

    def __init__(
        self,
        cluster: Cluster,
        scenes: Mapping[str, SceneT],
        play: Callable[[Client, SceneT], Awaitable[StoryT]],
        thread: ThreadPoolExecutor,
    ) -> None:
        """Plays all of them; the thread is for plays, each of which needs a loop of its own."""
        self._cluster = cluster
        self._scenes = scenes
        self._play = play
        self._thread = thread
        self._told = dict(zip(scenes, self._played(scenes.values()), strict=True))

    def agrees(self, name: str, check: Callable[[StoryT], None]) -> None:
        """Checks what it did in a scene; one play of three has to pass.

        Who is first of those who act on the same object differs from play to play.
        """
        for _ in range(TRIES - 1):
            try:
                check(self._story(name))
            except (AssertionError, TimeoutError):
                [self._told[name]] = self._played([self._scenes[name]])
            else:
                return
        check(self._story(name))

    def _story(self, name: str) -> StoryT:
        told = self._told[name]
        if isinstance(told, BaseException):
            raise told
        return told

    def _played(self, scenes: Iterable[SceneT]) -> list[StoryT | BaseException]:
        async def play() -> list[StoryT | BaseException]:
            connection = await load_connection(str(self._cluster.kubeconfig), None)
            async with Client(connection) as client:
                plays = [self._play(client, scene) for scene in scenes]
                return await asyncio.gather(*plays, return_exceptions=True)

        return self._thread.submit(asyncio.run, play()).result()


@contextmanager
def real_scenes(
    cluster: Cluster,
    scenes: Mapping[str, SceneT],
    play: Callable[[Client, SceneT], Awaitable[StoryT]],
) -> Iterator[RealScenes[SceneT, StoryT]]:
    """The scenes, played on that cluster."""
    with ThreadPoolExecutor(1) as thread:
        yield RealScenes(cluster, scenes, play, thread)


async def simulated(
    play: Callable[[Client, Clock], Awaitable[StoryT]],
    *,
    operators: Iterable[Controller] = (),
    kinds: Iterable[dict[str, Any]] = (),
    nodes: int = 1,
) -> tuple[StoryT, list[Exception]]:
    """What the simulated cluster does in a scene, and what its controllers stumbled over."""
    loop = asyncio.get_running_loop()
    begin = loop.time()

    def clock() -> datetime:
        return START + timedelta(seconds=loop.time() - begin)

    server = ApiServer(clock=clock, random=Random(1))
    await server.start()
    running = Running(server, [*controllers(), *operators])
    running.start()
    transport = LocalTransport(server)
    try:
        async with Client(Connection(base_url="https://sim"), transport=transport) as client:
            for number in range(nodes):
                await client.create(NODE, node(f"node-{number}"))
            for crd in kinds:
                await client.create(CRD, crd)
            story = await play(client, clock)
    finally:
        await running.stop()
    return story, running.failures
