"""How long to wait before trying again, or before doing again what was done a moment ago."""

from datetime import timedelta


def exponential(base: timedelta, cap: timedelta, attempt: int) -> timedelta:
    """base * 2^(attempt - 1), at most `cap`: the wait after that attempt failed, the first being 1.

    Exact, and safe for any number of attempts: what would exceed the cap is never computed.
    """
    if base <= timedelta(0):
        return timedelta(0)
    doublings = max(attempt - 1, 0)
    if doublings >= (cap // base).bit_length():
        return cap
    return base * (1 << doublings)


class Pace:
    """Things that are done at once, and then again only after a while, each by its key."""

    def __init__(self) -> None:
        self._done: dict[str, float] = {}

    def left(self, key: str, interval: float, now: float) -> float:
        """Seconds until it may be done again; none are left where it is 0."""
        last = self._done.get(key)
        return 0.0 if last is None else max(0.0, last + interval - now)

    def done(self, key: str, now: float) -> None:
        """It was done."""
        self._done[key] = now

    def forget(self, key: str) -> None:
        """It is done no more, or came to nothing."""
        self._done.pop(key, None)
