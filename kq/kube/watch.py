"""One watch, line by line: what each line says, and how to go on when it ends; no I/O."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

import msgspec

from kq.backoff import exponential
from kq.core.kinds import ResourceKind
from kq.core.nesting import shallow
from kq.kube.errors import (
    ApiError,
    Gone,
    Indeterminate,
    ServerError,
    TooManyRequests,
    Unreachable,
    from_event,
)

SHORTEST_PAUSE = timedelta(milliseconds=800)
LONGEST_PAUSE = timedelta(seconds=30)
PEACE = 120.0
"""Seconds without a failure after which pauses are short again."""
VERY_SHORT = 1.0
"""A watch that ends within this many seconds without a line is an error, not an end."""


class EventType(StrEnum):
    """The types of watch events."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


_KNOWN_TYPES = frozenset(EventType) - {EventType.ERROR}


class ObjectMeta(msgspec.Struct, frozen=True, gc=False):
    """The part of `metadata` by which an object is told from others."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone of a cluster-scoped object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Event(msgspec.Struct, frozen=True, gc=False):
    """One object came, changed, or went; `raw` is a view on the line, good until the next."""

    type: str
    meta: ObjectMeta
    raw: msgspec.Raw


class Skipped(msgspec.Struct, frozen=True, gc=False):
    """A line that says nothing we can use; `key` is empty where not even that can be read."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class Resume:
    """Open the watch again at the last version; `failed` asks for a pause first."""

    failed: bool = False
    after: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Relist:
    """What the watch knew is lost or doubtful: list anew."""

    reason: str
    after: float | None = None
    expired: bool = False
    """Whether the API server said so, which is then well: no reason to wait long, at first."""


@dataclass(frozen=True, slots=True)
class Absent:
    """The kind itself is not served: look again later."""


class _Line(msgspec.Struct, frozen=True, gc=False):
    type: str
    object: msgspec.Raw


class _Head(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta
    kind: str = ""


_decode_line: Callable[[bytes], _Line] = msgspec.json.Decoder(_Line).decode
_decode_head: Callable[[msgspec.Raw], _Head] = msgspec.json.Decoder(_Head).decode


def read_meta(raw: msgspec.Raw) -> ObjectMeta:
    """The object's metadata; msgspec.DecodeError if it has none that can be read."""
    return _decode_head(raw).metadata


class WatchState:
    """The version up to which a kind is known, moved on by each line of a watch."""

    def __init__(self, kind: ResourceKind, version: str) -> None:
        self._kind = kind.kind
        self.version = version
        self.lines = 0

    def line(self, line: bytes) -> Event | Skipped | Relist | Resume | None:
        """What one line says; None for a bookmark."""
        try:
            return self._line(line)
        except RecursionError:
            return self._line(shallow(line))

    def _line(self, line: bytes) -> Event | Skipped | Relist | Resume | None:
        try:
            read = _decode_line(line)
        except msgspec.DecodeError as err:
            # Whatever it was to tell is lost; only the next list tells it.
            return Relist(f"a line is no event: {err}") if line.strip() else Skipped("", str(err))
        if read.type == EventType.ERROR:
            return after_error(from_event(read.object))
        try:
            head = _decode_head(read.object)
        except msgspec.DecodeError as err:
            return Skipped("", str(err))
        meta = head.metadata
        if head.kind != self._kind or read.type not in _KNOWN_TYPES or not meta.resourceVersion:
            return Skipped(meta.key, f"event {read.type!r} of a {head.kind!r}")
        self.lines += 1
        self.version = meta.resourceVersion
        return None if read.type == EventType.BOOKMARK else Event(read.type, meta, read.object)

    def closed(self, seconds: float) -> Resume:
        """How to go on after the server ended a watch that stood for so long."""
        if self.lines == 0 and seconds < VERY_SHORT:
            return Resume(failed=True, reason="the watch ended at once, without an event")
        return Resume()


def after_error(error: ApiError) -> Relist | Resume:
    """How to go on after a watch could not be opened, or was ended by an error."""
    match error:
        case Gone():
            return Relist(error.message, expired=True)
        case TooManyRequests() | Unreachable() | Indeterminate():
            return Resume(failed=True, after=error.retry_after, reason=error.message)
        case ServerError(reason="InternalError"):
            return Resume(failed=True, after=error.retry_after, reason=error.message)
        case _:
            return Relist(error.message, after=error.retry_after)


class Pauses:
    """0.8 s, doubled up to 30 s, times a random 1 to 2; from the start after two good minutes."""

    def __init__(self, uniform: Callable[[float, float], float]) -> None:
        self._uniform = uniform
        self._failures = 0
        self._until = float("-inf")
        self._expired_at = float("-inf")

    def after_failure(self, now: float, *, expired: bool = False) -> float:
        """The seconds to wait after a failure at that time.

        What expired while the API server was out of reach is listed soon after it is back.
        """
        if now - self._until > PEACE or (expired and now - self._expired_at > PEACE):
            self._failures = 0
        if expired:
            self._expired_at = now
        self._failures += 1
        shortest = exponential(SHORTEST_PAUSE, LONGEST_PAUSE, self._failures).total_seconds()
        pause = self._uniform(shortest, 2 * shortest)
        self._until = now + pause
        return pause
