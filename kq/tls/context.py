"""The TLS context of a server whose certificate changes while it serves (spec 17.5, 17.11)."""

import asyncio
import ssl
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Protocol

import structlog

from kq.errors import TlsError
from kq.tls import verify
from kq.tls.verify import Served

POLL_SECONDS = 5.0
PROBE_SECONDS = 3.0

log = structlog.get_logger()


class TlsMetrics(Protocol):
    """Where loads and refusals are counted."""

    def loaded(self, serving_until: datetime, ca_until: datetime) -> None:
        """A new pair is served from now on."""

    def refused(self) -> None:
        """The files were looked at and refused."""


class ServingContext:
    """Serves the pair of a folder; a new one takes over for new connections once it verifies.

    A broken or half-written pair is refused and the old one serves on. Until a first pair verifies
    every handshake fails and `problem` says why.
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str,
        clock: Callable[[], datetime],
        metrics: TlsMetrics,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self._folder = folder
        self._name = name
        self._clock = clock
        self._metrics = metrics
        self._poll_seconds = poll_seconds
        self._served: Served | None = None
        self._digest = ""
        self._refusal: str | None = "not loaded yet"
        self.context = verify.bare_context()
        self.context.sni_callback = self._choose

    @property
    def served(self) -> Served | None:
        """What new connections get; None before a first pair was verified."""
        return self._served

    @property
    def problem(self) -> str | None:
        """Why no client can be served now; None if all is well."""
        if self._served is None:
            return self._refusal
        if self._clock() >= self._served.not_after:
            return f"{verify.CERTIFICATE} expired at {self._served.not_after}"
        return None

    def poll(self) -> bool:
        """Looks at the files once; true if a new pair serves from now on. Blocks on the disk."""
        try:
            found = verify.digest(self._folder)
            if self._served is not None and found == self._digest:
                self._refusal = None
                return False
            served = verify.load(self._folder, self._name, self._clock())
        except TlsError as err:
            self._refuse(str(err))
            return False
        self._served, self._digest, self._refusal = served, found, None
        self._metrics.loaded(served.not_after, served.ca_not_after)
        log.info("serving certificate loaded", serial=served.serial, until=str(served.not_after))
        return True

    async def run(self) -> None:
        """Polls for ever."""
        while True:
            await asyncio.to_thread(self.poll)
            await asyncio.sleep(self._poll_seconds)

    async def verifies(self, host: str, port: int) -> bool:
        """Whether a TLS call to that address is answered as the bundle wants it (spec 17.7)."""
        if self._served is None or self.problem:
            return False
        try:
            client = verify.client_context(self._served.ca)
            async with asyncio.timeout(PROBE_SECONDS):
                _, writer = await asyncio.open_connection(
                    host, port, ssl=client, server_hostname=self._name
                )
        except (OSError, TimeoutError, TlsError):
            return False
        writer.transport.abort()
        return True

    def _refuse(self, reason: str) -> None:
        """Counts and logs a refusal once, not at each look at the same files."""
        if reason == self._refusal:
            return
        self._refusal = reason
        self._metrics.refused()
        log.error("serving certificate refused", folder=str(self._folder), error=reason)

    def _choose(
        self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _outer: ssl.SSLContext
    ) -> int | None:
        """Hands a new connection the context of the day.

        The outer context is never touched: loading a pair into a live one leaves it broken if the
        pair does not match, and keeps the old certificate if the kind of key changes.
        """
        if self._served is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._served.context
        return None
