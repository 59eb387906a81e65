"""Keeps pytest-asyncio from making a loop that nobody closes where plain tests come first."""

import asyncio

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_stray_loop() -> None:
    """There is no loop outside of tests, so none is made to be put back after them."""
    asyncio.set_event_loop(None)
