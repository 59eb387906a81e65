"""Real connections: cases J3 (silence without an error) and J4 (the token changes)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from builders import INSTALL_NAMESPACE, job, stamp
from case_stage import NOWHERE, ticks, virtual_now
from fake_api import FakeApi, Seen, answer, serving, stream, until
from follow import following
from prometheus_client import CollectorRegistry

from kq.app.manager import Manager
from kq.app.options import ClusterOptions, ManagerOptions
from kq.app.process import Counted
from kq.clock import Clocks
from kq.core import keys
from kq.core.kinds import JOB
from kq.kube.client import Client
from kq.kube.connection import Connection, TokenFile
from kq.kube.errors import Unauthorized
from kq.metrics import Metrics
from kq.settings import Settings

pytestmark = [pytest.mark.looptime(noop_cycles=4), pytest.mark.usefixtures("same_jitter", "logs")]

DOCUMENTED = 300.0
"""Seconds within which a silent watch is renewed."""


class Working:
    """A whole manager on real connections, and its metrics."""

    def __init__(self, client: Client) -> None:
        self.registry = CollectorRegistry()
        metrics = Metrics(self.registry, version="test")
        options = ManagerOptions(
            cluster=ClusterOptions(), metrics=NOWHERE, health=NOWHERE, default_policy="Priority"
        )
        self.manager = Manager(
            client=client,
            settings=Settings(installNamespace=INSTALL_NAMESPACE),
            options=options,
            metrics=metrics,
            counted=Counted(metrics.client),
            clocks=Clocks(virtual_now, ticks),
            first_lists=nullcontext,
        )

    def is_ready(self) -> bool:
        return all(bool(check()) for check in self.manager.checks().values())

    def idle(self) -> float:
        value = self.registry.get_sample_value("kq_watch_idle_seconds", {"kind": "Job"})
        assert value is not None
        return value


@asynccontextmanager
async def managed(api: FakeApi, connection: Connection | None = None) -> AsyncIterator[Working]:
    stop = asyncio.Event()
    api.put("configmaps", "koord-queue-state", INSTALL_NAMESPACE, data={"job": stamp(0)})
    async with Client(connection or Connection(base_url=api.url)) as client:
        working = Working(client)
        running = asyncio.create_task(working.manager.run(stop))
        try:
            await until(working.is_ready, 60)
            yield working
        finally:
            stop.set()
            await running


def submit(api: FakeApi, name: str) -> None:
    body = job(name, suspend=True)
    meta = {**body["metadata"], "labels": {keys.QUOTA_LABEL: "team-a"}}
    api.put("jobs", name, "team-a", spec=body["spec"], metadata=meta)


def made(api: FakeApi) -> list[str]:
    return sorted(each["metadata"]["name"] for each in api.objects.get("queueunits", {}).values())


def watches_jobs(seen: Seen) -> bool:
    return seen.is_watch and seen.path.endswith("/jobs")


# -- J3


SILENCES: list[Any] = [
    pytest.param(stream(then=1e6), id="silent from its start"),
    pytest.param(stream(b"", then=1e6), id="silent after an empty line"),
    pytest.param(
        stream(
            b'{"type":"BOOKMARK","object":{"kind":"Job","metadata":{"resourceVersion":"100"}}}',
            then=1e6,
        ),
        id="silent after a bookmark",
    ),
]


@pytest.mark.parametrize("silence", SILENCES)
async def test_j3_a_job_created_on_a_silent_watch_is_queued_within_the_documented_time(
    silence: Any,
) -> None:
    async with serving(FakeApi()) as api:
        api.fail(silence, on=watches_jobs)
        async with managed(api) as working:
            submit(api, "a")
            await asyncio.sleep(60)
            assert made(api) == []
            assert working.idle() >= 55
            await until(lambda: made(api) == ["a"], DOCUMENTED)
            assert working.idle() < 60
            assert sum(map(watches_jobs, api.seen)) == 2


async def test_j3_a_watch_that_stays_dead_is_no_longer_ready_and_comes_back() -> None:
    async with serving(FakeApi()) as api, managed(api) as working:
        api.fail(stream(then=1e6), times=4, on=watches_jobs)
        api.end_watches()
        await until(lambda: not working.is_ready(), 3 * DOCUMENTED)
        submit(api, "a")
        await until(lambda: made(api) == ["a"], 3 * DOCUMENTED)
        await until(working.is_ready, DOCUMENTED)


async def test_j3_every_watch_asks_the_server_to_end_it_in_time() -> None:
    async with serving(FakeApi()) as api, managed(api):
        await asyncio.sleep(1)
        limits = [int(seen.query["timeoutSeconds"]) for seen in api.watches()]
        assert len(limits) >= 8
        assert all(240 <= each <= DOCUMENTED for each in limits)


async def black_hole(request: web.Request) -> web.StreamResponse:
    """Takes the request and never answers, not even with a header."""
    await asyncio.sleep(1e6)
    return web.Response()


async def test_j3_a_server_that_swallows_the_watch_itself_is_asked_again() -> None:
    async with serving(FakeApi()) as api:
        api.fail(black_hole, on=watches_jobs)
        async with managed(api):
            submit(api, "a")
            await until(lambda: made(api) == ["a"], DOCUMENTED)


# -- J4


class Guard:
    """The server's side: which tokens are good, by the minute."""

    def __init__(self, api: FakeApi) -> None:
        self.good = {"Bearer old"}
        self.refused: list[str] = []
        api.fail(answer(401, "Unauthorized", "token expired"), times=10**6, on=self.refuses)

    def refuses(self, seen: Seen) -> bool:
        token = seen.headers.get("Authorization", "")
        if token in self.good:
            return False
        self.refused.append(token)
        return True


