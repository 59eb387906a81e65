"""Quantities as the API server keeps them: also those that are larger than any amount."""

import re
from functools import lru_cache

from kq.core.quantity import NANO, Quantity, parse_quantity
from kq.errors import QuantityError

MOST = Quantity((2**63 - 1) * NANO)
"""What Go counts for whatever is more."""

_HUGE = re.compile(r"([1-9]\d{0,8})[eE]\+?(\d{1,4})", re.ASCII)


def amount_of(value: object) -> Quantity:
    """The amount, MOST for one that is larger; QuantityError for what is no quantity."""
    try:
        return parse_quantity(value)
    except QuantityError:
        if isinstance(value, str) and _HUGE.fullmatch(value):
            return MOST
        raise


def spelled(value: object) -> str:
    """The canonical spelling; QuantityError for what is no quantity."""
    return _spelled(value) if isinstance(value, str) else str(parse_quantity(value))


@lru_cache(4096)
def _spelled(text: str) -> str:
    huge = _HUGE.fullmatch(text)
    if huge and amount_of(text) is MOST:
        return f"{huge[1]}e+{huge[2]}"
    return str(parse_quantity(text))
