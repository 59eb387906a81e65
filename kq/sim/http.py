"""HTTPS on loopback for an API server in memory, so that any client can talk to it."""

import errno
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

import msgspec
from aiohttp import web

from kq.errors import ConfigError, DecodeError
from kq.sim.access import HOST
from kq.sim.api.call import JSON, Answer, Request, User, answer_of
from kq.sim.api.server import ApiServer
from kq.sim.api.status import ApiStatus
from kq.sim.schemas import protobuf

MAX_BODY_BYTES = 3 * 1024 * 1024
"""What the real server takes at most."""
SHUTDOWN_SECONDS = 0.2
BACKLOG = 128
"""Connections that may wait to be taken."""
_OPEN_PATHS = ("/healthz", "/livez", "/readyz", "/version")
_BEARER = "Bearer "


class HttpFront:
    """Lets clients with a token in, and carries requests to the server and answers back."""

    def __init__(
        self, server: ApiServer, *, tokens: Mapping[str, User], tls: ssl.SSLContext
    ) -> None:
        self._server = server
        self._tokens = tokens
        self._tls = tls

    @asynccontextmanager
    async def serving(self, listener: socket.socket | None = None) -> AsyncIterator[int]:
        """Serves as long as the block runs; gives the port, a free one if there is no listener."""
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_route("*", "/{path:.*}", self._answer)
        runner = web.AppRunner(
            app,
            access_log=None,
            handler_cancellation=True,
            shutdown_timeout=SHUTDOWN_SECONDS,
        )
        await runner.setup()
        try:
            await web.SockSite(runner, listener or listen(), ssl_context=self._tls).start()
            yield runner.addresses[0][1]
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        try:
            asked = await self._asked(request)
        except ApiStatus as refusal:
            return self._response(answer_of(refusal.to_body(), code=refusal.code))
        answer = await self._server.serve(asked)
        if answer.stream is None:
            return self._response(answer)
        return await self._stream(request, answer)

    async def _asked(self, request: web.Request) -> Request:
        headers = request.headers
        user = self._user(request)
        body, media = _as_json(await _body(request), headers.get("Content-Type", ""))
        return Request(
            method=request.method,
            path=request.rel_url.raw_path,
            query=dict(request.query),
            body=body,
            content_type=media,
            accept=headers.get("Accept", ""),
            user=user,
            user_agent=headers.get("User-Agent", ""),
        )

    def _user(self, request: web.Request) -> User:
        """Who asks, or whom the one who asks acts for; ApiStatus 401 if nobody knows."""
        given = request.headers.get("Authorization", "")
        user = self._tokens.get(given.removeprefix(_BEARER)) if given.startswith(_BEARER) else None
        if user is None and not (given or not request.path.startswith(_OPEN_PATHS)):
            return User(name="system:anonymous", groups=("system:unauthenticated",))
        if user is None:
            raise ApiStatus(401, "Unauthorized", "Unauthorized")
        if other := request.headers.get("Impersonate-User"):
            groups = request.headers.getall("Impersonate-Group", [])
            return replace(user, name=other, groups=(*groups, "system:authenticated"), uid="")
        return user

    def _response(self, answer: Answer) -> web.Response:
        response = web.Response(status=answer.code, body=answer.body)
        self._dress(response, answer)
        return response

    async def _stream(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.code)
        self._dress(response, answer)
        response.enable_chunked_encoding()
        if answer.stream is None:
            return response
        async with aclosing(answer.stream) as lines:
            await response.prepare(request)
            async for line in lines:
                await response.write(line)
        await response.write_eof()
        return response

    def _dress(self, response: web.StreamResponse, answer: Answer) -> None:
        for name, value in answer.headers.items():
            response.headers[name] = value
        for text in answer.warnings:
            response.headers.add("Warning", f"299 - {_quoted(text)}")
        response.headers["Cache-Control"] = "no-cache, private"
        response.headers["Date"] = self._server.date()


def listen(port: int = 0) -> socket.socket:
    """A socket on loopback that takes connections; 0 asks for a free port."""
    try:
        return socket.create_server((HOST, port), backlog=BACKLOG)
    except OSError as err:
        match err.errno:
            case errno.EADDRINUSE:
                why = "is in use by another process: choose another, or 0 for a free one"
            case errno.EACCES:
                why = "is not open to this account: choose one above 1023, or 0 for a free one"
            case _:
                why = f"cannot be listened at: {err.strerror}"
        raise ConfigError(f"port {port} of {HOST} {why}") from err


async def _body(request: web.Request) -> bytes | None:
    if not request.can_read_body:
        return None
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge as err:
        text = f"Request entity too large: limit is {MAX_BODY_BYTES}"
        raise ApiStatus(413, "RequestEntityTooLarge", text) from err


def _as_json(body: bytes | None, media: str) -> tuple[bytes | None, str]:
    """A body and its type; protobuf of a known kind becomes JSON, the rest is the server's."""
    if not body or not media.startswith(protobuf.MEDIA_TYPE):
        return body, media
    try:
        return msgspec.json.encode(protobuf.read_object(body)), JSON
    except DecodeError:
        return body, media


def _quoted(text: str) -> str:
    """A text as the quoted string of a header: no control characters, quotes escaped."""
    plain = "".join(each if each.isprintable() else " " for each in text)
    return msgspec.json.encode(plain).decode()
