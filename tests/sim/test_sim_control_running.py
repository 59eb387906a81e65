import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import msgspec
import pytest
from controller_scenes import counts, job, says

from kq.core.kinds import CRD, JOB, POD, ResourceKind
from kq.kube.client import Client
from kq.kube.connection import Connection
from kq.sim.api.server import ApiServer
from kq.sim.api.status import ApiStatus
from kq.sim.cluster.cluster import controllers, node
from kq.sim.cluster.plays import drawn
from kq.sim.control.controller import Controller, Due, Key, Pace
from kq.sim.control.objects import place_of
from kq.sim.control.running import Running
from kq.sim.control.writes import Create, Record, taken
from kq.sim.local import LocalTransport

START = datetime(2026, 3, 1, tzinfo=UTC)
NODE = ResourceKind("", "v1", "Node", "nodes", namespaced=False)
CONFIG_MAP = ResourceKind("", "v1", "ConfigMap", "configmaps")
EVENT = ResourceKind("", "v1", "Event", "events")
THING = ResourceKind("example.com", "v1", "Thing", "things")


def loop_clock() -> Callable[[], datetime]:
    """The loop's time as a time of day."""
    loop = asyncio.get_running_loop()
    begin = loop.time()
    return lambda: START + timedelta(seconds=loop.time() - begin)


@asynccontextmanager
async def cluster(
    made: list[Controller], **options: Any
) -> AsyncIterator[tuple[ApiServer, Client, Running]]:
    """A server with these controllers at work."""
    server = ApiServer(clock=loop_clock(), random=Random(1), tracks_managers=False)
    await server.start()
    running = Running(server, made, **options)
    running.start()
    client = Client(Connection(base_url="https://sim"), transport=LocalTransport(server))
    async with client:
        yield server, client, running
    await running.stop()


class Copier:
    """Makes a copy of each config map, once; stumbles as it is told."""

    name = "copier"
    pace = Pace(first=1.0, longest=4.0)
    kinds: tuple[str, ...] = ("configmaps",)

    def __init__(self, *stumbles: Exception, again: timedelta | None = None) -> None:
        self.looks: list[float] = []
        self._stumbles = list(stumbles)
        self._again = again

    def concerns(self, happened, view, now):
        if happened.newest["metadata"]["name"] == "unreadable":
            raise LookupError("unreadable")
        yield Due(Key(*place_of(happened.newest)))

    def sync(self, key, view, now):
        self.looks.append((now - START).total_seconds())
        if self._stumbles:
            raise self._stumbles.pop(0)
        obj = view.get("configmaps", key.namespace, key.name)
        name = f"{key.name}-copy"
        if key.name.endswith("-copy") or view.get("configmaps", key.namespace, name):
            return self._again
        body = {"metadata": {"name": name, "namespace": key.namespace}}
        taken((yield [Create(kind="configmaps", namespace=key.namespace, body=body)]))
        yield [Record(about=obj, reason="Copied", message="copied")]
        return None


async def config_maps(client: Client) -> list[str]:
    page = await client.list_page(CONFIG_MAP, "default")
    return sorted(name for name in ("a", "a-copy", "b", "b-copy") if f'"{name}"'.encode() in page)


@pytest.mark.looptime
async def test_a_controller_acts_on_what_is_there_and_on_what_comes():
    server = ApiServer(clock=loop_clock(), random=Random(1))
    await server.start()
    client = Client(Connection(base_url="https://sim"), transport=LocalTransport(server))
    await client.create(CONFIG_MAP, {"metadata": {"name": "a"}}, "default")
    running = Running(server, [Copier()])
    running.start()
    await client.create(CONFIG_MAP, {"metadata": {"name": "b"}}, "default")
    await asyncio.sleep(1)
    assert await config_maps(client) == ["a", "a-copy", "b", "b-copy"]
    await running.stop()


@pytest.mark.looptime
async def test_a_controller_that_is_stopped_acts_no_more():
    async with cluster([Copier()]) as (_, client, running):
        await running.stop()
        await client.create(CONFIG_MAP, {"metadata": {"name": "a"}}, "default")
        await asyncio.sleep(1)
        assert await config_maps(client) == ["a"]


@pytest.mark.looptime
async def test_a_refused_key_comes_again_after_a_wait_that_doubles():
    refusals = [ApiStatus(409, "Conflict", "no") for _ in range(4)]
    copier = Copier(*refusals)
    async with cluster([copier]) as (_, client, running):
        await client.create(CONFIG_MAP, {"metadata": {"name": "a"}}, "default")
        await asyncio.sleep(20)
        assert running.failures == []
        assert copier.looks[:5] == pytest.approx([0, 1, 3, 7, 11], abs=0.01)
        assert await config_maps(client) == ["a", "a-copy"]


@pytest.mark.looptime
async def test_a_key_comes_again_when_it_asks_to():
    copier = Copier(again=timedelta(seconds=5))
    async with cluster([copier]) as (_, client, _):
        await client.create(CONFIG_MAP, {"metadata": {"name": "x-copy"}}, "default")
        await asyncio.sleep(11)
        assert copier.looks == pytest.approx([0, 5, 10], abs=0.01)


