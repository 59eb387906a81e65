"""A webhook that runs in the process of the test, and what calls it over TLS."""

import asyncio
import io
import json
import ssl
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
from prometheus_client import CollectorRegistry
from reviews import ENABLED, NOW, FakeWorld, a_review

from kq.clock import utc_now
from kq.settings import Settings
from kq.tls import verify
from kq.tls.context import ServingContext
from kq.tls.issue import Pair, Profile, issue_serving, serving_names
from kq.webhook.listener import Listener
from kq.webhook.mutate import mutate

NAME = "koord-queue-webhook.koord-queue.svc"
NAMES = (*serving_names("koord-queue-webhook", "koord-queue"), "127.0.0.1")
JSON = {"Content-Type": "application/json"}
HEADERS = b"POST /mutate?timeout=1s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"

hold = partial(mutate, integrations=ENABLED, world=FakeWorld(), settings=Settings(), now=NOW)


class Ignored:
    """Nobody looks at the metrics of the certificate here."""

    def loaded(self, serving_until: object, ca_until: object) -> None:
        """Nothing."""

    def refused(self) -> None:
        """Nothing."""


class Running:
    """A webhook that runs, and a client that trusts it."""

    def __init__(self, folder: Path, ca: Pair) -> None:
        self.folder = folder
        self.ca = ca
        self.registry = CollectorRegistry()
        self.serving = ServingContext(folder, name=NAME, clock=utc_now, metrics=Ignored())
        self.client = verify.client_context(ca.certificate.decode())
        self.listener: Listener
        self.session: aiohttp.ClientSession
        self.port = 0

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}/mutate?timeout=3s"

    async def post(self, body: Any, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = io.BytesIO(data)
        async with self.session.post(self.url, data=sent, headers=headers or JSON) as answer:
            return answer.status, await answer.read()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port, ssl=self.client)

    async def is_refused(self) -> bool:
        """Whether a new connection is closed before it could be used."""
        try:
            reader, writer = await self.connect()
        except (OSError, ssl.SSLError):
            return True
        writer.write(whole(a_review()))
        try:
            return await reader.read() == b""
        except (OSError, ssl.SSLError):
            return True
        finally:
            writer.close()

    async def call_once(self) -> tuple[int, bytes]:
        """A review on a connection of its own: the serial that served it, and the answer."""
        reader, writer = await self.connect()
        writer.write(whole(a_review()))
        answer = await reader.read()
        serial = int(writer.get_extra_info("peercert")["serialNumber"], 16)
        writer.close()
        return serial, answer

    def renew(self) -> int:
        """A new pair in the folder; gives its serial once it is served."""
        pair = issue_serving(self.ca, NAMES, utc_now(), Profile())
        (self.folder / "tls.crt").write_bytes(pair.certificate)
        (self.folder / "tls.key").write_bytes(pair.key)
        self.serving.poll()
        assert self.serving.served is not None
        return int(self.serving.served.serial, 16)

    def count(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(name, {"webhook": "mutate", **labels}) or 0.0


def whole(review: Any) -> bytes:
    """An HTTP request that is to be the last of its connection."""
    body = json.dumps(review).encode()
    return HEADERS + f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


Start = Callable[..., Any]