async def minutes(api: FakeApi, count: int) -> None:
    """So many minutes in which nothing happens; the server says so once in each."""
    for _ in range(count):
        await asyncio.sleep(60)
        api.bookmark()


def by_file(api: FakeApi, path: Path) -> Connection:
    clock = asyncio.get_running_loop().time
    return Connection(base_url=api.url, credentials=TokenFile(path, clock=clock))


async def test_j4_requests_and_watches_go_on_when_the_token_file_was_replaced(
    tmp_path: Path,
) -> None:
    """Replaced at t=10 min, the old one is refused from t=12 min."""
    path = tmp_path / "token"
    path.write_text("old")
    async with serving(FakeApi()) as api:
        guard = Guard(api)
        async with managed(api, by_file(api, path)) as working:
            submit(api, "a")
            await minutes(api, 10)
            path.write_text("new\n")
            guard.good = {"Bearer old", "Bearer new"}
            await minutes(api, 2)
            guard.good = {"Bearer new"}
            api.end_watches()
            submit(api, "b")
            await until(lambda: made(api) == ["a", "b"], 30)
            await minutes(api, 10)
            submit(api, "c")
            await until(lambda: made(api) == ["a", "b", "c"], 30)
            assert working.is_ready()
        assert guard.refused == []


@pytest.mark.parametrize("seconds", [0.0, 1.0, 30.0], ids=str)
async def test_j4_a_token_refused_before_it_was_read_again_is_read_at_once_and_tried_once_more(
    tmp_path: Path, seconds: float
) -> None:
    """The old token dies so soon after the replacement that the minute was not over."""
    path = tmp_path / "token"
    path.write_text("old")
    async with serving(FakeApi()) as api:
        guard = Guard(api)
        submit(api, "a")
        async with Client(by_file(api, path)) as client:
            await client.get(JOB, "a", "team-a")
            await asyncio.sleep(seconds)
            path.write_text("new")
            guard.good = {"Bearer new"}
            api.seen.clear()
            await client.merge_patch(JOB, "a", "team-a", {"spec": {"suspend": False}})
            tokens = [seen.headers["Authorization"] for seen in api.seen]
            assert tokens == ["Bearer old", "Bearer new"]
            api.seen.clear()
            await client.get(JOB, "a", "team-a")
            assert [seen.headers["Authorization"] for seen in api.seen] == ["Bearer new"]


async def test_j4_a_token_that_is_refused_though_fresh_is_an_error_after_one_more_try(
    tmp_path: Path,
) -> None:
    path = tmp_path / "token"
    path.write_text("wrong")
    async with serving(FakeApi()) as api:
        guard = Guard(api)
        async with Client(by_file(api, path)) as client:
            with pytest.raises(Unauthorized):
                await client.get(JOB, "a", "team-a")
        assert guard.refused == ["Bearer wrong"] * 2


async def test_j4_a_watch_is_opened_again_with_the_new_token(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("old")
    async with serving(FakeApi()) as api:
        guard = Guard(api)
        async with Client(by_file(api, path)) as client, following(client) as seen:
            await until(lambda: api.watchers)
            path.write_text("new")
            guard.good = {"Bearer new"}
            api.end_watches()
            api.put("jobs", "a", spec={"size": 1})
            await until(lambda: "+a" in seen.told, 60)
            assert len(api.lists()) == 1
