"""The informer against watches that end, break off, and fall silent."""

import asyncio
from typing import Any

import pytest
from aiohttp import web
from fake_api import FakeApi, answer, event, hang_up, stream, until
from follow import following, is_watch

from kq.kube.client import Client

pytestmark = pytest.mark.looptime


async def test_a_bookmark_moves_only_the_version(api: FakeApi, client: Client) -> None:
    async with following(client) as seen:
        await until(lambda: api.watchers)
        api.bookmark()
        api.end_watches()
        await until(lambda: len(api.watches()) == 2)
        assert api.watches()[1].query["resourceVersion"] == "101"
        assert seen.told == []


async def test_a_watch_that_ends_is_opened_again_at_its_last_version_without_a_list(
    api: FakeApi, client: Client
) -> None:
    async with following(client) as seen:
        await until(lambda: api.watchers)
        api.put("jobs", "a")
        await until(lambda: seen.told)
        api.end_watches()
        await until(lambda: len(api.watches()) == 2)
        assert api.watches()[1].query["resourceVersion"] == "101"
        assert api.watches()[1].at - api.watches()[0].at < 0.5
        assert len(api.lists()) == 1
        assert seen.informer.healthy


async def test_the_server_is_asked_to_end_each_watch_within_five_minutes(
    api: FakeApi, client: Client
) -> None:
    async with following(client, idle_timeout=900):
        await until(lambda: len(api.watches()) == 3, 900)
        assert {s.query["timeoutSeconds"] for s in api.watches()} == {"240"}
        assert len(api.lists()) == 1


async def test_a_watch_that_ends_at_once_without_an_event_is_a_failure(
    api: FakeApi, client: Client
) -> None:
    api.fail(stream(), times=4, on=is_watch)
    async with following(client) as seen:
        await until(lambda: len(api.watches()) == 5, 60)
        gaps = [b.at - a.at for a, b in zip(api.watches(), api.watches()[1:], strict=False)]
        assert [round(gap, 1) for gap in gaps] == [0.8, 1.6, 3.2, 6.4]
        assert len(api.lists()) == 1
        assert not seen.informer.healthy


async def test_an_expired_version_at_the_opening_of_a_watch_leads_to_a_new_list(
    api: FakeApi, client: Client
) -> None:
    api.put("jobs", "a")
    async with following(client) as seen:
        await until(lambda: api.watchers)
        api.fail(answer(410, "Expired", "too old"), on=is_watch)
        api.end_watches()
        await until(lambda: len(api.lists()) == 2)
        await until(lambda: api.watchers)
        assert seen.told == ["=a"]


async def test_an_expired_version_as_an_event_leads_to_a_new_list(
    api: FakeApi, client: Client
) -> None:
    api.put("jobs", "a")
    async with following(client) as seen:
        await until(lambda: api.watchers)
        error = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
        api.send(event("ERROR", error))
        await until(lambda: len(api.lists()) == 2)
        assert seen.told == ["=a"]


async def test_a_storm_of_expired_versions_is_met_with_growing_pauses(
    api: FakeApi, client: Client
) -> None:
    api.fail(answer(410, "Expired"), times=4, on=is_watch)
    async with following(client):
        await until(lambda: len(api.watches()) == 5, 60)
        gaps = [b.at - a.at for a, b in zip(api.lists(), api.lists()[1:], strict=False)]
        assert [round(gap, 1) for gap in gaps] == [0.8, 1.6, 3.2, 6.4]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(answer(429, "TooManyRequests"), id="429"),
        pytest.param(hang_up, id="broken"),
        pytest.param(answer(500, "InternalError"), id="internal error"),
    ],
)
async def test_a_watch_that_cannot_be_opened_now_is_opened_later_at_the_same_version(
    api: FakeApi, client: Client, fault: Any
) -> None:
    api.put("jobs", "a")
    api.fail(fault, times=6, on=is_watch)
    async with following(client) as seen:
        await until(lambda: api.watchers, 100)
        assert {s.query["resourceVersion"] for s in api.watches()} == {"101"}
        assert len(api.lists()) == 1
        assert seen.told == ["=a"]


async def test_retry_after_lengthens_the_pause(api: FakeApi, client: Client) -> None:
    api.fail(answer(429, retry_after=25), on=is_watch)
    async with following(client):
        await until(lambda: len(api.watches()) == 2, 60)
        assert 25 <= api.watches()[1].at - api.watches()[0].at < 26


async def test_a_watch_event_that_says_busy_pauses_and_keeps_the_version(
    api: FakeApi, client: Client
) -> None:
    error = {"kind": "Status", "code": 429, "details": {"retryAfterSeconds": 7}}
    api.fail(stream(event("ERROR", error).strip()), on=is_watch)
    async with following(client):
        await until(lambda: api.watchers, 60)
        assert 7 <= api.watches()[1].at - api.watches()[0].at < 8
        assert len(api.lists()) == 1


