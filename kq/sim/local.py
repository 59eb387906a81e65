"""The way from kq's client to an API server in the same process: no sockets, no copies."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from kq.kube.errors import Indeterminate, from_status
from kq.kube.requests import Options, PreparedRequest
from kq.sim.admit.hooks import Hook
from kq.sim.admit.webhooks import CallFailed, refused_with
from kq.sim.api.call import Answer, Request, User
from kq.sim.api.server import ApiServer


class LocalTransport:
    """A transport of `kq.kube.client.Client` that asks an ApiServer as one user, once.

    It has no connections, so none is refused or lost, no TLS, no tokens to renew, no longest line.
    What goes wrong with these `FaultyWire` puts in front of it; lanes and further tries are those
    of `Patient`, in front of both.
    """

    def __init__(self, server: ApiServer, *, user: User | None = None) -> None:
        self._server = server
        self._user = user or User()
        self.last_date: str | None = None
        """The `Date` header of the newest answer."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """There is nothing to close."""

    async def send(self, request: PreparedRequest, body: bytes | None, options: Options) -> bytes:
        """The body of the answer; a refusal raises as if it came over the wire."""
        # Whoever asks over the wire waits at least until the loop comes round again.
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(options.timeout):
                answer = await self._server.serve(self._request(request, body))
        except TimeoutError as err:
            raise Indeterminate(f"{request.method} {request.path}: no answer") from err
        self.last_date = self._server.date()
        return _body(answer)

    async def lines(self, request: PreparedRequest, *, idle: float) -> AsyncGenerator[bytes, None]:
        """The lines of a watch until the server ends it; Indeterminate if it is silent too long."""
        answer = await self._server.serve(self._request(request, None))
        if answer.stream is None:
            raise from_status(answer.code, answer.body, answer.headers)
        async with aclosing(answer.stream) as stream:
            while True:
                try:
                    async with asyncio.timeout(idle):
                        line = await anext(stream, b"")
                except TimeoutError as err:
                    raise Indeterminate(f"{request.path}: the watch is silent") from err
                if not line:
                    return
                yield line

    def _request(self, request: PreparedRequest, body: bytes | None) -> Request:
        return Request(
            method=request.method,
            path=request.path,
            query=request.query,
            body=body,
            content_type=request.content_type or "",
            user=self._user,
            user_agent="kq",
        )


Answered = Callable[[str, bytes], Awaitable[tuple[int, bytes]]]
"""A webhook in process: path and body of a review in, HTTP status and body out."""


class LocalCaller:
    """The way to webhooks in the same process, by the host that their configurations name."""

    def __init__(self, handlers: Mapping[str, Answered]) -> None:
        """Handlers by authority, `127.0.0.1:9443` or `name.namespace.svc:443`."""
        self._handlers = handlers

    async def call(self, hook: Hook, body: bytes) -> bytes:
        """The body of the answer; CallFailed in the words of a real server if there is none."""
        url = urlsplit(hook.url())
        handler = self._handlers.get(url.netloc)
        if handler is None:
            why = f"dial tcp {url.netloc}: connect: connection refused"
            raise CallFailed(f'Post "{hook.url()}": {why}')
        await asyncio.sleep(0)
        code, answer = await handler(url.path, body)
        if code != 200:
            raise CallFailed(refused_with(code))
        return answer


def _body(answer: Answer) -> bytes:
    if answer.code >= 300:
        raise from_status(answer.code, answer.body, answer.headers)
    return answer.body
