"""Watches: the lines of one, as they come."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from kq.core.kinds import Object
from kq.sim.api.call import Call
from kq.sim.api.kinds import Kind
from kq.sim.api.status import gone
from kq.sim.api.storage import Change, Compacted, Event, Storage, Stored
from kq.sim.request.options import ListOptions, read_version

BOOKMARK_SECONDS = 60.0
BEFORE_THE_END = 2.0
"""How long before the end of a watch its last bookmark comes."""

Show = Callable[[Stored], bytes]
"""An object's JSON, in the version and form that the watcher asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How watches run: their length if nobody asks for one, and how far a reader may fall back."""

    seconds: float = 2700.0
    backlog: int = 10_000
    """Events that a reader may be behind; then its watch ends, as a real server's does."""


def open_watch(
    storage: Storage, call: Call, options: ListOptions, *, show: Show, pace: Pace
) -> AsyncGenerator[bytes, None]:
    """The lines of a watch until its time is over; what is wrong with it is refused at once."""
    asked = read_version(options.version)
    watch = _Watch(storage, call, options, show)
    return _lines(watch, asked, pace)


async def _lines(watch: "_Watch", asked: int, pace: Pace) -> AsyncGenerator[bytes, None]:
    seconds = watch.options.timeout or pace.seconds
    with _Alarm(seconds) as alarm, ExitStack() as stack:
        stack.callback(watch.subscribe(alarm.ring))
        for line in watch.initial(asked):
            yield line
        while True:
            alarm.quiet()
            try:
                events = watch.news()
            except Compacted as err:
                yield _line("ERROR", _expired(watch.version, err.oldest))
                return
            for line in events[: pace.backlog]:
                yield line
            if len(events) > pace.backlog:
                return
            if alarm.bookmark_is_due and watch.options.bookmarks:
                yield watch.bookmark()
            alarm.booked()
            if alarm.is_over:
                return
            await alarm.wait()


class _Watch:
    """Which events of a kind one watcher sees, and up to which it has seen them."""

    def __init__(self, storage: Storage, call: Call, options: ListOptions, show: Show) -> None:
        self.options = options
        self.version = 0
        self._storage = storage
        self._call = call
        self._show = show

    def subscribe(self, ring: Callable[[], None]) -> Callable[[], None]:
        """Rings when something happens, until the function that is returned is called."""
        return self._storage.subscribe(self._call.kind.key, ring)

    def initial(self, asked: int) -> Iterator[bytes]:
        """What is there already, if the watch starts with that."""
        starts_with_state = self.options.initial_events or not asked
        self.version = self._storage.version if starts_with_state else asked
        if not starts_with_state:
            return
        for stored in self._storage.list(self._call.kind, self._call.namespace):
            if self._matches(stored):
                yield _line(Change.ADDED, self._show(stored))
        if self.options.initial_events and self.options.bookmarks:
            yield self.bookmark(initial=True)

    def news(self) -> list[bytes]:
        """The lines of what happened since the last time."""
        events = self._storage.events_since(self._call.kind.key, self.version)
        self.version = events[-1].version if events else self.version
        return [line for event in events if (line := self._seen(event)) is not None]

    def bookmark(self, *, initial: bool = False) -> bytes:
        """A line that says only how far the watcher is; nothing up to there was left out."""
        self.version = self._storage.version
        return _line("BOOKMARK", _bookmark(self._call.kind, self.version, initial=initial))

    def _seen(self, event: Event) -> bytes | None:
        """The event as this watcher sees it: coming into its selection is being added."""
        stored = event.stored
        before = event.before is not None and self._matches(event.before)
        now = event.change is not Change.DELETED and self._matches(stored)
        if now:
            return _line(Change.MODIFIED if before else Change.ADDED, self._show(stored))
        if not before or event.before is None:
            return None
        if event.change is Change.DELETED:
            return _line(Change.DELETED, self._show(stored))
        return _line(Change.DELETED, self._show(_as_of(event.before, event.version)))

    def _matches(self, stored: Stored) -> bool:
        if self._call.namespace and stored.namespace != self._call.namespace:
            return False
        return self.options.selection.takes_all or self.options.selection.matches(
            stored.labels, stored.fields
        )


class _Alarm:
    """Wakes a watch for news, for bookmarks, and for its end."""

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._rung = asyncio.Event()
        self._end = self._loop.time() + seconds
        self._next = self._bookmark_time()
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> "_Alarm":
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    @property
    def is_over(self) -> bool:
        """Whether the watch has stood as long as it may."""
        return self._loop.time() >= self._end

    @property
    def bookmark_is_due(self) -> bool:
        """Whether it is time to say how far the watch is."""
        return self._loop.time() >= self._next

    def ring(self) -> None:
        """Ends the present wait, or the next one."""
        self._rung.set()

    def quiet(self) -> None:
        """Forgets that it rang: what happened until now is about to be looked at."""
        self._rung.clear()

    def booked(self) -> None:
        """Sets the time of the next bookmark, if that of the last one is over."""
        if self.bookmark_is_due:
            self._next = self._bookmark_time()

    async def wait(self) -> None:
        """Returns when it rings: at news, for a bookmark, or at the end."""
        due = min(self._next, self._end)
        if self._timer is None or self._timer.when() != due:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(due, self.ring)
        await self._rung.wait()

    def _bookmark_time(self) -> float:
        now = self._loop.time()
        last = self._end - BEFORE_THE_END
        return min(now + BOOKMARK_SECONDS, last if now < last else self._end + BOOKMARK_SECONDS)


def _line(change: str, raw: bytes) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (change.encode(), raw)


def _bookmark(kind: Kind, version: int, *, initial: bool) -> bytes:
    meta: dict[str, Any] = {"resourceVersion": str(version)}
    if initial:
        meta["annotations"] = {"k8s.io/initial-events-end": "true"}
    if not kind.custom:
        meta["creationTimestamp"] = None
    return msgspec.json.encode(
        {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta}
    )


def _as_of(stored: Stored, version: int) -> Stored:
    """An object that left a selection is told with the version in which it left."""
    obj = stored.read()
    obj["metadata"]["resourceVersion"] = str(version)
    return replace(stored, raw=msgspec.json.encode(obj))


def _expired(asked: int, oldest: int) -> bytes:
    status: Object = gone(f"too old resource version: {asked} ({oldest})").to_body()
    return msgspec.json.encode(status)
