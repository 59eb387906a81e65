"""A fake API server and a client on it, for every test of this package."""

from collections.abc import AsyncIterator

import pytest
from fake_api import FakeApi, serving

from kq.kube.client import Client
from kq.kube.connection import Connection


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with serving(FakeApi()) as running:
        yield running


@pytest.fixture
async def client(api: FakeApi) -> AsyncIterator[Client]:
    async with Client(Connection(base_url=api.url), uniform=lambda low, high: low) as opened:
        yield opened
