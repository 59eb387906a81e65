"""A webhook that runs for as long as a test wants."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import uvloop
from https import Running, Start, hold

from kq.clock import utc_now
from kq.metrics import Metrics
from kq.tls.issue import Profile, issue_ca
from kq.webhook.listener import Listener
from kq.webhook.review import Request, Response
from kq.webhook.server import Reviews


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The listener is tried on the loop of the product, and on the one that stands in for it."""
    if item.path.name == "test_webhook_listener.py":
        return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
    return {"asyncio": asyncio.new_event_loop}


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts a webhook for as long as the block runs."""

    @asynccontextmanager
    async def starting(
        answer: Callable[[Request], Response] = hold, fail_closed: bool = False, **options: Any
    ) -> AsyncIterator[Running]:
        ca = issue_ca(utc_now(), Profile())
        (tmp_path / "ca.crt").write_bytes(ca.certificate)
        running = Running(tmp_path, ca)
        running.renew()
        reviews = Reviews(
            answer,
            kinds=["Job"],
            fail_closed=fail_closed,
            metrics=Metrics(running.registry, version="test").admission,
        )
        options = {"drain_seconds": 0, "closing_seconds": 0, **options}
        running.listener = Listener(reviews.answer, context=running.serving.context, **options)
        running.port = await running.listener.start("127.0.0.1", 0)
        connector = aiohttp.TCPConnector(ssl=running.client, limit=64)
        try:
            async with aiohttp.ClientSession(connector=connector) as running.session:
                yield running
        finally:
            await running.listener.stop()

    return starting
