"""Ctrl-C where it does no harm: between two steps or while waiting, never in the midst of one."""

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Self


class Interrupts:
    """Holds back Ctrl-C until whoever works is at a point where they can be broken off.

    Who is in a hurry presses it twice: the second comes at once. Outside the main thread, where no
    signal arrives, it does nothing.
    """

    def __init__(self) -> None:
        self._asked = 0
        self._waits = False
        self._before: signal.Handlers | int | object | None = None

    def __enter__(self) -> Self:
        """From here on; what there was before comes back at the end."""
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)  # type: ignore[arg-type]

    def check(self) -> None:
        """Raises KeyboardInterrupt if somebody has pressed it."""
        if self._asked:
            raise KeyboardInterrupt

    def sleep(self, seconds: float) -> None:
        """Waits; raises KeyboardInterrupt as soon as somebody presses it."""
        self._waits = True
        try:
            # Asked before: seen here; asked after: the handler raises.
            self.check()
            time.sleep(seconds)
        finally:
            self._waits = False

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._asked += 1
        if self._waits or self._asked > 1:
            raise KeyboardInterrupt
