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
        return answer

    async def lines(self, request: PreparedRequest, *, idle: float) -> AsyncGenerator[bytes, None]:
        """The lines of a watch, as far as nothing goes wrong."""
        asked, strike = asked_of(request), self._faults.strike
        if strike(asked, Trouble.EXPIRED):
            raise _refusal(gone(_FORGOTTEN))
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
                yield line


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
            return _refusal(internal("etcdserver: request timed out"))
        case Trouble.CONFLICT:
            return _refusal(conflict_on(asked.plural, asked.name, MODIFIED))
        case _:
            return Indeterminate("the connection broke")


def _refusal(refusal: ApiStatus) -> ApiError:
    body = msgspec.json.encode(refusal.to_body())
    return from_status(refusal.code, body, refusal.headers)
