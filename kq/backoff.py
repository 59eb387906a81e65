"""How long to wait before trying again."""

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
