"""The token changes while kq is at work on the simulated cluster over HTTPS: case J4."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import objects
import pytest
from reading import phase_of
from simulated_ground import manifests

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, JOB, NAMESPACE, QUEUE_UNIT
from kq.kube.client import Client
from kq.kube.connection import Connection, TokenFile
from kq.kube.errors import NotFound
from kq.kube.lane import Lane
from kq.kube.telemetry import Uncounted
from kq.kube.transport import Transport, Wire
from kq.sim.access import Access
from kq.sim.api.call import User
from kq.sim.http import HttpFront
from kq.sim.world import Simulation, Terms
from kq.tls.verify import client_context

NOW = datetime.now(UTC)  # noqa: TID251 - certificates are judged by the wall clock
TEAM = "team-a"
LOOK_SECONDS = 0.02
LOOKS = 1000


class Remote(Simulation):
    """A simulation whose kq reaches it as it reaches a real cluster."""

    transport: Wire

    def _wire(self, account: str, kill: Callable[[], None]) -> Wire:
        return self.transport


class Tokens(dict[str, User]):
    """Those that are good; strangers are noted."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: list[str] = []

    def get(self, token: str, default: object = None) -> User | None:  # type: ignore[override]
        found = super().get(token)
        if found is None:
            self.refused.append(token)
        return found


class Site:
    """A cluster, the file with kq's token, and a clock for how long it is believed."""

    def __init__(self, simulation: Remote, tokens: Tokens, path: Path) -> None:
        self.tokens = tokens
        self.client: Client = simulation.client()
        self.path = path
        self.seconds = 0.0

    def rotate(self, name: str, *, at_once: bool) -> None:
        """A new token is good from now on; the old one is not, and `at_once` the file has it."""
        self.tokens.clear()
        self.tokens[name] = User()
        if at_once:
            self.path.write_text(f"{name}\n")

    async def submit(self, name: str) -> None:
        labels = {keys.QUOTA_LABEL: "a"}
        played = {"run-for": "forever"}
        body = objects.job(name, TEAM, {"cpu": 1}, labels=labels, played=played)
        await self.client.create(JOB, {**body, "spec": {**body["spec"], "suspend": True}}, TEAM)

    async def until_granted(self, name: str) -> None:
        for _ in range(LOOKS):
            if await self._phase(name) in ("Dequeued", "Running"):
                return
            await asyncio.sleep(LOOK_SECONDS)
        raise AssertionError(f"{name} has no quota")

    async def until_refused(self, times: int) -> None:
        for _ in range(LOOKS):
            if len(self.tokens.refused) >= times:
                return
            await asyncio.sleep(LOOK_SECONDS)
        raise AssertionError(f"refused {len(self.tokens.refused)} times only")

    async def _phase(self, name: str) -> str:
        try:
            return phase_of(await self.client.get(QUEUE_UNIT, name, TEAM))
        except NotFound:
            return ""


@asynccontextmanager
async def served(path: Path) -> AsyncIterator[Site]:
    access, tokens = Access.issue(NOW), Tokens()
    simulation = Remote(
        clock=lambda: datetime.now(UTC),  # noqa: TID251 - the API server is a real one here
        random=random.Random(1),
        terms=Terms(objects=manifests()),
    )
    site = Site(simulation, tokens, path)
    site.rotate("first", at_once=True)
    front = HttpFront(simulation.server, tokens=tokens, tls=access.context())
    async with front.serving() as port:
        connection = Connection(
            base_url=f"https://127.0.0.1:{port}",
            tls=client_context(access.authority.certificate.decode()),
            credentials=TokenFile(path, clock=lambda: site.seconds),
        )
        lane = Lane(max_in_flight=16)
        transport = Transport(
            connection, lane=lane, metrics=Uncounted(), uniform=lambda low, high: low
        )
        async with transport:
            simulation.transport = transport
            async with simulation:
                await site.client.create(NAMESPACE, {"metadata": {"name": TEAM}})
                quota = objects.elastic_quota("a", TEAM, {"cpu": 9})
                await site.client.create(ELASTIC_QUOTA, quota, TEAM)
                yield site


async def test_j4_a_token_that_was_replaced_in_time_is_never_refused(tmp_path: Path) -> None:
    async with served(tmp_path / "token") as site:
        await site.submit("before")
        await site.until_granted("before")
        site.tokens["second"] = User()
        site.path.write_text("second\n")
        site.seconds += 61.0
        await site.submit("between")
        await site.until_granted("between")
        site.rotate("second", at_once=True)
        await site.submit("after")
        await site.until_granted("after")
        assert site.tokens.refused == []


@pytest.mark.parametrize("at_once", [True, False], ids=["in the file", "in the file later"])
async def test_j4_a_token_that_is_refused_is_read_again_and_work_goes_on(
    tmp_path: Path, at_once: bool
) -> None:
    """No minute is over since it was read last."""
    async with served(tmp_path / "token") as site:
        await site.submit("before")
        await site.until_granted("before")
        site.rotate("second", at_once=at_once)
        await site.submit("after")
        if not at_once:
            await site.until_refused(4)
            site.rotate("second", at_once=True)
        await site.until_granted("after")
        assert set(site.tokens.refused) == {"first"}
        assert len(site.tokens.refused) <= (16 if at_once else 60)
