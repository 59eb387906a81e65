"""The recorder: counted, bounded, and never in anybody's way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fake_api import FakeApi, Seen, answer, hang_up, slow, until
from hypothesis import given
from hypothesis import strategies as st

from kq.kube.client import Client
from kq.kube.recorder import BURST, Allowances, ObjectRef, Recorder, cut, event_name

START = datetime(2026, 1, 1, tzinfo=UTC)
UNIT = ObjectRef("scheduling.x-k8s.io/v1alpha1", "QueueUnit", "ns", "a", "uid-a")


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


class Metrics:
    def __init__(self) -> None:
        self.outcomes: list[str] = []

    def events(self, outcome: str) -> None:
        self.outcomes.append(outcome)


class Recording:
    def __init__(self, client: Client, most_pending: int = 1000) -> None:
        self.clock = Clock()
        self.metrics = Metrics()
        self.recorder = Recorder(
            client, clock=self.clock, metrics=self.metrics, most_pending=most_pending
        )


@asynccontextmanager
async def recording(client: Client) -> AsyncIterator[Recording]:
    made = Recording(client)
    task = asyncio.create_task(made.recorder.run())
    try:
        yield made
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def events(api: FakeApi) -> list[dict[str, Any]]:
    return list(api.objects.get("events", {}).values())


def is_create(seen: Seen) -> bool:
    return seen.method == "POST"


@pytest.mark.looptime
async def test_an_event_says_what_happened_to_whom(api: FakeApi, client: Client) -> None:
    async with recording(client) as made:
        made.recorder.event(UNIT, "Warning", "Evicted", "made room")
        await until(lambda: events(api))
    body = api.seen[0].body
    name = body["metadata"].pop("name")
    body["metadata"] = {"namespace": body["metadata"]["namespace"]}
    assert name.startswith("a.")
    assert body == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": "ns"},
        "involvedObject": {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "QueueUnit",
            "namespace": "ns",
            "name": "a",
            "uid": "uid-a",
        },
        "type": "Warning",
        "reason": "Evicted",
        "message": "made room",
        "source": {"component": "koord-queue"},
        "reportingComponent": "koord-queue",
        "reportingInstance": "",
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
    }


@pytest.mark.looptime
async def test_identical_events_are_counted_on_one_object(api: FakeApi, client: Client) -> None:
    async with recording(client) as made:
        made.recorder.event(UNIT, "Normal", "Scheduling", "waiting")
        await until(lambda: events(api))
        made.clock.now += timedelta(seconds=90)
        made.recorder.event(UNIT, "Normal", "Scheduling", "waiting")
        made.recorder.event(UNIT, "Normal", "Scheduling", "waiting")
        await until(lambda: events(api)[0]["count"] == 3)
        assert [seen.method for seen in api.seen] == ["POST", "PATCH"]
        assert events(api)[0]["lastTimestamp"] == "2026-01-01T00:01:30Z"
        assert events(api)[0]["firstTimestamp"] == "2026-01-01T00:00:00Z"


@pytest.mark.looptime
async def test_events_that_differ_stand_alone(api: FakeApi, client: Client) -> None:
    async with recording(client) as made:
        made.recorder.event(UNIT, "Normal", "Scheduling", "position 1")
        made.recorder.event(UNIT, "Normal", "Scheduling", "position 2")
        await until(lambda: len(events(api)) == 2)
        assert {event["count"] for event in events(api)} == {1}


@pytest.mark.looptime
async def test_an_event_that_expired_is_made_again(api: FakeApi, client: Client) -> None:
    async with recording(client) as made:
        made.recorder.event(UNIT, "Normal", "Scheduling", "waiting")
        await until(lambda: events(api))
        api.objects["events"].clear()
        made.recorder.event(UNIT, "Normal", "Scheduling", "waiting")
        await until(lambda: events(api))
        assert events(api)[0]["count"] == 2


@pytest.mark.looptime
async def test_events_of_cluster_scoped_objects_go_to_the_default_namespace(
    api: FakeApi, client: Client
) -> None:
    async with recording(client) as made:
        made.recorder.event(UNIT._replace(namespace=""), "Normal", "Scheduled", "ok")
        await until(lambda: events(api))
        assert api.seen[0].path == "/api/v1/namespaces/default/events"
        assert events(api)[0]["metadata"]["namespace"] == "default"


@pytest.mark.looptime
async def test_too_many_events_of_one_object_are_filtered(api: FakeApi, client: Client) -> None:
    async with recording(client) as made:
        for number in range(BURST + 5):
            made.recorder.event(UNIT, "Normal", "Scheduling", f"position {number}")
        made.recorder.event(UNIT._replace(uid="uid-b"), "Normal", "Scheduling", "waiting")
        await until(lambda: len(events(api)) == BURST + 1)
        assert made.metrics.outcomes.count("filtered") == 5


def test_an_object_may_have_one_more_event_each_five_minutes() -> None:
    allowances = Allowances()
    assert [allowances.take(UNIT, START) for _ in range(26)] == [True] * 25 + [False]
    assert not allowances.take(UNIT, START + timedelta(seconds=299))
    assert allowances.take(UNIT, START + timedelta(seconds=301))
    assert not allowances.take(UNIT, START + timedelta(seconds=302))


@pytest.mark.looptime
async def test_a_full_recorder_forgets_the_oldest(api: FakeApi, client: Client) -> None:
    most = 50
    made = Recording(client, most)
    for number in range(most + 7):
        regarding = UNIT._replace(name=f"u{number}", uid=f"{number}")
        made.recorder.event(regarding, "Normal", "Scheduled", "ok")
    assert made.metrics.outcomes == ["dropped"] * 7
    await made.recorder.flush(60)
    assert len(events(api)) == most
    assert not any(event["involvedObject"]["name"] == "u0" for event in events(api))


@pytest.mark.looptime
async def test_a_write_without_an_answer_does_not_make_two_events(
    api: FakeApi, client: Client
) -> None:
    async def store_and_hang_up(request: Any) -> Any:
        await api.dispatch(request, api.seen[-1])
        return await hang_up(request)

    api.fail(store_and_hang_up, on=is_create)
    async with recording(client) as made:
        made.recorder.event(UNIT, "Normal", "Scheduled", "ok")
        await until(lambda: made.metrics.outcomes)
        assert made.metrics.outcomes == ["written"]
        assert len(events(api)) == 1


@pytest.mark.looptime
@pytest.mark.parametrize(("code", "tries"), [(500, 3), (403, 1), (404, 1)])
async def test_an_event_that_cannot_be_written_is_dropped(
    api: FakeApi, client: Client, code: int, tries: int
) -> None:
    api.fail(answer(code), times=99)
    async with recording(client) as made:
        made.recorder.event(UNIT, "Normal", "Scheduled", "ok")
        await until(lambda: made.metrics.outcomes, 60)
        assert made.metrics.outcomes == ["dropped"]
        assert len(api.seen) == tries
        api.faults.clear()
        made.recorder.event(UNIT, "Normal", "Reserved", "the next one")
        await until(lambda: events(api))


@pytest.mark.looptime
async def test_a_flush_writes_what_a_cancelled_run_left(api: FakeApi, client: Client) -> None:
    api.fail(slow(5), on=is_create)
    async with recording(client) as made:
        made.recorder.event(UNIT, "Normal", "Scheduled", "ok")
        await until(lambda: api.seen)
    await made.recorder.flush()
    assert [event["reason"] for event in events(api)] == ["Scheduled"]


@pytest.mark.looptime
async def test_a_flush_ends_in_time_though_nothing_answers(api: FakeApi, client: Client) -> None:
    api.fail(slow(1000), times=99)
    made = Recording(client)
    made.recorder.event(UNIT, "Normal", "Scheduled", "ok")
    clock = asyncio.get_running_loop().time
    started = clock()
    await made.recorder.flush(2)
    assert clock() - started <= 2.1


@given(st.text(max_size=3000))
def test_a_message_fits_an_event_and_keeps_its_beginning(message: str) -> None:
    fitting = cut(message)
    assert len(fitting.encode()) <= 1024
    assert fitting == message or message.startswith(fitting.removesuffix("..."))


@pytest.mark.parametrize("name", ["a", "x" * 253, "x" * 235 + "-." + "y" * 10])
def test_an_event_name_is_the_objects_and_fits(name: str) -> None:
    made = event_name(UNIT._replace(name=name))
    stem, _, suffix = made.rpartition(".")
    assert len(made) <= 253
    assert name.startswith(stem)
    assert stem[-1].isalnum()
    assert len(suffix) == 16
