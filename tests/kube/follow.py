"""A running informer for tests, and what its handler was told."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
from fake_api import FakeApi, Seen, answer, until

from kq.core.kinds import JOB
from kq.kube.client import Client
from kq.kube.informer import Informer
from kq.kube.replica import Change


class View(msgspec.Struct, frozen=True):
    namespace: str
    name: str
    uid: str
    resource_version: str
    size: int


class _Meta(msgspec.Struct):
    namespace: str
    name: str
    uid: str
    resourceVersion: str


class _Spec(msgspec.Struct):
    size: int = 0
    foreign: bool = False


class _Job(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)


def decode(raw: bytes) -> View | None:
    job = msgspec.json.decode(raw, type=_Job)
    meta = job.metadata
    if job.spec.foreign:
        return None
    return View(meta.namespace, meta.name, meta.uid, meta.resourceVersion, job.spec.size)


class Metrics:
    def __init__(self) -> None:
        self.dropped = 0
        self.failed = 0
        self.availability: list[bool] = []
        self.read: Callable[[], float] = lambda: -1.0

    def watch_idle(self, kind: object, read: Callable[[], float]) -> None:
        self.read = read

    def available(self, kind: object, available: bool) -> None:
        self.availability.append(available)

    def undecodable(self, kind: object) -> None:
        self.dropped += 1

    def handler_failed(self, kind: object) -> None:
        self.failed += 1


class Following:
    """A running informer, and what its handler was told, as readable texts."""

    def __init__(self, informer: Informer[View], metrics: Metrics) -> None:
        self.informer = informer
        self.metrics = metrics
        self.told: list[str] = []
        informer.add_handler(self.note)

    def note(self, change: Change[View]) -> None:
        match change:
            case Change(old=None, new=View() as new):
                self.told.append(f"{'=' if change.initial else '+'}{new.name}")
            case Change(old=View() as old, new=None):
                self.told.append(f"-{old.name}")
            case Change(old=View() as old, new=View() as new):
                self.told.append(f"{old.name} {old.size}->{new.size}")


@asynccontextmanager
async def following(
    client: Client, *, synced: bool = True, **options: Any
) -> AsyncIterator[Following]:
    metrics = Metrics()
    informer = Informer(
        client=client,
        kind=JOB,
        decode=decode,
        metrics=metrics,
        uniform=lambda low, high: low,
        **options,
    )
    seen = Following(informer, metrics)
    task = asyncio.create_task(informer.run())
    try:
        if synced:
            async with asyncio.timeout(300):
                await informer.wait_synced()
        yield seen
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def is_list(seen: Seen) -> bool:
    return seen.method == "GET" and not seen.is_watch


def is_watch(seen: Seen) -> bool:
    return seen.is_watch


def is_second_page(seen: Seen) -> bool:
    return "continue" in seen.query


@asynccontextmanager
async def disconnected(api: FakeApi, seen: Following) -> AsyncIterator[None]:
    """While inside, the server changes and forgets the history; after it, a list was taken."""
    await until(lambda: api.watchers)
    lists = len(api.lists())
    seen.told.clear()
    api.fail(answer(503), times=1, on=is_watch)
    api.end_watches()
    await until(lambda: len(api.watches()) == 2)
    yield
    api.compact()
    await until(lambda: len(api.lists()) > lists and api.watchers, 60)
