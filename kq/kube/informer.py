"""One kind, followed: listed, watched, decoded into views, stored, and told to handlers."""

import asyncio
import gc
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from functools import partial
from time import monotonic
from typing import Generic

import structlog

from kq.core.kinds import ResourceKind
from kq.errors import DecodeError
from kq.kube.client import Client
from kq.kube.errors import ApiError, Gone, NotFound
from kq.kube.replica import Change, Page, Replica, Unreadable, read_page
from kq.kube.requests import IDLE_TIMEOUT
from kq.kube.store import Indexer, Lister, V
from kq.kube.telemetry import InformerMetrics, Uncounted
from kq.kube.watch import Absent, Event, Pauses, Relist, Resume, Skipped, WatchState, after_error

WATCH_LIFE = (240.0, 300.0)
"""Seconds after which the server is asked to end a watch, at random between the two."""
LOOK_AGAIN = (2.0, 60.0)
"""Seconds between the first two looks for a kind that is not served, doubled up to the second."""
FAILURES_UNHEALTHY = 3
_LIST_TIMEOUT = 60.0
_COLLECTOR_THRESHOLDS = (50_000, 20, 50)
_STRIDE = 256
"""Events or items after which other tasks get their turn."""

_FORGOTTEN = "everything was forgotten meanwhile"

log = structlog.get_logger(component="kube")


