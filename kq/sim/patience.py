"""What kq's own transport does around a single try, for wires without sockets."""

from collections.abc import AsyncGenerator
from functools import partial
from types import TracebackType

from kq.kube.lane import Lane, Uniform, answer_of
from kq.kube.requests import Options, PreparedRequest
from kq.kube.transport import Wire


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
        return await answer_of(
            partial(self._send_once, request, body, options),
            lane=self._lane,
            uniform=self._uniform,
            is_urgent=options.priority,
        )

    def lines(self, request: PreparedRequest, *, idle: float) -> AsyncGenerator[bytes, None]:
        """The lines of a watch, which is tried once and takes no lane."""
        return self._wire.lines(request, idle=idle)

    async def _send_once(
        self, request: PreparedRequest, body: bytes | None, options: Options
    ) -> bytes:
        try:
            return await self._wire.send(request, body, options)
        finally:
            self.last_date = self._wire.last_date
