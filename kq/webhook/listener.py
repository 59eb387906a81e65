"""The HTTPS listener: bounded in connections and time, and gone without a failed review."""

import asyncio
import ssl
from collections.abc import Callable

from kq.webhook.connection import Connection, Patience, Shared
from kq.webhook.http import Refusal

HANDSHAKE_SECONDS = 5.0
CLOSING_SECONDS = 1.0
FAREWELL_SECONDS = 1.0
"""How long a peer may take to say good-bye in TLS."""
SHUTDOWN_SECONDS = 5.0
MAX_CONNECTIONS = 1024


class Listener:
    """Has bodies answered over TLS from `start` to `stop`."""

    def __init__(
        self,
        answer: Callable[[bytes | bytearray], bytes | Refusal],
        *,
        context: ssl.SSLContext,
        drain_seconds: float,
        closing_seconds: float = CLOSING_SECONDS,
        handshake_seconds: float = HANDSHAKE_SECONDS,
        shutdown_seconds: float = SHUTDOWN_SECONDS,
        patience: Patience | None = None,
        max_connections: int = MAX_CONNECTIONS,
    ) -> None:
        self._context = context
        self._drain_seconds = drain_seconds
        self._closing_seconds = closing_seconds
        self._handshake_seconds = handshake_seconds
        self._shutdown_seconds = shutdown_seconds
        self._shared = Shared(
            answer=answer,
            patience=patience or Patience(),
            max_connections=max_connections,
        )
        self._server: asyncio.Server | None = None
        self.stopping = False
        """Readiness is over, though reviews are still answered."""

    async def start(self, host: str, port: int) -> int:
        """Listens; gives the port (0 asks for a free one)."""
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Connection(self._shared),
            host or None,
            port,
            ssl=self._context,
            ssl_handshake_timeout=self._handshake_seconds,
            ssl_shutdown_timeout=FAREWELL_SECONDS,
            backlog=1024,
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Accepts for a while, then lets each connection have one last answer (spec 17.12)."""
        self.stopping = True
        await asyncio.sleep(self._drain_seconds)
        self._shared.closing = True
        if self._shared.connections:
            await asyncio.sleep(self._closing_seconds)
        if self._server is not None:
            self._server.close()
        for connection in list(self._shared.connections):
            connection.finish()
        await self._emptied(self._shutdown_seconds)
        for connection in list(self._shared.connections):
            connection.abort()
        await self._emptied(FAREWELL_SECONDS)

    async def _emptied(self, seconds: float) -> None:
        """Returns when no connection is left, or after so long."""
        if not self._shared.connections:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._shared.emptied.wait()
        except TimeoutError:
            return
