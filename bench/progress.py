"""Lines with the time of day, a beat while something is waited for, and an end to all waiting."""

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from bench.failure import BenchError

BEAT_SECONDS = 5.0

T = TypeVar("T")


def tell(text: str) -> None:
    """One line to the person; standard output is kept for the table."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)


async def attended(
    work: Coroutine[Any, Any, T],
    *,
    check: Callable[[], None],
    state: Callable[[], str],
    seconds: float,
) -> T:
    """What the work gives; meanwhile its state is told and checked, and past the time it fails."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work, name="work")
        left = seconds
        while not (await asyncio.wait({task}, timeout=min(BEAT_SECONDS, left)))[0]:
            check()
            left -= BEAT_SECONDS
            if left <= 0:
                raise BenchError(f"not done after {seconds:.0f} s: {state()}")
            tell(f"  {state()}")
    return task.result()


async def pause(seconds: float, check: Callable[[], None]) -> None:
    """A wait that is part of a measurement, broken off if a process ends."""
    deadline = asyncio.get_running_loop().time() + seconds
    with suppress(TimeoutError):
        async with asyncio.timeout_at(deadline):
            while True:
                check()
                await asyncio.sleep(min(1.0, seconds))
