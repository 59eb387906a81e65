"""The clocks of a process; everything else is told the time."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


def utc_now() -> datetime:
    """The present time, aware, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Clocks:
    """What a process goes by: the machine's own clocks, or those of a simulation."""

    now: Callable[[], datetime] = utc_now
    monotonic: Callable[[], float] = time.monotonic
    """Seconds that never go back."""
