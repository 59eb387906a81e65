"""The wire between a client of kq and the API server, on which planned faults strike."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from types import TracebackType

import msgspec

from kq.kube.errors import ApiError, Indeterminate, Unreachable, from_status
from kq.kube.requests import Options, PreparedRequest
from kq.kube.transport import Wire
from kq.sim.api.status import MODIFIED, ApiStatus, conflict_on, gone, internal, too_many
from kq.sim.faults import Asked, Fault, Faults, Trouble, asked_of

_BEFORE = (Trouble.UNREACHABLE, Trouble.UNSENT, Trouble.BUSY, Trouble.FAILED, Trouble.CONFLICT)
_FORGOTTEN = "too old resource version"
_REFUSALS = {
    400: ("BadRequest", "the server rejected our request for an unknown reason"),
    401: ("Unauthorized", "Unauthorized"),
    403: ("Forbidden", "the account cannot do this"),
    404: ("NotFound", "the server could not find the requested resource"),
    413: ("RequestEntityTooLarge", "Request entity too large: limit is 3145728"),
    422: ("Invalid", "the object is invalid"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: ("Timeout", "Timeout: request did not complete within the allotted timeout"),
}


class FaultyWire:
    """A wire of a client on which planned faults strike."""

    def __init__(
        self,
        wire: Wire,
        *,
        faults: Faults,
        version: Callable[[], int],
        kill: Callable[[], None],
        latency: float = 0.0,
    ) -> None:
        """`version` is the API server's at present, `kill` ends whoever asks through this wire.

        `latency` is how many seconds a request takes in each direction, faults or not.
        """
        self._latency = latency
        self._wire = wire
        self._faults = faults
        self._version = version
        self._kill = kill
        self.last_date: str | None = None

    async def __aenter__(self) -> object:
        return await self._wire.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._wire.__aexit__(kind, error, trace)

    async def send(self, request: PreparedRequest, body: bytes | None, options: Options) -> bytes:
        """The body of the answer, if nothing goes wrong."""
        asked, strike = asked_of(request), self._faults.strike
        slow = strike(asked, Trouble.SLOW)
        await asyncio.sleep(self._latency + (slow.seconds if slow else 0.0))
        if fault := strike(asked, *_BEFORE):
            raise _error(fault, asked)
        if may_be_stale(request) and (fault := strike(asked, Trouble.STALE)):
            request = _as_of(request, max(1, self._version() - int(fault.seconds)))
        answer = await self._wire.send(request, body, options)
        self.last_date = self._wire.last_date
        if strike(asked, Trouble.DEATH):
            self._kill()
        await asyncio.sleep(self._latency)
        if strike(asked, Trouble.LOST):
            raise Indeterminate(f"{request.method} {request.path}: the connection broke")
        return _half(answer) if strike(asked, Trouble.GARBLED) else answer

    async def lines(self, request: PreparedRequest, *, idle: float) -> AsyncGenerator[bytes, None]:
        """The lines of a watch, as far as nothing goes wrong."""
        asked, strike = asked_of(request), self._faults.strike
        await self._opening(asked)
        async with aclosing(self._wire.lines(request, idle=idle)) as lines:
            async for line in lines:
                if fault := strike(asked, Trouble.LATE):
                    await asyncio.sleep(fault.seconds)
                if strike(asked, Trouble.STALLED):
                    await asyncio.sleep(idle)
                    raise Indeterminate(f"{request.path}: the watch is silent")
                if strike(asked, Trouble.DROPPED):
                    raise Indeterminate(f"{request.path}: the watch broke")
                if strike(asked, Trouble.EXPIRED):
                    said = gone(_FORGOTTEN).to_body()
                    yield msgspec.json.encode({"type": "ERROR", "object": said})
                    return
                yield _half(line) if strike(asked, Trouble.GARBLED) else line

    async def _opening(self, asked: Asked) -> None:
        if fault := self._faults.strike(asked, Trouble.SLOW):
            await asyncio.sleep(fault.seconds)
        if fault := self._faults.strike(asked, *_BEFORE):
            raise _error(fault, asked)
        if self._faults.strike(asked, Trouble.EXPIRED):
            raise _refusal(gone(_FORGOTTEN))


def may_be_stale(request: PreparedRequest) -> bool:
    """Whether a list may be answered by a replica that is behind: if any version is good enough."""
    asks = request.query
    return (
        request.method == "GET"
        and asks.get("resourceVersion") == "0"
        and "watch" not in asks
        and asked_of(request).verb == "list"
    )


def _as_of(request: PreparedRequest, version: int) -> PreparedRequest:
    query = {**request.query, "resourceVersion": str(version), "resourceVersionMatch": "Exact"}
    return msgspec.structs.replace(request, query=query)


def _error(fault: Fault, asked: Asked) -> ApiError:
    """What the client is told by a fault that strikes before anything is done."""
    match fault.trouble:
        case Trouble.UNREACHABLE:
            return Unreachable("connect: connection refused")
        case Trouble.BUSY:
            return _refusal(too_many("too many requests", max(1, round(fault.seconds))))
        case Trouble.FAILED:
            return _failure(fault.code)
        case Trouble.CONFLICT:
            return _refusal(conflict_on(asked.plural, asked.name, MODIFIED))
        case _:
            return Indeterminate("the connection broke")


def _failure(code: int) -> ApiError:
    """Codes that the API server does not have come from a proxy, which has its own words."""
    if code == 500:
        return _refusal(internal("etcdserver: request timed out"))
    if code not in _REFUSALS:
        return from_status(code, b"<html>no healthy upstream</html>", {})
    reason, message = _REFUSALS[code]
    return _refusal(ApiStatus(code, reason, message))


def _half(text: bytes) -> bytes:
    return text[: len(text) // 2]


def _refusal(refusal: ApiStatus) -> ApiError:
    body = msgspec.json.encode(refusal.to_body())
    return from_status(refusal.code, body, refusal.headers)
