"""Kubernetes Events: notes for people on the objects they are about, counted, never waited for."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import structlog

from kq.core.kinds import EVENT
from kq.kube.client import Client
from kq.kube.errors import (
    AlreadyExists,
    ApiError,
    Indeterminate,
    NotFound,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from kq.kube.telemetry import RecorderMetrics, Uncounted

BURST = 25
REFILL = timedelta(seconds=300)
LONGEST_MESSAGE = 1024
LONGEST_NAME = 253
MOST_PENDING = 16384
MOST_REMEMBERED = 16384
TRIES = 3
_PAUSE = 1.0
_WORTH_ANOTHER_TRY = (TooManyRequests, ServerError, Unreachable, Indeterminate)

log = structlog.get_logger(component="kube")


class ObjectRef(NamedTuple):
    """The object that an Event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


class _Key(NamedTuple):
    regarding: ObjectRef
    type: str
    reason: str
    message: str


@dataclass(slots=True, kw_only=True)
class _Note:
    """One Event object: what it must say, and whether it is there already."""

    name: str
    first: datetime
    last: datetime
    count: int = 0
    is_made: bool = False
    tries: int = 0


class Recorder:
    """Writes Events in the background; identical ones are counted on one object.

    `event` never waits and never fails: what is too much of one object (25 at once, then one each
    300 s), or too much altogether, is counted and forgotten.
    """

    def __init__(
        self,
        client: Client,
        *,
        clock: Callable[[], datetime],
        component: str = "koord-queue",
        metrics: RecorderMetrics | None = None,
        most_pending: int = MOST_PENDING,
    ) -> None:
        self._most_pending = most_pending
        self._client = client
        self._clock = clock
        self._component = component
        self._metrics = metrics or Uncounted()
        self._allowances = Allowances()
        self._notes: OrderedDict[_Key, _Note] = OrderedDict()
        self._pending: OrderedDict[_Key, None] = OrderedDict()
        self._wake = asyncio.Event()

    def event(self, regarding: ObjectRef, type_: str, reason: str, message: str) -> None:
        """Notes that this happened to the object; `type_` is `Normal` or `Warning`."""
        now = self._clock()
        if not self._allowances.take(regarding, now):
            self._metrics.events("filtered")
            return
        key = _Key(regarding, type_, reason, cut(message))
        note = self._notes.setdefault(key, _Note(name=event_name(regarding), first=now, last=now))
        note.count, note.last, note.tries = note.count + 1, now, 0
        self._notes.move_to_end(key)
        if len(self._notes) > MOST_REMEMBERED:
            self._notes.popitem(last=False)
        self._put(key)

    async def run(self) -> None:
        """Writes what is noted, until cancelled."""
        while True:
            await self._wake.wait()
            # One at a time: an API server that is busy has releases of jobs to answer first.
            if not await self._write_next():
                await asyncio.sleep(_PAUSE)

    async def flush(self, timeout: float = 2.0) -> None:
        """Writes what is left, for at most so many seconds; call it when `run` has ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while self._pending:
                    await self._write_next()

    def _put(self, key: _Key) -> None:
        self._pending[key] = None
        if len(self._pending) > self._most_pending:
            self._pending.popitem(last=False)
            self._metrics.events("dropped")
        self._wake.set()

    async def _write_next(self) -> bool:
        """Whether the oldest note got written, or never will be."""
        key, _ = self._pending.popitem(last=False)
        try:
            await self._write(key)
        finally:
            if not self._pending:
                self._wake.clear()
        return key not in self._pending

    async def _write(self, key: _Key) -> None:
        note = self._notes.get(key)
        if note is None:
            self._metrics.events("dropped")
            return
        outcome: str | None = None
        try:
            await self._send(key, note)
            outcome = "written"
        except _WORTH_ANOTHER_TRY as err:
            note.tries += 1
            outcome = None if note.tries < TRIES else self._give_up(key, err)
        except ApiError as err:
            outcome = self._give_up(key, err)
        finally:
            if outcome is None:  # to be tried again, or cancelled in the middle
                self._put(key)
            else:
                self._metrics.events(outcome)

    async def _send(self, key: _Key, note: _Note) -> None:
        namespace = key.regarding.namespace or "default"
        if note.is_made:
            counted = {"count": note.count, "lastTimestamp": _text(note.last)}
            with suppress(NotFound):  # events live an hour
                await self._client.merge_patch(EVENT, note.name, namespace, counted, into=bytes)
                return
            note.name = event_name(key.regarding)
        with suppress(AlreadyExists):  # an earlier try did get through
            body = self._body(key, note, namespace)
            await self._client.create(EVENT, body, namespace, into=bytes)
        note.is_made = True

    def _body(self, key: _Key, note: _Note, namespace: str) -> dict[str, Any]:
        regarding = key.regarding
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": note.name, "namespace": namespace},
            "involvedObject": {
                "apiVersion": regarding.api_version,
                "kind": regarding.kind,
                "namespace": regarding.namespace,
                "name": regarding.name,
                "uid": regarding.uid,
            },
            "type": key.type,
            "reason": key.reason,
            "message": key.message,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": "",
            "firstTimestamp": _text(note.first),
            "lastTimestamp": _text(note.last),
            "count": note.count,
        }

    def _give_up(self, key: _Key, err: ApiError) -> str:
        log.debug("event not written", reason=key.reason, object=key.regarding.name, error=str(err))
        return "dropped"


class Allowances:
    """How many Events each object may still have: 25, and one more each 300 s."""

    def __init__(self) -> None:
        self._left: OrderedDict[ObjectRef, tuple[float, datetime]] = OrderedDict()

    def take(self, regarding: ObjectRef, now: datetime) -> bool:
        """Whether one more is allowed, which is then used up."""
        left, since = self._left.get(regarding, (float(BURST), now))
        left = min(float(BURST), left + max(now - since, timedelta(0)) / REFILL)
        is_allowed = left >= 1
        self._left[regarding] = (left - is_allowed, now)
        self._left.move_to_end(regarding)
        if len(self._left) > MOST_REMEMBERED:
            self._left.popitem(last=False)
        return is_allowed


def cut(message: str) -> str:
    """The message within the 1,024 bytes that an Event takes, cut between characters."""
    content = message.encode()
    if len(content) <= LONGEST_MESSAGE:
        return message
    return content[: LONGEST_MESSAGE - 3].decode(errors="ignore") + "..."


def event_name(regarding: ObjectRef) -> str:
    """A new name for an Event of that object, short enough for an object's name."""
    suffix = f".{secrets.token_hex(8)}"
    # A part of a name may not end in a dot or a dash, which cutting could leave.
    return regarding.name[: LONGEST_NAME - len(suffix)].rstrip(".-") + suffix


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
