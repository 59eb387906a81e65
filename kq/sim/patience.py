"""What kq's own transport does around a single try, for wires without sockets."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import nullcontext
from types import TracebackType

from kq.kube.errors import ApiError, ServerError, TooManyRequests, Unreachable
from kq.kube.lane import Lane
from kq.kube.requests import Options, PreparedRequest
from kq.kube.transport import LONGEST_WAIT, TRIES, Uniform, Wire


class Patient:
    """A wire that takes its lane and tries again as `kq.kube.transport.Transport` does.

    It goes around the wire on which faults strike, so that these meet each single try. What that
    transport has besides is about sockets and credentials: connections, TLS, tokens renewed.
    """

    def __init__(self, wire: Wire, *, lane: Lane, uniform: Uniform) -> None:
        self._wire = wire
        self._lane = lane
        self._uniform = uniform
        self.last_date: str | None = None
        """The `Date` header of the newest answer."""

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
        """The body of the answer; tried again only where the first try surely did nothing."""
        for attempt in range(1, TRIES + 1):
            try:
                return await self._send_in_lane(request, body, options)
            except (TooManyRequests, ServerError, Unreachable) as error:
                wait = wait_after(error, attempt)
                if wait is None or options.priority:
                    raise
                await asyncio.sleep(self._uniform(wait, wait * 1.5))
        raise AssertionError("the last try returns or raises")

    def lines(self, request: PreparedRequest, *, idle: float) -> AsyncGenerator[bytes, None]:
        """The lines of a watch, which is tried once and takes no lane."""
        return self._wire.lines(request, idle=idle)

    async def _send_in_lane(
        self, request: PreparedRequest, body: bytes | None, options: Options
    ) -> bytes:
        async with nullcontext() if options.priority else self._lane:
            try:
                return await self._wire.send(request, body, options)
            finally:
                self.last_date = self._wire.last_date


def wait_after(error: ApiError, attempt: int) -> float | None:
    """Seconds until the next try, before jitter; None if there is none."""
    if attempt >= TRIES:
        return None
    match error:
        case Unreachable():
            return 0.1 * 2.0**attempt
        case TooManyRequests(retry_after=float(seconds)) if seconds <= LONGEST_WAIT:
            return seconds
        case ServerError(code=503, retry_after=float(seconds)) if seconds <= LONGEST_WAIT:
            return seconds
        case _:
            return None