@pytest.mark.parametrize("code", [400, 403])
async def test_another_error_at_the_opening_leads_to_a_new_list(
    api: FakeApi, client: Client, code: int
) -> None:
    api.fail(answer(code), on=is_watch)
    async with following(client):
        await until(lambda: api.watchers)
        assert len(api.lists()) == 2


async def test_a_silent_watch_is_opened_anew_at_its_last_version(
    api: FakeApi, client: Client
) -> None:
    api.fail(stream(then=10_000), times=3, on=is_watch)
    async with following(client) as seen:
        await until(lambda: len(api.watches()) == 2, 400)
        assert 150 <= api.watches()[1].at - api.watches()[0].at <= 152
        assert len(api.lists()) == 1
        assert seen.metrics.read() > 149
        assert seen.informer.healthy
        await until(lambda: len(api.watches()) == 4, 400)
        assert not seen.informer.healthy
        await until(lambda: api.watchers)
        api.bookmark()
        await until(lambda: seen.informer.healthy)
        assert seen.metrics.read() < 1


async def test_a_watch_broken_in_the_middle_goes_on_at_its_last_version(
    api: FakeApi, client: Client
) -> None:
    job = {"kind": "Job", "metadata": {"name": "a", "namespace": "ns", "uid": "u"}}
    job["metadata"]["resourceVersion"] = "107"  # type: ignore[index]

    async def break_off(request: Any) -> Any:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(event("ADDED", job) + b'{"type":"MODIF')
        await asyncio.sleep(1)
        request.transport.abort()
        return response

    api.fail(break_off, on=is_watch)
    async with following(client) as seen:
        await until(lambda: len(api.watches()) == 2, 60)
        assert api.watches()[1].query["resourceVersion"] == "107"
        assert len(api.lists()) == 1
        assert seen.told == ["+a"]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(event("ADDED", {"kind": "Table", "metadata": {"name": "x"}}), id="table"),
        pytest.param(event("FOO", {"kind": "Job", "metadata": {"name": "x"}}), id="unknown type"),
        pytest.param(
            event(
                "ADDED",
                {
                    "kind": "Job",
                    "metadata": {"name": "x", "namespace": "ns", "resourceVersion": "3"},
                    "spec": {"size": "big"},
                },
            ),
            id="undecodable object",
        ),
    ],
)
async def test_a_line_that_cannot_be_used_is_counted_and_the_watch_goes_on(
    api: FakeApi, client: Client, line: bytes
) -> None:
    async with following(client) as seen:
        await until(lambda: api.watchers)
        api.send(line.strip() + b"\n")
        api.put("jobs", "b")
        await until(lambda: seen.told)
        assert seen.told == ["+b"]
        assert seen.metrics.dropped == 1
        assert len(api.watches()) == 1


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"garbage", id="no json"),
        pytest.param(b'{"type":"ADDED"}', id="no object"),
        pytest.param(b'{"type":"ADDED","object":{"kind":"Job","metad', id="half a line"),
    ],
)
async def test_what_a_line_in_pieces_was_to_tell_is_told_by_a_list(
    api: FakeApi, client: Client, line: bytes
) -> None:
    async with following(client) as seen:
        await until(lambda: api.watchers)
        api.send(line + b"\n")
        await until(lambda: len(api.watches()) == 2, 10)
        assert len(api.lists()) == 2
        api.put("jobs", "b")
        await until(lambda: seen.told)
        assert seen.told == ["+b"]
        assert seen.informer.healthy


async def test_pauses_are_short_again_after_two_good_minutes(api: FakeApi, client: Client) -> None:
    api.fail(stream(), times=3, on=is_watch)
    async with following(client, idle_timeout=900):
        await until(lambda: api.watchers, 60)
        await asyncio.sleep(125)
        api.fail(stream(), on=is_watch)
        api.end_watches()
        await until(lambda: len(api.watches()) == 6, 60)
        assert round(api.watches()[5].at - api.watches()[4].at, 1) == 0.8


async def test_a_long_burst_of_events_lets_other_tasks_run(api: FakeApi, client: Client) -> None:
    async with following(client) as seen:
        await until(lambda: api.watchers)
        for number in range(2000):
            api.put("jobs", f"j{number}")
        turns = 0
        while len(seen.told) < 2000:
            await asyncio.sleep(0)
            turns += 1
        assert turns > 5


async def test_a_line_too_long_to_read_leads_to_a_list_which_has_no_lines(
    api: FakeApi, client: Client
) -> None:
    async with following(client) as seen:
        await until(lambda: api.watchers)
        api.put("jobs", "a", spec={"text": "x" * 9_000_000})
        await until(lambda: seen.told)
        assert len(api.lists()) == 2
        assert seen.told == ["+a"]
