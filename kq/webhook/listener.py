"""The HTTPS listener: bounded in connections and time, and gone without a failed review."""

import asyncio
import logging
import ssl
from typing import cast

import structlog
from aiohttp import web

from kq.webhook.server import Reviews, mutate_app

KEEPALIVE_SECONDS = 110.0
"""Above the 90 s for which API servers keep idle connections: else a POST could meet a close."""

HANDSHAKE_SECONDS = 5.0
LINGER_SECONDS = 1.0
CLOSING_SECONDS = 1.0
SHUTDOWN_SECONDS = 5.0
MAX_CONNECTIONS = 1024

log = structlog.get_logger()


class Listener:
    """Serves reviews over TLS from `start` to `stop`."""

    def __init__(
        self,
        reviews: Reviews,
        *,
        context: ssl.SSLContext,
        drain_seconds: float,
        closing_seconds: float = CLOSING_SECONDS,
        keepalive_seconds: float = KEEPALIVE_SECONDS,
        max_connections: int = MAX_CONNECTIONS,
    ) -> None:
        self._reviews = reviews
        self._context = context
        self._drain_seconds = drain_seconds
        self._closing_seconds = closing_seconds
        self._max_connections = max_connections
        self._server: asyncio.Server | None = None
        self._runner = web.AppRunner(
            mutate_app(reviews),
            access_log=None,
            # aiohttp would log the bytes that it cannot parse, and they may be parts of a job.
            logger=logging.Logger("kq.webhook.http", logging.CRITICAL),
            keepalive_timeout=keepalive_seconds,
            lingering_time=LINGER_SECONDS,
            auto_decompress=False,
            shutdown_timeout=SHUTDOWN_SECONDS,
        )
        self.stopping = False
        """Readiness is over, though reviews are still answered."""

    async def start(self, host: str, port: int) -> int:
        """Listens; gives the port (0 asks for a free one)."""
        await self._runner.setup()
        self._server = await asyncio.get_running_loop().create_server(
            self._connection,
            host or None,
            port,
            ssl=self._context,
            ssl_handshake_timeout=HANDSHAKE_SECONDS,
            backlog=1024,
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Accepts for a while, then lets each connection have one last answer (spec 17.12)."""
        self.stopping = True
        await asyncio.sleep(self._drain_seconds)
        self._reviews.closing = True
        if self._open():
            await asyncio.sleep(self._closing_seconds)
        if self._server is not None:
            self._server.close()
        await self._runner.cleanup()

    def _open(self) -> int:
        return len(self._runner.server.connections) if self._runner.server else 0

    def _connection(self) -> asyncio.BaseProtocol:
        """The protocol of a new connection; one too many is closed at once."""
        if self._runner.server is None or self._open() >= self._max_connections:
            log.warning("connection refused", reason="too many", limit=self._max_connections)
            return _Refused()
        return cast(asyncio.BaseProtocol, self._runner.server())


class _Refused(asyncio.Protocol):
    """Closes its connection as soon as there is one."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close it."""
        cast(asyncio.Transport, transport).abort()
