"""What a pass rests on that may take grants back, and what it sets aside (spec 13.6)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

import msgspec

from kq.core.model import QueueUnit
from kq.core.plugins import Level
from kq.core.resources import Resources
from kq.decide.jobs import JobIndex
from kq.decide.turns import Limits
from kq.decide.usage import UsageIndex
from kq.decide.victims import ChainOf, Holder


class Known(Protocol):
    """Units, what they have in use, their jobs and quotas, as the book has them now."""

    @property
    def units(self) -> Mapping[str, QueueUnit]:
        """By key."""

    @property
    def quotas(self) -> Limits:
        """The quotas with their limits."""

    @property
    def jobs(self) -> JobIndex:
        """Jobs and their units."""

    @property
    def usage(self) -> UsageIndex:
        """What is in use."""

    def queue_of(self, key: str) -> str | None:
        """The Queue in which the unit stands, or would stand."""


LOWEST: Final = -(2**31)


def ending(usage: UsageIndex) -> list[Holder]:
    """What is given back with no grant to be taken: pods whose unit is over, or gone, that end."""
    return [
        Holder(key=name, queue="", quota=quota, priority=LOWEST, allocated=0.0, charge=amount)
        for name, quota, amount in usage.ending
    ]


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """What is set aside for a unit until others have given it back.

    It bars units of lower priority; one that takes from its betters bars all (spec 13.9 `Any`).
    """

    unit: str
    priority: int
    chain: Sequence[Level]
    request: Resources
    bars_all: bool = False

    @property
    def levels(self) -> Sequence[str]:
        """At which it counts."""
        return [level.name for level in self.chain]


class Grounds(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a pass may take from, who is giving back already, and what other Queues wait for."""

    queue: str
    preempts: bool
    holders: Callable[[], Sequence[Holder]]
    leaving: Sequence[Holder]
    promises: Sequence[Promise]
    chain_of: ChainOf
    takes_none: Callable[[str], bool]
    """Whether that unit's preemptionPolicy is Never."""
    has_running: Callable[[str], bool]
    """Whether a pod of that unit runs."""
