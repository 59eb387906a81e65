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


class Demand:
    """A request laid against the limits of a chain, worked out once for however many looks.

    `impossible`: what it lacks of a limit that it is above by itself, so that it can never fit.
    """

    __slots__ = ("_bounds", "chain", "impossible")

    def __init__(self, chain: Sequence[Level], request: Resources) -> None:
        self.chain = chain
        self.impossible: Shortage | None = None
        self._bounds = [(level, _in_order(level.limit.bounds(request))) for level in chain]
        for level, bounds in self._bounds:
            if any(amount > most for _, amount, most in bounds):
                missing = tuple(each for each in bounds if each[1] > each[2])
                self.impossible = Shortage(_quota(chain, level), level.name, missing, True)
                return

    def shortage(self, used: Used) -> Shortage | None:
        """What it lacks beside what is in use; None if it fits.

        What can never fit is told first, whatever else is short.
        """
        if self.impossible is not None:
            return self.impossible
        for level, bounds in self._bounds:
            name = level.name
            for resource, amount, most in bounds:
                if used(name, resource) + amount > most:
                    missing = tuple(
                        each for each in bounds if used(name, each[0]) + each[1] > each[2]
                    )
                    return Shortage(_quota(self.chain, level), name, missing, False)
        return None


def shortage(chain: Sequence[Level], request: Resources, used: Used) -> Shortage | None:
    """What the request lacks in that chain; None if it fits."""
    return Demand(chain, request).shortage(used)


def beside(used: Used, kept: Resources) -> Used:
    """Usage as if so much more were in use at every level."""
    return lambda level, resource: used(level, resource) + kept.get(resource)


def _quota(chain: Sequence[Level], level: Level) -> str:
    """Whose level it is: a limit beside others of the same quota is told by its own name."""
    return level.name if level.beside else chain[0].name


def _in_order(bounds: list[Missing]) -> list[Missing]:
    """As messages list resources."""
    if len(bounds) < 2:
        return bounds
    by_name = {each[0]: each for each in bounds}
    return [by_name[name] for name in in_order(by_name)]
