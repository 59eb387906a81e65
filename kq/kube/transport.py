"""Requests out, answers in: sessions, credentials, time-outs. All connections are here."""

import asyncio
from collections.abc import AsyncGenerator
from functools import lru_cache, partial
from types import TracebackType
from typing import Protocol, Self

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong
from yarl import URL

from kq.errors import ConfigError
from kq.kube.connection import Connection, open_session
from kq.kube.errors import Indeterminate, TooLarge, Unauthorized, Unreachable, from_status
from kq.kube.lane import Lane, Uniform, answer_of
from kq.kube.requests import Options, PreparedRequest
from kq.kube.telemetry import ClientMetrics

CONNECT_TIMEOUT = 5.0

_NOT_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ServerFingerprintMismatch,
    aiohttp.ClientHttpProxyError,
    aiohttp.InvalidURL,
)
_NOT_ANSWERED = (aiohttp.ClientError, HttpProcessingError, TimeoutError, OSError)


class Wire(Protocol):
    """What a client needs of its transport; `Transport` is the one with sockets."""

    last_date: str | None

    async def __aenter__(self) -> object:
        """Opens it."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes it."""

    async def send(self, request: PreparedRequest, body: bytes | None, options: Options) -> bytes:
        """The body of the answer; an ApiError if it is a refusal or there is none."""

    def lines(self, request: PreparedRequest, *, idle: float) -> AsyncGenerator[bytes, None]:
        """The lines of a watch until the server ends it."""


class Transport:
    """Two sessions to one API server: one for requests, one for watches."""

    def __init__(
        self, connection: Connection, *, lane: Lane, metrics: ClientMetrics, uniform: Uniform
    ) -> None:
        self._connection = connection
        self._lane = lane
        self._metrics = metrics
        self._uniform = uniform
        self._host = URL(connection.base_url).authority
        self._requests: aiohttp.ClientSession | None = None
        self._watches: aiohttp.ClientSession | None = None
        self.last_date: str | None = None
        """The `Date` header of the newest answer."""

    async def __aenter__(self) -> Self:
        self._requests = open_session(_send_no_write_twice)
        self._watches = open_session(_send_no_write_twice)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for session in (self._requests, self._watches):
            if session is not None:
                await session.close()

    async def send(self, request: PreparedRequest, body: bytes | None, options: Options) -> bytes:
        """The body of the answer; tried again only where the first try surely did nothing."""
        return await answer_of(
            partial(self._send_as_known, request, body, options),
            lane=self._lane,
            uniform=self._uniform,
            is_urgent=options.priority,
        )

    async def lines(self, request: PreparedRequest, *, idle: float) -> AsyncGenerator[bytes, None]:
        """The lines of a watch until the server ends it; Indeterminate when it breaks or is silent.

        `idle` is how many seconds nothing may come, the answer's head included.
        """
        timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_TIMEOUT, sock_read=idle)
        for is_last in (False, True):
            header = await self._header()
            try:
                async with self._open(self._watches, request, None, header, timeout) as response:
                    if response.status == 401 and not is_last:
                        await self._connection.credentials.renew(header)
                        continue
                    if response.status != 200:
                        raise from_status(response.status, await response.read(), response.headers)
                    content = response.content
                    while line := await content.readline():
                        yield line
                    return
            except LineTooLong as err:
                # Not Indeterminate: the same line would come again; a list has no lines.
                raise TooLarge(_text(request, err)) from err
            except _NOT_SENT as err:
                raise Unreachable(_text(request, err)) from err
            except _NOT_ANSWERED as err:
                raise Indeterminate(_text(request, err)) from err

    async def _send_as_known(
        self, request: PreparedRequest, body: bytes | None, options: Options
    ) -> bytes:
        """The answer of one try, with new credentials where the old ones were refused."""
        header = await self._header()
        try:
            return await self._send_once(request, body, options, header)
        except Unauthorized:
            await self._connection.credentials.renew(header)
            return await self._send_once(request, body, options, await self._header())

    async def _send_once(
        self, request: PreparedRequest, body: bytes | None, options: Options, header: str | None
    ) -> bytes:
        timeout = _timeout(options.timeout)
        clock = asyncio.get_running_loop().time
        started, code = clock(), "<error>"
        try:
            async with self._open(self._requests, request, body, header, timeout) as response:
                answer = await response.read()
                code = str(response.status)
        except _NOT_SENT as err:
            raise Unreachable(_text(request, err)) from err
        except _NOT_ANSWERED as err:
            raise Indeterminate(_text(request, err)) from err
        finally:
            self._metrics.request(
                method=request.method, code=code, host=self._host, seconds=clock() - started
            )
        self.last_date = response.headers.get("Date", self.last_date)
        if response.status >= 300:
            raise from_status(response.status, answer, response.headers)
        return answer

    def _open(
        self,
        session: aiohttp.ClientSession | None,
        request: PreparedRequest,
        body: bytes | None,
        header: str | None,
        timeout: aiohttp.ClientTimeout,
    ) -> aiohttp.client._RequestContextManager:
        if session is None:
            raise RuntimeError("the client is used outside its `async with`")
        headers = {} if header is None else {"Authorization": header}
        if request.content_type is not None:
            headers["Content-Type"] = request.content_type
        return session.request(
            request.method,
            URL(self._connection.base_url + request.target, encoded=True),
            data=body,
            headers=headers,
            timeout=timeout,
            ssl=self._connection.tls or True,
            proxy=self._connection.proxy,
            server_hostname=self._connection.server_name,
            allow_redirects=False,
        )

    async def _header(self) -> str | None:
        try:
            return await self._connection.credentials.header()
        except ConfigError as err:
            raise Unreachable(f"no credentials: {err}") from err


async def _send_no_write_twice(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    try:
        return await handler(request)
    except _NOT_SENT:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as err:
        # aiohttp would send a DELETE again by itself; only this type escapes that.
        if request.method == "GET":
            raise
        raise Indeterminate(f"{request.method} {request.url.path}: {err}") from err


@lru_cache(16)
def _timeout(seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=seconds, connect=min(CONNECT_TIMEOUT, seconds))


def _text(request: PreparedRequest, err: BaseException) -> str:
    return f"{request.method} {request.path}: {str(err) or type(err).__name__}"
