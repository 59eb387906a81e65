"""The way of requests: how many at once, how many begin in a second, which are tried again."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext

from kq.kube.errors import ApiError, ServerError, TooManyRequests, Unreachable

TRIES = 3
LONGEST_WAIT = 10.0
"""Seconds of Retry-After that are waited for here; longer ones are the caller's to plan for."""

Uniform = Callable[[float, float], float]
"""A random number between two, as `random.uniform`."""


class Pace:
    """At most `burst` requests at once and `qps` a second after that; 0 sets no limit."""

    def __init__(self, *, qps: float, burst: int) -> None:
        self._interval = 1 / qps if qps > 0 else 0.0
        self._slack = self._interval * max(burst - 1, 0)
        self._next = 0.0

    def reserve(self, now: float) -> float:
        """The seconds to wait before the request that takes the next place."""
        if not self._interval:
            return 0.0
        place = max(self._next, now)
        self._next = place + self._interval
        return max(0.0, place - self._slack - now)


class Lane:
    """The way that ordinary requests take: bounded in number and in pace."""

    def __init__(self, *, max_in_flight: int, qps: float = 0, burst: int = 0) -> None:
        self._slots = asyncio.Semaphore(max_in_flight)
        self._pace = Pace(qps=qps, burst=burst)

    async def __aenter__(self) -> None:
        """Takes a place for one request, once there is one."""
        if wait := self._pace.reserve(asyncio.get_running_loop().time()):
            await asyncio.sleep(wait)
        await self._slots.acquire()

    async def __aexit__(self, *_: object) -> None:
        """Gives the place back."""
        self._slots.release()


async def answer_of(
    ask: Callable[[], Awaitable[bytes]], *, lane: Lane, uniform: Uniform, is_urgent: bool
) -> bytes:
    """The answer of one try, asked again only where the first try surely did nothing.

    Each try takes its own place in the lane, none while it waits. What is urgent takes none, and
    is tried once.
    """
    for attempt in range(1, TRIES + 1):
        try:
            async with nullcontext() if is_urgent else lane:
                return await ask()
        except (TooManyRequests, ServerError, Unreachable) as error:
            wait = wait_after(error, attempt)
            if wait is None or is_urgent:
                raise
            await asyncio.sleep(uniform(wait, wait * 1.5))
    raise AssertionError("the last try returns or raises")


def wait_after(error: ApiError, attempt: int) -> float | None:
    """Seconds until the next try, before jitter; None if there is none."""
    if attempt >= TRIES:
        return None
    match error:
        case Unreachable():
            return 0.1 * 2.0**attempt
        case TooManyRequests(retry_after=float(seconds)) if seconds <= LONGEST_WAIT:
            return seconds
        case ServerError(code=503, retry_after=float(seconds)) if seconds <= LONGEST_WAIT:
            return seconds
        case _:
            return None
