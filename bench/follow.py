"""When each object was first seen to be so: released, complete, told its reason.

A line of a watch is decoded no further than that takes.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing

import msgspec

from bench.failure import BenchError
from bench.objects import NAMESPACE
from kq.core.kinds import ResourceKind
from kq.kube.client import Client

WATCH_SECONDS = 3600
COMPLETE = "Complete"


class Meta(msgspec.Struct, frozen=True, rename="camel"):
    """Which object, and as of when."""

    resource_version: str
    name: str = ""


class Spec(msgspec.Struct, frozen=True):
    """Of a job."""

    suspend: bool = False


class Condition(msgspec.Struct, frozen=True):
    """Of a job."""

    type: str
    status: str


class Status(msgspec.Struct, frozen=True):
    """Of a job or of a unit."""

    conditions: tuple[Condition, ...] = ()
    message: str = ""


class Seen(msgspec.Struct, frozen=True):
    """What is read of a job or of a unit."""

    metadata: Meta
    spec: Spec = Spec()
    status: Status = Status()


class Change(msgspec.Struct, frozen=True):
    """One line of a watch."""

    type: str
    object: msgspec.Raw


Claim = Callable[[Seen], bool]


def is_released(job: Seen) -> bool:
    """Whether the job may run."""
    return not job.spec.suspend


def is_complete(job: Seen) -> bool:
    """Whether the job has ended well."""
    return any(each.type == COMPLETE and each.status == "True" for each in job.status.conditions)


def has_reason(unit: Seen) -> bool:
    """Whether the unit says what it waits for."""
    return bool(unit.status.message)


class Follower:
    """Notes on the loop's clock when each object of a kind first met each claim."""

    def __init__(self, client: Client, kind: ResourceKind, claims: Mapping[str, Claim]) -> None:
        self.moments: dict[str, dict[str, float]] = {name: {} for name in claims}
        self._client = client
        self._kind = kind
        self._claims = claims
        self._version = ""
        self._goals: list[tuple[str, int, asyncio.Event]] = []
        self._change = msgspec.json.Decoder(Change).decode
        self._seen = msgspec.json.Decoder(Seen).decode

    async def start(self) -> None:
        """From now on nothing will be missed."""
        page = await self._client.list_page(self._kind, NAMESPACE, limit=1)
        self._version = self._seen(page).metadata.resource_version

    async def run(self) -> None:
        """Follows until it is cancelled; the API server ends watches of slow readers."""
        clock = asyncio.get_running_loop().time
        while True:
            lines = self._client.watch(
                self._kind,
                NAMESPACE,
                resource_version=self._version,
                timeout_seconds=WATCH_SECONDS,
            )
            async with aclosing(lines):
                async for line in lines:
                    self.note(line, clock())

    async def reached(self, claim: str, count: int) -> None:
        """Returns once so many objects have met a claim."""
        if len(self.moments[claim]) < count:
            event = asyncio.Event()
            self._goals.append((claim, count, event))
            await event.wait()

    def note(self, line: bytes, now: float) -> None:
        """One line of the watch."""
        change = self._change(line)
        if change.type == "ERROR":
            raise BenchError(f"the watch of {self._kind.plural} broke: {line.decode()}")
        seen = self._seen(change.object)
        self._version = seen.metadata.resource_version
        if change.type == "BOOKMARK":
            return
        for name, holds in self._claims.items():
            moments = self.moments[name]
            if seen.metadata.name not in moments and holds(seen):
                moments[seen.metadata.name] = now
                self._look_at_goals()

    def _look_at_goals(self) -> None:
        for claim, count, event in self._goals:
            if len(self.moments[claim]) >= count:
                event.set()
