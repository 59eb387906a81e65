"""Watches on virtual time: bookmarks, ends, slow readers, and what was forgotten."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest
from simulation import Sim, line, status, widgets

from kq.sim.read.watching import Pace

pytestmark = pytest.mark.looptime


async def opened(sim: Sim, namespace: str = "default", **query: str) -> AsyncGenerator[bytes, None]:
    answer = await sim.ask("GET", widgets(namespace), watch="true", **query)
    assert answer.stream is not None, answer.body
    return answer.stream


async def lines(stream: AsyncGenerator[bytes, None], count: int) -> list[tuple[str, str]]:
    return [line(await anext(stream)) for _ in range(count)]


async def until_the_end(stream: AsyncGenerator[bytes, None]) -> list[tuple[str, str]]:
    return [line(raw) async for raw in stream]


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_watch_waits_for_what_happens_next() -> None:
    sim = await Sim().start()
    version = str(sim.server.storage.version)
    async with aclosing(await opened(sim, resourceVersion=version)) as stream:
        waiting = asyncio.ensure_future(lines(stream, 1))
        await asyncio.sleep(30)
        assert not waiting.done()
        await sim.widget("a")
        assert await waiting == [("ADDED", "a")]
        assert now() == 30


async def test_a_watch_sees_its_namespace_only() -> None:
    sim = await Sim().start()
    version = str(sim.server.storage.version)
    await sim.widget("a", "kube-system")
    await sim.widget("b", "default")
    async with aclosing(await opened(sim, resourceVersion=version)) as stream:
        assert await lines(stream, 1) == [("ADDED", "b")]


async def test_bookmarks_come_each_minute_and_before_the_end() -> None:
    sim = await Sim().start()
    version = str(sim.server.storage.version)
    stream = await opened(
        sim, resourceVersion=version, allowWatchBookmarks="true", timeoutSeconds="130"
    )
    times: list[float] = []
    async for raw in stream:
        assert line(raw) == ("BOOKMARK", version)
        times.append(now())
    assert times == [60, 120, 128]
    assert now() == 130


async def test_a_bookmark_has_the_version_of_everything_not_of_its_kind() -> None:
    sim = await Sim().start()
    version = str(sim.server.storage.version)
    async with aclosing(
        await opened(sim, resourceVersion=version, allowWatchBookmarks="true")
    ) as stream:
        waiting = asyncio.ensure_future(lines(stream, 1))
        await asyncio.sleep(1)
        await sim.told("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
        assert await waiting == [("BOOKMARK", str(int(version) + 1))]


async def test_nobody_gets_bookmarks_who_does_not_ask_for_them() -> None:
    sim = await Sim().start()
    stream = await opened(sim, resourceVersion="1", timeoutSeconds="300")
    assert await until_the_end(stream) == []
    assert now() == 300


async def test_a_watch_ends_by_itself_if_no_end_is_asked_for() -> None:
    sim = await Sim(pace=Pace(seconds=40)).start()
    assert await until_the_end(await opened(sim, resourceVersion="1")) == []
    assert now() == 40


async def test_initial_events_end_with_a_bookmark_that_says_so() -> None:
    sim = await Sim().start()
    await sim.widget("a")
    await sim.widget("b")
    stream = await opened(
        sim,
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
    )
    async with aclosing(stream):
        assert await lines(stream, 2) == [("ADDED", "a"), ("ADDED", "b")]
        end = json.loads(await anext(stream))
        assert end["type"] == "BOOKMARK"
        assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        await sim.widget("c")
        assert await lines(stream, 1) == [("ADDED", "c")]


async def test_what_is_written_while_the_state_is_told_comes_after_it() -> None:
    sim = await Sim().start()
    await sim.widget("b")
    await sim.widget("c")
    async with aclosing(await opened(sim)) as stream:
        assert await lines(stream, 1) == [("ADDED", "b")]
        await sim.widget("a")
        await sim.told("DELETE", widgets(name="c"))
        assert await lines(stream, 3) == [("ADDED", "c"), ("ADDED", "a"), ("DELETED", "c")]


async def test_a_version_that_is_forgotten_ends_the_watch_with_an_error() -> None:
    sim = await Sim().start()
    await sim.widget("a")
    sim.server.storage.compact()
    stream = await opened(sim, resourceVersion="3")
    event = json.loads(await anext(stream))
    assert event["type"] == "ERROR"
    assert event["object"]["code"] == 410
    assert event["object"]["reason"] == "Expired"
    assert await until_the_end(stream) == []


async def test_compaction_ends_a_watch_only_if_its_reader_is_behind() -> None:
    sim = await Sim().start()
    version = str(sim.server.storage.version)
    abreast = await opened(sim, resourceVersion=version)
    behind = await opened(sim, resourceVersion=version)
    await sim.widget("a")
    assert await lines(abreast, 1) == [("ADDED", "a")]
    sim.server.storage.compact()
    await sim.widget("b")
    assert await lines(abreast, 1) == [("ADDED", "b")]
    assert (await lines(behind, 1))[0][0] == "ERROR"
    await abreast.aclose()
    await behind.aclose()


async def test_a_reader_that_falls_too_far_behind_loses_its_watch_without_an_error() -> None:
    sim = await Sim(pace=Pace(backlog=3)).start()
    version = str(sim.server.storage.version)
    stream = await opened(sim, resourceVersion=version)
    await sim.widget("first")
    assert await lines(stream, 1) == [("ADDED", "first")]
    for index in range(5):
        await sim.widget(f"w{index}")
    assert await until_the_end(stream) == [("ADDED", f"w{index}") for index in range(3)]


async def test_a_closed_watch_leaves_nothing_behind() -> None:
    sim = await Sim().start()
    version = str(sim.server.storage.version)
    stream = await opened(sim, resourceVersion=version)
    waiting = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await stream.aclose()
    await sim.widget("a")
    assert sim.server.storage.events_since(f"widgets.{'sim.kq.example'}", int(version))


async def test_coming_into_a_selection_is_being_added_and_leaving_it_being_deleted() -> None:
    sim = await Sim().start()
    version = str(sim.server.storage.version)
    stream = await opened(sim, resourceVersion=version, labelSelector="x=1")
    await sim.widget("a")
    await sim.told("PATCH", widgets(name="a"), {"metadata": {"labels": {"x": "1"}}})
    await sim.told("PATCH", widgets(name="a"), {"metadata": {"labels": {"y": "1"}}})
    gone = await sim.told("PATCH", widgets(name="a"), {"metadata": {"labels": {"x": "2"}}})
    await sim.told("DELETE", widgets(name="a"))
    assert await lines(stream, 2) == [("ADDED", "a"), ("MODIFIED", "a")]
    left = json.loads(await anext(stream))
    assert left["type"] == "DELETED"
    # It is told as it was in the selection, with the version that took it out.
    assert left["object"]["metadata"]["labels"] == {"x": "1", "y": "1"}
    assert left["object"]["metadata"]["resourceVersion"] == gone["metadata"]["resourceVersion"]
    await stream.aclose()


async def test_a_watch_of_nothing_that_is_served_is_refused_at_once() -> None:
    sim = await Sim().start()
    answer = await sim.ask("GET", widgets(), watch="true", labelSelector="x in 1")
    assert answer.stream is None
    assert status(answer)["code"] == 400
