"""The client against a server that is busy, silent, or doubts who we are."""

import asyncio
from contextlib import aclosing

import pytest
from fake_api import FakeApi, answer, hang_up, slow

from kq.core.kinds import JOB, LEASE
from kq.kube.client import Client
from kq.kube.connection import Connection
from kq.kube.errors import (
    Indeterminate,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize("code", [429, 503])
async def test_a_busy_server_is_asked_again_when_it_said(
    api: FakeApi, client: Client, code: int
) -> None:
    api.put("jobs", "a")
    api.fail(answer(code, retry_after=3), times=2)
    await client.merge_patch(JOB, "a", "ns", {"spec": {}})
    times = [seen.at for seen in api.seen]
    assert [round(later - times[0]) for later in times] == [0, 3, 6]


async def test_a_server_that_stays_busy_is_given_up_after_three_tries(
    api: FakeApi, client: Client
) -> None:
    api.fail(answer(429, retry_after=1), times=9)
    with pytest.raises(TooManyRequests) as caught:
        await client.get(JOB, "a", "ns")
    assert caught.value.retry_after == 1
    assert len(api.seen) == 3


async def test_a_long_wait_is_left_to_the_caller(api: FakeApi, client: Client) -> None:
    api.fail(answer(429, retry_after=60))
    with pytest.raises(TooManyRequests) as caught:
        await client.get(JOB, "a", "ns")
    assert caught.value.retry_after == 60


async def test_waiting_out_a_busy_server_takes_no_place_in_flight(api: FakeApi) -> None:
    api.put("jobs", "a")
    api.fail(answer(429, retry_after=5))
    async with Client(Connection(base_url=api.url), max_in_flight=1) as client:
        waiting = asyncio.create_task(client.get(JOB, "a", "ns"))
        await asyncio.sleep(1)
        async with asyncio.timeout(1):
            await client.get(JOB, "a", "ns")
        await waiting


async def test_a_refused_connection_is_tried_three_times_and_nothing_was_sent() -> None:
    clock = asyncio.get_running_loop().time
    started = clock()
    async with Client(Connection(base_url="http://127.0.0.1:9")) as client:
        with pytest.raises(Unreachable):
            await client.create(JOB, {"metadata": {"name": "a"}}, "ns")
    assert 0.6 <= clock() - started < 2


@pytest.mark.parametrize("verb", ["create", "patch", "delete"])
async def test_a_write_without_an_answer_is_never_sent_again(
    api: FakeApi, client: Client, verb: str
) -> None:
    api.put("jobs", "a")
    await client.get(JOB, "a", "ns")  # a connection that is already open, as aiohttp would reuse
    api.fail(hang_up)
    writes = {
        "create": lambda: client.create(JOB, {"metadata": {"name": "b"}}, "ns"),
        "patch": lambda: client.merge_patch(JOB, "a", "ns", {"spec": {}}),
        "delete": lambda: client.delete(JOB, "a", "ns"),
    }
    with pytest.raises(Indeterminate):
        await writes[verb]()
    assert len(api.seen) == 2


async def test_a_silent_server_is_given_up_after_thirty_seconds(
    api: FakeApi, client: Client
) -> None:
    api.fail(slow(1000))
    clock = asyncio.get_running_loop().time
    started = clock()
    with pytest.raises(Indeterminate):
        await client.get(JOB, "a", "ns")
    assert 29 <= clock() - started <= 31


async def test_a_request_may_be_given_less_time(api: FakeApi, client: Client) -> None:
    api.fail(slow(1000))
    clock = asyncio.get_running_loop().time
    started = clock()
    with pytest.raises(Indeterminate):
        await client.get(JOB, "a", "ns", timeout=4)
    assert clock() - started <= 5


async def test_no_more_requests_than_allowed_are_in_flight(api: FakeApi) -> None:
    api.fail(slow(0.5), times=40)
    async with Client(Connection(base_url=api.url), max_in_flight=4) as client:
        await asyncio.gather(*(client.get(JOB, "a", "ns") for _ in range(20)))
    assert api.most_in_flight == 4


async def test_priority_goes_past_a_full_lane(api: FakeApi) -> None:
    api.fail(slow(20), times=1)
    api.put("leases", "a")
    async with Client(Connection(base_url=api.url), max_in_flight=1) as client:
        stuck = asyncio.create_task(client.get(JOB, "a", "ns"))
        await asyncio.sleep(0.1)
        async with asyncio.timeout(1):
            await client.get(LEASE, "a", "ns", priority=True, timeout=5)
        await stuck


async def test_priority_is_not_kept_waiting_by_a_busy_server(api: FakeApi, client: Client) -> None:
    api.fail(answer(429, retry_after=3))
    with pytest.raises(TooManyRequests):
        await client.get(JOB, "a", "ns", priority=True)
    assert len(api.seen) == 1


async def test_requests_keep_their_pace_after_the_burst(api: FakeApi) -> None:
    api.put("jobs", "a")
    async with Client(Connection(base_url=api.url), qps=2, burst=3) as client:
        for _ in range(6):
            await client.get(JOB, "a", "ns")
    start = api.seen[0].at
    assert [round(seen.at - start, 1) for seen in api.seen] == [0, 0, 0, 0.5, 1.0, 1.5]


class Tokens:
    """Credentials whose token can be changed under the client's feet."""

    def __init__(self) -> None:
        self.value = "Bearer old"
        self.renewed: list[str | None] = []

    async def header(self) -> str:
        return self.value

    async def renew(self, refused: str | None) -> None:
        self.renewed.append(refused)
        self.value = "Bearer new"


async def test_a_refused_token_is_read_again_and_the_request_tried_once_more(api: FakeApi) -> None:
    api.put("jobs", "a")
    api.fail(answer(401), on=lambda seen: seen.headers["Authorization"] == "Bearer old", times=9)
    tokens = Tokens()
    async with Client(Connection(base_url=api.url, credentials=tokens)) as client:
        await client.get(JOB, "a", "ns")
    assert tokens.renewed == ["Bearer old"]
    assert [seen.headers["Authorization"] for seen in api.seen] == ["Bearer old", "Bearer new"]


async def test_a_token_refused_twice_is_an_error(api: FakeApi) -> None:
    api.fail(answer(401, "Unauthorized", "who?"), times=9)
    async with Client(Connection(base_url=api.url, credentials=Tokens())) as client:
        with pytest.raises(Unauthorized, match=r"who\?"):
            await client.get(JOB, "a", "ns")
    assert len(api.seen) == 2


async def test_a_watch_reads_a_refused_token_again_too(api: FakeApi) -> None:
    api.fail(answer(401))
    tokens = Tokens()
    async with Client(Connection(base_url=api.url, credentials=tokens)) as client:
        api.put("jobs", "a")
        watch = client.watch(JOB, resource_version="100", timeout_seconds=1)
        async with aclosing(watch) as lines:
            assert b"ADDED" in await anext(lines)
    assert tokens.renewed == ["Bearer old"]
