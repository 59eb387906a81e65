"""Connections that only post, one request at a time: the client shares the machine's cores.

A request is bytes made beforehand; an answer is looked at no further than its end.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

from bench.failure import BenchError

HTTPS_PORT = 443

HEAD_END = b"\r\n\r\n"
LAST_CHUNK = b"\r\n0\r\n\r\n"
LENGTH = b"\r\ncontent-length:"
CHUNKED = b"\r\ntransfer-encoding: chunked"


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, and all that came behind the head."""

    status: int
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where to post."""

    url: str
    tls: ssl.SSLContext
    token: str | None = None
    server_name: str | None = None
    """The name to check the certificate for, where it is not the host of the URL."""

    def request(self, body: bytes) -> bytes:
        """The whole request that posts a body of JSON."""
        url = urlsplit(self.url)
        login = f"Authorization: Bearer {self.token}\r\n" if self.token else ""
        head = (
            f"POST {url.path}{'?' if url.query else ''}{url.query} HTTP/1.1\r\n"
            f"Host: {url.netloc}\r\n{login}Accept: application/json\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


def whole(received: bytes | bytearray) -> Answer | None:
    """The answer, once all of it is there."""
    end = received.find(HEAD_END)
    if end < 0:
        return None
    head, body = bytes(received[:end]).lower(), bytes(received[end + len(HEAD_END) :])
    if CHUNKED in head:
        is_whole = body.endswith(LAST_CHUNK)
    else:
        place = head.find(LENGTH)
        length = int(head[place + len(LENGTH) :].split(b"\r\n", 1)[0]) if place >= 0 else 0
        is_whole = len(body) >= length
    return Answer(int(head[9:12]), body) if is_whole else None


class Post(asyncio.Protocol):
    """One kept connection."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._answer: asyncio.Future[Answer] | None = None

    async def send(self, request: bytes) -> Answer:
        """The answer to one request."""
        if self._transport is None:
            raise BenchError("the connection was closed between two requests")
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        """At once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep it."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Hand the answer over with its last byte."""
        self._received += data
        answer = whole(self._received)
        if answer is not None and self._answer is not None and not self._answer.done():
            self._received.clear()
            self._answer.set_result(answer)

    def connection_lost(self, error: Exception | None) -> None:
        """Whoever waits for an answer waits in vain."""
        self._transport = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(BenchError(f"the connection was closed: {error}"))


@asynccontextmanager
async def connections(target: Target, count: int) -> AsyncIterator[list[Post]]:
    """So many connections, open before the first request."""
    url, loop = urlsplit(target.url), asyncio.get_running_loop()
    host, port = url.hostname or "", url.port or HTTPS_PORT
    posts: list[Post] = []
    try:
        for _ in range(count):
            _, post = await loop.create_connection(
                Post,
                host,
                port,
                ssl=target.tls,
                server_hostname=target.server_name or host,
            )
            posts.append(post)
        yield posts
    finally:
        for post in posts:
            post.close()
