"""What runs on the simulated cluster as if it were a process of its own: it can be killed."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from types import TracebackType
from typing import NoReturn

from kq.errors import KqError
from kq.kube.requests import Options, PreparedRequest
from kq.kube.transport import Wire

READY_SECONDS = 60.0
POLL_SECONDS = 0.02

Run = Callable[[asyncio.Event], Awaitable[None]]
"""Works until the event."""


class Cord:
    """A wire that can be cut: from then on nothing passes, and whoever waits waits for ever."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._cut = asyncio.Event()
        self.last_date: str | None = None

    def cut(self) -> None:
        """Lets nothing more pass, in either direction."""
        self._cut.set()

    async def __aenter__(self) -> object:
        return await self._wire.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._wire.__aexit__(kind, error, trace)

    async def send(self, request: PreparedRequest, body: bytes | None, options: Options) -> bytes:
        """The body of the answer."""
        if self._cut.is_set():
            await _for_ever()
        answer = await self._wire.send(request, body, options)
        if self._cut.is_set():
            await _for_ever()
        self.last_date = self._wire.last_date
        return answer

    async def lines(self, request: PreparedRequest, *, idle: float) -> AsyncGenerator[bytes, None]:
        """The lines of a watch."""
        if self._cut.is_set():
            await _for_ever()
        async with aclosing(self._wire.lines(request, idle=idle)) as lines:
            async for line in lines:
                if self._cut.is_set():
                    await _for_ever()
                yield line


class Process:
    """One run of something, from its start to its end."""

    def __init__(self, name: str, run: Run, cord: Cord) -> None:
        self._cord = cord
        self._stop = asyncio.Event()
        self._task = asyncio.ensure_future(run(self._stop))
        if isinstance(self._task, asyncio.Task):
            self._task.set_name(name)

    @property
    def is_over(self) -> bool:
        """Whether it came to its end."""
        return self._task.done()

    async def ready(self, holds: Callable[[], bool]) -> None:
        """Returns when it is ready, or over: faults may kill it on its way."""
        for _ in range(int(READY_SECONDS / POLL_SECONDS)):
            if holds() or self.is_over:
                return
            await asyncio.sleep(POLL_SECONDS)
        self.kill()
        raise KqError(f"not ready within {READY_SECONDS:.0f} s")

    async def stop(self) -> None:
        """Asks it to end, and waits until it has; what it failed with raises here."""
        self._stop.set()
        await self._task

    def kill(self) -> None:
        """Ends it in the middle of things; nothing that it still wants to do has an effect."""
        self._cord.cut()
        self._task.cancel()

    async def wait(self) -> None:
        """Returns when it is over; what it failed with raises here, but not that it was killed."""
        with suppress(asyncio.CancelledError):
            await asyncio.wait({self._task})
            if not self._task.cancelled():
                self._task.result()


async def _for_ever() -> NoReturn:
    while True:
        await asyncio.get_running_loop().create_future()
