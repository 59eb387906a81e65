"""One connection of an API server: what is asked there is answered at once and in order."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import structlog

from kq.webhook.http import CONTINUE, MAX_BODY, Post, Reader, Refusal, Stage, answered, refused

MAX_AWAITED = 16 * MAX_BODY
"""Bytes of bodies under way at once, over all connections."""
MAX_UNSENT = 64 * 1024
"""Bytes of answers that a peer has not taken, above which nothing more is read from it."""
PIECE = 64 * 1024
"""Bytes that are read at once."""

MAX_SECONDS = 3.0
MARGIN_SECONDS = 0.5
LEAST_SECONDS = 0.1

_DURATION = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)(ms|s|m)?", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How many seconds a peer may take until its next request begins, for the head of one, until
    it takes its answers, and for what it still sends of a request that was refused."""

    keepalive: float = 110.0
    """Longer than API servers keep idle connections (90 s): else a POST could meet a close."""
    head: float = 10.0
    stalled: float = 5.0
    linger: float = 1.0


@dataclass(slots=True, kw_only=True)
class Shared:
    """What all connections of one listener have in common."""

    answer: Callable[[bytes | bytearray], bytes | Refusal]
    patience: Patience
    max_connections: int
    closing: bool = False
    """Whether each answer is the last of its connection."""
    bytes_awaited: int = 0
    connections: set["Connection"] = field(default_factory=set)
    emptied: asyncio.Event = field(default_factory=asyncio.Event)
    piece: memoryview = field(default_factory=lambda: memoryview(bytearray(PIECE)))
    """Where arriving bytes are put for all of them: they are read before others can arrive."""


class Connection(asyncio.BufferedProtocol):
    """Reads requests, and answers each with its last byte: no task, no wait."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._loop = asyncio.get_running_loop()
        self._reader = Reader()
        self._transport: asyncio.Transport
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self._bytes_awaited = 0
        self._is_stalled = False
        self._ends = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request; one connection too many is closed at once."""
        self._transport = cast(asyncio.Transport, transport)
        shared = self._shared
        if len(shared.connections) >= shared.max_connections:
            log.warning("connection refused", reason="too many", limit=shared.max_connections)
            self.abort()
            return
        self._transport.set_write_buffer_limits(MAX_UNSENT)
        shared.connections.add(self)
        shared.emptied.clear()
        self._give(shared.patience.keepalive)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where to put what arrives."""
        return self._shared.piece

    def buffer_updated(self, nbytes: int) -> None:
        """Answer what is whole now."""
        # To close a connection reads it once more, so nothing is closed while a piece is in use.
        if self._ends:
            return
        reader = self._reader
        before = reader.stage
        requests = reader.feed(self._shared.piece[:nbytes])
        for request in requests:
            if self._serve(request):
                return
        if requests or reader.stage is not before:
            self._wait()

    def pause_writing(self) -> None:
        """The peer does not take its answers: ask it for nothing more."""
        self._is_stalled = True
        self._transport.pause_reading()
        self._give(self._shared.patience.stalled)

    def resume_writing(self) -> None:
        """The peer has taken them."""
        self._is_stalled = False
        if not self._ends:
            self._transport.resume_reading()
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave nothing behind."""
        self._ends = True
        self._release()
        if self._timer is not None:
            self._timer.cancel()
        self._shared.connections.discard(self)
        if not self._shared.connections:
            self._shared.emptied.set()

    def finish(self) -> None:
        """Close if nothing is under way; else the answer to that is the last."""
        if self._reader.stage is Stage.NOTHING and not self._ends:
            self._close()

    def abort(self) -> None:
        """Close without a word."""
        self._ends = True
        self._transport.abort()

    def _serve(self, request: Post | Refusal) -> bool:
        """Answers one request; whether that was the last."""
        self._release()
        answer = request if isinstance(request, Refusal) else self._shared.answer(request.body)
        if isinstance(answer, Refusal):
            self._refuse(answer)
            return True
        is_last = self._shared.closing or (isinstance(request, Post) and not request.keeps)
        self._transport.write(answered(answer, is_last=is_last))
        if is_last:
            self._close()
        return is_last

    def _refuse(self, refusal: Refusal) -> None:
        """No review was answered; what is left of the body is not worth waiting for."""
        self._release()
        self._ends = True
        self._transport.write(refused(refusal))
        if refusal.is_cut:
            # A close before the peer has sent all would take the answer from it.
            self._give(self._shared.patience.linger)
        else:
            self._close()

    def _close(self) -> None:
        self._ends = True
        self._transport.close()

    def _wait(self) -> None:
        """Sets the time for what is to come next."""
        patience = self._shared.patience
        if self._is_stalled:
            self._give(patience.stalled)
            return
        match self._reader.stage:
            case Stage.NOTHING:
                self._give(patience.keepalive)
            case Stage.HEAD:
                self._give(min(patience.head, patience.keepalive))
            case Stage.BODY:
                self._await_body()

    def _await_body(self) -> None:
        """Waits for the rest, if not too much memory waits for the rest of others."""
        self._release()
        size = self._reader.size
        if self._shared.bytes_awaited + size > MAX_AWAITED:
            self._refuse(Refusal(503, "too many bodies at once", is_cut=True))
            return
        self._bytes_awaited = size
        self._shared.bytes_awaited += size
        if self._reader.expects_continue:
            self._transport.write(CONTINUE)
        self._give(seconds_left(self._reader.timeout))

    def _release(self) -> None:
        self._shared.bytes_awaited -= self._bytes_awaited
        self._bytes_awaited = 0

    def _give(self, seconds: float) -> None:
        """Lets the peer have so much time from now on."""
        self._deadline = self._loop.time() + seconds
        # Nearly always the timer that runs goes off before and looks again: that costs nothing.
        if self._timer is None or self._timer.when() > self._deadline:
            self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._deadline, self._look_at_time)

    def _look_at_time(self) -> None:
        self._timer = None
        if self._loop.time() < self._deadline:
            self._set_timer()
        elif self._is_stalled:
            self.abort()
        elif self._reader.stage is Stage.BODY and not self._ends:
            self._refuse(Refusal(408, "body did not arrive in time"))
        else:
            self._close()


def seconds_left(timeout: str | None) -> float:
    """The deadline: what the API server waits less a margin, at most 3 s (spec 6.10)."""
    match = _DURATION.fullmatch(timeout) if timeout else None
    if match is None:
        return MAX_SECONDS
    waits = float(match[1]) * _UNITS[match[2]]
    return max(LEAST_SECONDS, min(MAX_SECONDS, waits - MARGIN_SECONDS))
