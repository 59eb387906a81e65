"""How fast a show is shown: virtual time flies, and eyes do not."""

import time
from collections.abc import Callable
from datetime import datetime

SHOW_SECONDS = 12.0
"""What a show of ordinary size takes on a terminal."""
SLOWEST, FASTEST = 0.3, 0.1
"""Seconds for each moment, within which it can be read along."""
MOMENTS_PER_JOB = 4


class Pace:
    """Waits before each thing that is shown, but not longer because it took time to find out."""

    def __init__(
        self,
        *,
        moment_seconds: float = 0.0,
        speed: float | None = None,
        sleep: Callable[[float], None] = time.sleep,
        watch: Callable[[], float] = time.monotonic,
    ) -> None:
        """So long for each moment; or with a speed, by that many virtual seconds in a second."""
        self._moment_seconds = moment_seconds
        self._speed = speed
        self._sleep = sleep
        self._watch = watch
        self._last: datetime | None = None
        self._shown: float | None = None

    def wait(self, at: datetime) -> None:
        """Until what happened at that time is to be shown."""
        seconds = self._moment_seconds
        if self._speed is not None:
            seconds = (at - (self._last or at)).total_seconds() / self._speed
        self._last = at
        if self._shown is not None:
            seconds -= self._watch() - self._shown
        if seconds > 0:
            self._sleep(seconds)
        self._shown = self._watch()


def readable(jobs: int) -> float:
    """Seconds for each moment of a show with so many jobs."""
    return min(SLOWEST, max(FASTEST, SHOW_SECONDS / (MOMENTS_PER_JOB * jobs)))