@pytest.mark.looptime
async def test_a_fault_of_a_controller_is_noted_and_hurts_nobody():
    async with cluster([Copier(ValueError("bug"))]) as (_, client, running):
        await client.create(CONFIG_MAP, {"metadata": {"name": "unreadable"}}, "default")
        await client.create(CONFIG_MAP, {"metadata": {"name": "a"}}, "default")
        await asyncio.sleep(5)
        assert [type(each) for each in running.failures] == [LookupError, ValueError]
        assert await config_maps(client) == ["a", "a-copy"]


@pytest.mark.looptime
@pytest.mark.parametrize(("events", "told"), [(True, True), (False, False)])
async def test_events_are_told_unless_nobody_wants_them(events, told):
    async with cluster([Copier()], events=events) as (_, client, _):
        await client.create(CONFIG_MAP, {"metadata": {"name": "a"}}, "default")
        await asyncio.sleep(1)
        assert (b'"reason":"Copied"' in await client.list_page(EVENT, "default")) is told


@pytest.mark.looptime
async def test_writes_bear_the_service_account_of_their_controller():
    async with cluster(controllers()) as (server, client, _):
        await client.create(NODE, node("node-0"))
        await client.create(JOB, job(run_for="1s"), "default")
        await asyncio.sleep(5)
        made = await client.list_page(POD, "default")
        events = await client.list_page(EVENT, "default")
        assert b'"phase":"Succeeded"' in made
        assert b'"reportingComponent":"job-controller"' in events
        assert server.registry.versions("pods")


@pytest.mark.looptime
async def test_dependents_of_custom_kinds_are_collected_too():
    async with cluster(controllers()) as (_, client, running):
        await client.create(CRD, definition())
        owner = await client.create(CONFIG_MAP, {"metadata": {"name": "a"}}, "default")
        reference = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "a",
            "uid": owner["metadata"]["uid"],
        }
        thing = {
            "apiVersion": THING.api_version,
            "kind": THING.kind,
            "metadata": {"name": "t", "ownerReferences": [reference]},
        }
        await client.create(THING, thing, "default")
        await client.delete(CONFIG_MAP, "a", "default")
        await asyncio.sleep(1)
        assert b'"name":"t"' not in await client.list_page(THING, "default")
        assert running.failures == []


def definition() -> dict[str, Any]:
    """A CRD of anything."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": THING.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": CRD.api_version,
        "kind": CRD.kind,
        "metadata": {"name": f"{THING.plural}.{THING.group}"},
        "spec": {
            "group": THING.group,
            "scope": "Namespaced",
            "names": {"kind": THING.kind, "plural": THING.plural},
            "versions": [version],
        },
    }


async def run_of(seed: int, **options: Any) -> tuple[bytes, int]:
    """All jobs, pods and the version after a while of jobs with drawn run times."""
    made = controllers(drawn(Random(seed), mean=5.0, failing=0.3))
    async with cluster(made, **options) as (server, client, _):
        for number in range(2):
            await client.create(NODE, node(f"node-{number}", {"cpu": "3", "pods": "9"}))
        for number in range(6):
            asks = job(f"j{number}", resources={"requests": {"cpu": "1"}})
            await client.create(JOB, asks, "default")
            await asyncio.sleep(0.5)
        await asyncio.sleep(30)
        jobs = await client.list_page(JOB, "default")
        return jobs + await client.list_page(POD, "default"), server.storage.version


@pytest.mark.looptime
async def test_a_seed_makes_the_same_history_each_time():
    first = await run_of(3)
    assert await run_of(3) == first
    assert await run_of(4) != first


@pytest.mark.looptime
async def test_shortcuts_leave_all_as_the_long_way_does():
    short, _ = await run_of(3)
    long, _ = await run_of(3, shortcuts=False)
    assert plain(short) == plain(long)


def plain(lists: bytes) -> list[Any]:
    """Two lists as values, without what counts writes, and what says nothing."""
    text = re.sub(rb'"resourceVersion":"[^"]*"|"lastProbeTime":null', b'"gone":0', lists)
    jobs, pods = text.replace(b'}{"kind":"PodList"', b'}\n{"kind":"PodList"').split(b"\n")
    return [_without_gone(msgspec.json.decode(each)) for each in (jobs, pods)]


def _without_gone(value: Any) -> Any:
    match value:
        case dict():
            return {key: _without_gone(each) for key, each in value.items() if key != "gone"}
        case list():
            return [_without_gone(each) for each in value]
        case _:
            return value


@pytest.mark.looptime
async def test_an_hour_of_a_job_that_retries_takes_no_time():
    async with cluster(controllers()) as (_, client, running):
        await client.create(NODE, node("node-0"))
        await client.create(JOB, job(fail_after="1s", spec={"backoffLimit": 6}), "default")
        await asyncio.sleep(3600)
        ended = await client.get(JOB, "a", "default")
        assert says("Failed")(ended)
        assert counts(failed=7)(ended)
        assert running.failures == []
