"""How many requests may be under way at once, and how many begin in a second."""

import asyncio


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
