"""Limits as they count where more may be promised than there is (spec 11.2)."""

from decimal import Decimal

from kq.core.resources import Resources


def oversold(limit: Resources, rate: Decimal) -> Resources:
    """The limit times the rate."""
    if rate == 1:
        return limit
    return Resources.of({name: int(amount * rate) for name, amount in limit.items()})
