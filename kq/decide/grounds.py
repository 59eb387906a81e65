"""What a pass rests on that may take grants back, and what it sets aside (spec 13.6)."""

from collections.abc import Callable, Sequence

import msgspec

from kq.core.resources import Resources
from kq.decide.victims import ChainOf, Holder


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """What is set aside for a unit until others have given it back.

    It bars units of lower priority; one that takes from its betters bars all (spec 13.9 `Any`).
    """

    unit: str
    priority: int
    levels: tuple[str, ...]
    request: Resources
    bars_all: bool = False


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
