"""How long a failed item waits before its next try; seconds, and the time is an argument."""

from collections.abc import Hashable
from datetime import timedelta
from typing import Protocol

from kq.backoff import exponential


class RateLimiter(Protocol):
    """Counts the failures of items and spaces their tries."""

    def delay(self, item: Hashable, now: float) -> float:
        """Note one more failure of the item; the seconds until its next try."""
        ...

    def num_requeues(self, item: Hashable) -> int:
        """The failures of the item since it was last forgotten."""
        ...

    def forget(self, item: Hashable) -> None:
        """Start the item afresh: it has succeeded, or it will not be tried again."""
        ...


class Failures:
    """Failures counted by item."""

    def __init__(self) -> None:
        self._counts: dict[Hashable, int] = {}

    def add(self, item: Hashable) -> int:
        """One failure more; how many the item now has."""
        failures = self._counts.get(item, 0) + 1
        self._counts[item] = failures
        return failures

    def of(self, item: Hashable) -> int:
        """The failures of the item."""
        return self._counts.get(item, 0)

    def forget(self, item: Hashable) -> None:
        """Back to no failures."""
        self._counts.pop(item, None)


class ItemExponential:
    """`base` seconds after an item's first failure, doubled by each further one up to `cap`."""

    def __init__(self, base: float, cap: float) -> None:
        self._base = timedelta(seconds=base)
        self._cap = timedelta(seconds=cap)
        self._failures = Failures()

    def delay(self, item: Hashable, now: float) -> float:
        """The doubled delay of the item, whatever the time."""
        return exponential(self._base, self._cap, self._failures.add(item)).total_seconds()

    def num_requeues(self, item: Hashable) -> int:
        """The failures of the item."""
        return self._failures.of(item)

    def forget(self, item: Hashable) -> None:
        """The next failure counts as the first."""
        self._failures.forget(item)


class TokenBucket:
    """One token a try, shared by all items: `burst` at once, then `rate` of them a second."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._tokens = self._burst
        self._filled_at: float | None = None

    def delay(self, item: Hashable, now: float) -> float:
        """The seconds until the token that is reserved here exists."""
        if self._filled_at is not None:
            elapsed = max(now - self._filled_at, 0.0)
            self._tokens = min(self._tokens + elapsed * self._rate, self._burst)
        self._filled_at = now
        self._tokens -= 1.0
        return max(-self._tokens / self._rate, 0.0)

    def num_requeues(self, item: Hashable) -> int:
        """Always 0: the bucket knows no items."""
        return 0

    def forget(self, item: Hashable) -> None:
        """Nothing: a token once reserved stays used."""


class FastSlow:
    """`fast` seconds for the first `fast_tries` failures of an item, `slow` from then on."""

    def __init__(self, fast: float, slow: float, fast_tries: int) -> None:
        self._fast = fast
        self._slow = slow
        self._fast_tries = fast_tries
        self._failures = Failures()

    def delay(self, item: Hashable, now: float) -> float:
        """The fast or the slow delay, by the failures of the item."""
        return self._fast if self._failures.add(item) <= self._fast_tries else self._slow

    def num_requeues(self, item: Hashable) -> int:
        """The failures of the item."""
        return self._failures.of(item)

    def forget(self, item: Hashable) -> None:
        """The next failure counts as the first."""
        self._failures.forget(item)


class MaxOf:
    """The longest delay of several limiters; each of them is asked, and consumes, every time."""

    def __init__(self, *limiters: RateLimiter) -> None:
        self._limiters = limiters

    def delay(self, item: Hashable, now: float) -> float:
        """The longest of all delays."""
        return max([limiter.delay(item, now) for limiter in self._limiters])

    def num_requeues(self, item: Hashable) -> int:
        """The highest count of all."""
        return max(limiter.num_requeues(item) for limiter in self._limiters)

    def forget(self, item: Hashable) -> None:
        """Forgotten by all."""
        for limiter in self._limiters:
            limiter.forget(item)


class WithMaxWait:
    """The delays of another limiter, cut at `max_wait` seconds."""

    def __init__(self, limiter: RateLimiter, max_wait: float) -> None:
        self._limiter = limiter
        self._max_wait = max_wait

    def delay(self, item: Hashable, now: float) -> float:
        """The delay of the other limiter, at most `max_wait`."""
        return min(self._limiter.delay(item, now), self._max_wait)

    def num_requeues(self, item: Hashable) -> int:
        """The count of the other limiter."""
        return self._limiter.num_requeues(item)

    def forget(self, item: Hashable) -> None:
        """Forgotten by the other limiter."""
        self._limiter.forget(item)


def per_key_limiter() -> RateLimiter:
    """5 ms * 2^n up to 1000 s for each key alone, as spec 22.2 has it."""
    return ItemExponential(0.005, 1000.0)


def default_controller_limiter() -> RateLimiter:
    """client-go's for controllers: per key, and 10 tries a second over all, 100 at once."""
    return MaxOf(per_key_limiter(), TokenBucket(rate=10.0, burst=100))


def default_item_based_limiter() -> RateLimiter:
    """client-go's default by item alone: 1 ms * 2^n up to 1000 s."""
    return ItemExponential(0.001, 1000.0)