class Informer(Generic[V]):
    """A copy of one kind's objects, as small views, that follows the API server.

    `decode` makes a view of an object's JSON (a buffer that msgspec decoders take; nothing of it
    may be kept), or None for an object that is not ours. `known` gives the view of a key, UID and
    version that was read already, from the answer to a write of ours. `run` follows for ever;
    handlers are called on the loop, per object in the server's order.

    Of an `optional` kind the first of its `versions` that is served counts; `is_removed` says
    whether the kind itself is gone, so that its objects are told as gone (spec 4.7).
    """

    def __init__(
        self,
        *,
        client: Client,
        kind: ResourceKind,
        decode: Callable[[bytes], V | None],
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        indexes: Mapping[str, Indexer[V]] | None = None,
        page_limit: int = 500,
        idle_timeout: float = IDLE_TIMEOUT,
        optional: bool = False,
        versions: Sequence[ResourceKind] = (),
        is_removed: Callable[[ResourceKind], Awaitable[bool]] | None = None,
        known: Callable[[str, str, str], V | None] | None = None,
        metrics: InformerMetrics | None = None,
        uniform: Callable[[float, float], float] = random.uniform,  # noqa: S311 - only jitter
    ) -> None:
        self.kind = kind
        self._versions = list(versions) or [kind]
        self._is_removed = is_removed
        self.available = not optional
        """Whether the API server serves this kind, as far as is known."""
        self._client = client
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._replica = Replica(decode, indexes, known)
        self._page_limit: int | None = page_limit
        self._idle_timeout = idle_timeout
        self._optional = optional
        self._metrics = metrics or Uncounted()
        self._uniform = uniform
        self._pauses = Pauses(uniform)
        self._handlers: list[Callable[[Change[V]], None]] = []
        self._version: str | None = None
        self.reached = 0
        """The version up to which all changes were told; 0 if versions are no numbers."""
        self._progress: Callable[[], None] = _nothing
        self._is_listed = False
        self._synced = asyncio.Event()
        self._generation = 0
        self._failures = 0
        self._looks = 0
        self._clock: Callable[[], float] = monotonic
        self._heard_at: float | None = None

    @property
    def lister(self) -> Lister[V]:
        """The copy, read-only."""
        return self._replica.store

    @property
    def synced(self) -> bool:
        """Whether the copy is whole: one list came to its end, or the optional kind is absent."""
        return self._synced.is_set()

    @property
    def healthy(self) -> bool:
        """Whether the copy is being kept up to date: fewer than three failures in a row."""
        return self._failures < FAILURES_UNHEALTHY

    def idle_seconds(self) -> float:
        """The seconds since anything was heard of this kind, a bookmark included."""
        return 0.0 if self._heard_at is None else self._clock() - self._heard_at

    async def wait_synced(self) -> None:
        """Returns once `synced`."""
        await self._synced.wait()

    def add_handler(self, handler: Callable[[Change[V]], None]) -> None:
        """Has the handler called for every change, and first for all that is already there."""
        self._handlers.append(handler)
        for view in self._replica.store.values():
            self._call(handler, Change(None, view, initial=True))

    def on_progress(self, handler: Callable[[], None]) -> None:
        """Has the handler called whenever `reached` has grown, changes and bookmarks alike."""
        self._progress = handler

    def forget_all(self) -> None:
        """Tells every object as gone: the kind itself was seen to be removed."""
        self._tell(self._replica.clear())
        self._version = None
        self._generation += 1  # a list or watch that is under way no longer tells the whole

    async def run(self) -> None:
        """Follows the API server until cancelled."""
        self._clock = asyncio.get_running_loop().time
        self._metrics.watch_idle(self.kind, self.idle_seconds)
        while True:
            outcome: Resume | Relist | Absent
            try:
                if self._version is None:
                    self._version = await self._list()
                outcome = await self._watch(self._version)
            except NotFound as err:
                outcome = self._not_served(err)
            except (ApiError, DecodeError) as err:
                outcome = Relist(str(err), after=getattr(err, "retry_after", None))
            await self._go_on(outcome)

    async def _go_on(self, outcome: Resume | Relist | Absent) -> None:
        match outcome:
            case Resume(failed=False):
                self._failures = 0
                return
            case Absent():
                self._failures = 0
                if self._is_removed and len(self.lister) and await self._is_removed(self.kind):
                    self.forget_all()
                await asyncio.sleep(self._pause_of_look())
                return
            case Relist():
                self._version = None
        self._failures += 1
        expired = isinstance(outcome, Relist) and outcome.expired
        pause = self._pauses.after_failure(self._clock(), expired=expired)
        pause = max(pause, outcome.after or 0.0)
        log.warning("watch failed", kind=self.kind.kind, reason=outcome.reason, pause=pause)
        await asyncio.sleep(pause)

    def _pause_of_look(self) -> float:
        """Soon at first: an operator that is installed anew replaces its kind within seconds."""
        first, longest = LOOK_AGAIN
        pause = min(longest, first * 2.0 ** min(self._looks, 10))
        self._looks += 1
        return pause

    def _not_served(self, err: NotFound) -> Relist | Resume | Absent:
        if not self._optional:
            return Relist(err.message)
        self._version = None
        if self._try_next_version():
            return Resume()
        if self.available or not self.synced:
            log.info("kind is not served", kind=self.kind.kind)
        self._note_available(False)
        # Nothing to wait for; what was known stays until `forget_all` (spec 4.7).
        self._synced.set()
        return Absent()

    def _try_next_version(self) -> bool:
        """Whether there is a version of the kind that was not asked for in this round."""
        place = (self._versions.index(self.kind) + 1) % len(self._versions)
        self.kind = self._versions[place]
        return place > 0

    def _note_available(self, available: bool) -> None:
        self.available = available
        self._metrics.available(self.kind, available)

    async def _list(self) -> str:
        self._replica.begin_list()
        generation = self._generation
        page = await self._page("")
        version = page.version
        self._note_available(True)
        self._looks = 0
        await self._take(page)
        while page.token:
            page = await self._page(page.token)
            await self._take(page)
        if generation != self._generation:
            raise DecodeError(_FORGOTTEN)
        self.reached = _number(version)
        self._tell(self._replica.end_list())
        self._progress()
        self._is_listed = True
        self._synced.set()
        return version

    async def _page(self, token: str) -> Page:
        try:
            body = await self._client.list_page(
                self.kind,
                self._namespace,
                limit=self._page_limit,
                continue_=token,
                label_selector=self._label_selector,
                field_selector=self._field_selector,
                timeout=_LIST_TIMEOUT,
            )
        except Gone:
            if token:
                # The pages come too slowly for the server's memory: from now on all at once.
                self._page_limit = None
            raise
        self._heard_at = self._clock()
        return read_page(body)

    async def _take(self, page: Page) -> None:
        for start in range(0, len(page.items), _STRIDE):
            for raw in page.items[start : start + _STRIDE]:
                self._apply(partial(self._replica.list_item, raw, initial=not self._is_listed))
            await asyncio.sleep(0)

    async def _watch(self, version: str) -> Resume | Relist:
        clock = self._clock
        state, opened = WatchState(self.kind, version), clock()
        generation = self._generation
        try:
            async with aclosing(self._open_watch(version)) as lines:
                async for line in lines:
                    self._heard_at = clock()
                    if generation != self._generation:
                        return Relist(_FORGOTTEN)
                    said = state.line(line)
                    self._version = state.version
                    if isinstance(said, Resume | Relist):
                        return said
                    self.reached = _number(state.version)
                    self._hear(said)
                    self._progress()
                    if state.lines % _STRIDE == 0:
                        await asyncio.sleep(0)
        except NotFound:
            raise  # the kind itself, or this version of it, is gone
        except ApiError as err:
            return after_error(err)
        return state.closed(clock() - opened)

    def _open_watch(self, version: str) -> AsyncGenerator[bytes, None]:
        return self._client.watch(
            self.kind,
            self._namespace,
            resource_version=version,
            timeout_seconds=round(self._uniform(*WATCH_LIFE)),
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            idle_timeout=self._idle_timeout,
        )

    def _hear(self, said: Event | Skipped | None) -> None:
        if isinstance(said, Skipped):
            self._drop(said.key, said.reason)
            return
        self._failures = 0
        if said is not None:
            self._apply(partial(self._replica.apply, said))

    def _apply(self, step: Callable[[], list[Change[V]]]) -> None:
        try:
            changes = step()
        except Unreadable as err:
            self._drop(err.key, str(err))
        else:
            self._tell(changes)

    def _drop(self, key: str, reason: str) -> None:
        self._metrics.undecodable(self.kind)
        log.warning("object dropped", kind=self.kind.kind, object=key, error=reason)

    def _tell(self, changes: Sequence[Change[V]]) -> None:
        for change in changes:
            for handler in self._handlers:
                self._call(handler, change)

    def _call(self, handler: Callable[[Change[V]], None], change: Change[V]) -> None:
        try:
            handler(change)
        except Exception:  # one handler's failure must not keep the change from the others
            self._metrics.handler_failed(self.kind)
            view = change.new or change.old
            log.exception("handler failed", kind=self.kind.kind, object=view and view.name)


@contextmanager
def quiet_collector() -> Iterator[None]:
    """No collection inside; what was built there is frozen at the end and never looked at again.

    Put it around the first lists of all informers: 100,000 objects would otherwise be traversed
    over and over while they are made, and in every full collection after that.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(*_COLLECTOR_THRESHOLDS)
        gc.enable()


def _number(version: str) -> int:
    """A resourceVersion as a number (Kubernetes 1.35 says that they are; before they were)."""
    return int(version) if version.isascii() and version.isdigit() else 0


def _nothing() -> None:
    """Nobody asked to be told."""
