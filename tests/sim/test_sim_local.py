"""kq's own client and informer on a simulated server in the same process."""

import asyncio
import random
from contextlib import aclosing
from typing import Any

import pytest
from simulation import WIDGET, Sim, seen, widgets

from kq.core.kinds import CONFIG_MAP, JOB, NAMESPACE
from kq.kube.errors import AlreadyExists, Conflict, Gone, Indeterminate, Invalid, NotFound
from kq.kube.informer import Informer
from kq.sim.local import LocalTransport

pytestmark = pytest.mark.looptime


async def test_the_client_creates_reads_patches_and_deletes() -> None:
    sim = await Sim().start()
    async with sim.client() as client:
        made = await client.create(CONFIG_MAP, {"metadata": {"name": "c"}}, "default")
        version = made["metadata"]["resourceVersion"]
        patched = await client.merge_patch(
            CONFIG_MAP, "c", "default", {"data": {"a": "b"}}, resource_version=version
        )
        assert patched["data"] == {"a": "b"}
        assert (await client.get(CONFIG_MAP, "c", "default")) == patched
        with pytest.raises(Conflict):
            await client.merge_patch(CONFIG_MAP, "c", "default", {}, resource_version=version)
        await client.delete(CONFIG_MAP, "c", "default", uid=made["metadata"]["uid"])
        with pytest.raises(NotFound):
            await client.get(CONFIG_MAP, "c", "default")


async def test_refusals_are_the_errors_that_they_are_over_the_wire() -> None:
    sim = await Sim().start()
    async with sim.client() as client:
        with pytest.raises(AlreadyExists):
            await client.create(NAMESPACE, {"metadata": {"name": "default"}})
        with pytest.raises(Invalid, match="RFC 1123"):
            await client.create(CONFIG_MAP, {"metadata": {"name": "No"}}, "default")
        made = await client.create(CONFIG_MAP, {"metadata": {"name": "c"}}, "default")
        with pytest.raises(Invalid) as refused:
            await client.merge_patch(CONFIG_MAP, "c", "default", {}, uid="other")
        assert refused.value.is_uid_conflict
        with pytest.raises(Conflict, match="deleted and then recreated"):
            await client.delete(CONFIG_MAP, "c", "default", uid="other")
        assert made["metadata"]["name"] == "c"


async def test_the_client_learns_what_is_served_and_the_time() -> None:
    sim = await Sim().start()
    async with sim.client() as client:
        assert "jobs" in await client.discover("batch", "v1")
        assert await client.discover("kubeflow.org", "v1") == set()
        assert (await client.server_version()).major == "1"
        date = client.server_date()
        assert date is not None
        assert date.year == 2026


async def test_a_watch_that_says_nothing_for_too_long_is_broken() -> None:
    sim = await Sim().start()
    async with sim.client() as client:
        watch = client.watch(JOB, resource_version="1", timeout_seconds=3000, idle_timeout=50)
        async with aclosing(watch) as stream:
            with pytest.raises(Indeterminate):
                await anext(stream)
        assert asyncio.get_running_loop().time() == 50


async def test_a_continue_token_that_expired_is_gone() -> None:
    sim = await Sim().start()
    await sim.widget("a")
    await sim.widget("b")
    async with sim.client() as client:
        page = await client.list_page(WIDGET, limit=1)
        token = page.split(b'"continue":"')[1].split(b'"')[0].decode()
        await sim.widget("c")
        sim.server.storage.compact()
        with pytest.raises(Gone):
            await client.list_page(WIDGET, limit=1, continue_=token)


async def test_a_request_that_takes_too_long_is_open_in_its_outcome() -> None:
    sim = await Sim().start()
    transport = LocalTransport(sim.server)
    slow = asyncio.Event()

    async def serve(_: Any) -> Any:
        await slow.wait()

    sim.server.serve = serve  # type: ignore[method-assign]
    async with sim.client() as client:
        with pytest.raises(Indeterminate):
            await client.get(NAMESPACE, "default", timeout=5)
    assert transport.last_date is None


async def test_an_informer_follows_through_compaction() -> None:
    sim = await Sim().start()
    await sim.widget("a")
    async with sim.client() as client:
        informer = Informer(
            client=client,
            kind=WIDGET,
            decode=seen,
            uniform=random.Random(1).uniform,
        )
        running = asyncio.create_task(informer.run())
        await asyncio.sleep(1)
        assert informer.synced
        for index in range(20):
            await sim.told("PATCH", widgets(name="a"), {"metadata": {"labels": {"x": f"{index}"}}})
        sim.server.storage.compact()
        await sim.widget("b")
        await asyncio.sleep(60)
        labels = [view.x for view in informer.lister.values()]
        assert labels == ["19", ""]
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
