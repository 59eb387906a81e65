"""Whether a request fits into a quota beside what is in use (spec 11.2)."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import msgspec

from kq.core.messages import Missing, Reason, m1, m2
from kq.core.plugins import Level, Problem
from kq.core.resources import Resources, in_order

Used = Callable[[str, str], int]
"""What is in use at a level of a resource."""


class Shortage(msgspec.Struct, frozen=True):
    """What a request lacks at the first level that lacks something.

    `impossible`: the request alone is above the limit, so that it can never fit.
    """

    quota: str
    level: str
    missing: tuple[Missing, ...]
    impossible: bool

    @property
    def problem(self) -> Problem:
        """The same in words: M1 or M2."""
        return _in_words(self)


@lru_cache(65536)
def _in_words(short: Shortage) -> Problem:
    """Most shapes lack the same at every pass."""
    if short.impossible:
        return Problem(Reason.EXCEEDS, m2(short.level, short.missing))
    return Problem(Reason.WAITING, m1(short.quota, short.level, short.missing))


def shortage(chain: Sequence[Level], request: Resources, used: Used) -> Shortage | None:
    """What the request lacks in that chain; None if it fits.

    A request above a limit can never fit, whatever else is short, so that is told first.
    """
    first: Level | None = None
    for level in chain:
        for name, amount, most in level.limit.bounds(request):
            if amount > most:
                missing = _missing(level, request, _nothing)
                return Shortage(_quota(chain, level), level.name, missing, impossible=True)
            if first is None and used(level.name, name) + amount > most:
                first = level
    if first is None:
        return None
    return Shortage(_quota(chain, first), first.name, _missing(first, request, used), False)


def beside(used: Used, kept: Resources) -> Used:
    """Usage as if so much more were in use at every level."""
    return lambda level, resource: used(level, resource) + kept.get(resource)


def _quota(chain: Sequence[Level], level: Level) -> str:
    """Whose level it is: a limit beside others of the same quota is told by its own name."""
    return level.name if level.beside else chain[0].name


def _missing(level: Level, request: Resources, used: Used) -> tuple[Missing, ...]:
    """Resources that are requested, that the level names, and that it has not enough of."""
    short = {
        name: (name, amount, most)
        for name, amount, most in level.limit.bounds(request)
        if used(level.name, name) + amount > most
    }
    return tuple(short[name] for name in in_order(short))


def _nothing(level: str, resource: str) -> int:
    return 0
