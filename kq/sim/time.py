"""Virtual time: a loop on which waiting takes none, and wall clocks that go by a loop."""

import asyncio
import selectors
from collections.abc import Callable
from datetime import datetime, timedelta

from kq.errors import KqError

_TICK = 1e-6
"""Seconds that each turn of the loop takes, so that what is a rounding error away comes too."""


class Standstill(KqError):
    """Virtual time stands still: all wait and nothing is due, or somebody spins."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is at once that of whatever is due next.

    It is for what is all in one process: nobody outside is waited for.
    """

    def __init__(self, *, most_turns: int | None = None) -> None:
        """`most_turns` in one second are taken for a spin without end."""
        self._elapsed = 0.0
        self._second = 0.0
        self._turns = 0
        self._most_turns = most_turns
        super().__init__(_Leaping(self._leap))

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._elapsed

    def _leap(self, seconds: float) -> None:
        self._elapsed += seconds + _TICK
        self._turns += 1
        if self._elapsed >= self._second + 1.0:
            self._second, self._turns = self._elapsed, 0
        elif self._most_turns is not None and self._turns > self._most_turns:
            turns, self._turns = self._turns, 0
            raise Standstill(f"{turns} turns of the loop within one second")


class _Leaping(selectors.DefaultSelector):
    """Passes time where others wait."""

    def __init__(self, leap: Callable[[float], None]) -> None:
        super().__init__()
        self._leap = leap

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What can be read or written now; nothing is waited for."""
        ready = super().select(0)
        if timeout is None and not ready:
            raise Standstill("everybody waits, and nothing is due")
        self._leap(0.0 if ready else timeout or 0.0)
        return ready


class LoopClock:
    """A wall clock that shows `start` when it is made, and then goes by a loop."""

    def __init__(self, start: datetime, loop: asyncio.AbstractEventLoop) -> None:
        self._start = start
        self._loop = loop
        self._begin = loop.time()

    def __call__(self) -> datetime:
        """What it shows."""
        return self._start + timedelta(seconds=self._loop.time() - self._begin)

    def jump(self, seconds: float) -> None:
        """Is put forward, or back."""
        self._start += timedelta(seconds=seconds)
