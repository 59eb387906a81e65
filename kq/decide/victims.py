"""Whose grants are taken back for a unit that goes first in its Queue (spec 13.2-13.4, 13.8).

Either the victims make it fit, or nobody is touched. Across quotas: `kq.decide.reclaim`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import takewhile

import msgspec

from kq.core.model import QueueUnit
from kq.core.plugins import Level
from kq.core.resources import Resources, plain
from kq.decide.fit import Used

ChainOf = Callable[[str], Sequence[Level]]
"""A quota and its ancestors."""


class Holder(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A unit that holds grants and may lose them, and what comes back with them."""

    key: str
    queue: str
    quota: str
    priority: int
    allocated: float
    """Time of its last grant, in seconds."""
    charge: Resources


class Claimant(msgspec.Struct, frozen=True, kw_only=True):
    """A unit that does not fit; `chain` is its quota with the ancestors."""

    queue: str
    chain: Sequence[Level]
    priority: int
    request: Resources
    takes_none: bool = False
    """Its preemptionPolicy is Never (spec 13.2)."""


class Lack(msgspec.Struct, frozen=True):
    """What is missing of one resource at one level."""

    level: str
    resource: str
    amount: int

    @property
    def told(self) -> str:
        """What is missing, in words."""
        return f"{plain(self.resource)} of quota {self.level}"


Giving = tuple[Holder, Sequence[int]]
"""A holder with what it gives of each lack."""


def is_modest(unit: QueueUnit, classes: Collection[str]) -> bool:
    """Whether it takes nothing from others: by its template's own preemptionPolicy, else by its
    class, if that is one of these, which say Never (spec 13.2)."""
    said = [each.template.preemption_policy for each in unit.pod_sets]
    if any(said):
        return "Never" in said
    return unit.priority_class in classes


def is_bolder(old: QueueUnit | None, new: QueueUnit | None, classes: Collection[str]) -> bool:
    """Whether it may take something now that took nothing before."""
    if old is None or new is None:
        return False
    return is_modest(old, classes) and not is_modest(new, classes)


def protected_until(unit: QueueUnit, protection: timedelta) -> datetime | None:
    """Until when its last grant is safe (spec 13.8); None if it is not protected at all."""
    if protection <= timedelta(0) or unit.allocated is None:
        return None
    return unit.allocated + protection


def preempted(
    claimant: Claimant, ranked: Iterable[Holder], used: Used, chain_of: ChainOf
) -> list[Holder]:
    """Units of its own Queue that make room for it; none if they cannot (spec 13.2-13.4).

    Holders come in the order of `rank`, and no more of them are looked at than are needed.
    """
    lacks = lacking(claimant, used)
    if not lacks or claimant.takes_none:
        return []
    lower = takewhile(lambda each: each.priority < claimant.priority, ranked)
    own = (each for each in lower if each.queue == claimant.queue)
    return fewest(givers(own, lacks, chain_of), lacks)


def lacking(claimant: Claimant, used: Used) -> list[Lack]:
    """All that is missing at all its levels; nothing as well where it can never fit."""
    lacks = []
    for level in claimant.chain:
        for name, amount in claimant.request.items():
            if amount <= 0 or name not in level.limit:
                continue
            limit = level.limit.get(name)
            if amount > limit:
                return []
            missing = used(level.name, name) + amount - limit
            if missing > 0:
                lacks.append(Lack(level.name, name, missing))
    return lacks


def givers(holders: Iterable[Holder], lacks: Sequence[Lack], chain_of: ChainOf) -> Iterator[Giving]:
    """Those that have something of what is lacking."""
    shared: dict[str, list[str | None]] = {}
    for each in holders:
        names = shared.get(each.quota)
        if names is None:
            levels = {level.name for level in chain_of(each.quota)}
            names = [lack.resource if lack.level in levels else None for lack in lacks]
            shared[each.quota] = names
        gives = [each.charge.get(name) if name else 0 for name in names]
        if any(gives):
            yield each, gives


def is_harder(claimant: Claimant, other: Claimant) -> bool:
    """Whether one for whom nothing was found asked no more, and could take from no fewer."""
    return (
        claimant.chain == other.chain
        and claimant.priority <= other.priority
        and all(claimant.request.get(name) >= amount for name, amount in other.request.items())
    )


def rank(holder: Holder) -> tuple[int, float, str]:
    """Lowest priority first, then the youngest grant (spec 13.3)."""
    return (holder.priority, -holder.allocated, holder.key)


def fewest(
    possible: Iterable[Giving],
    lacks: Sequence[Lack],
    may_take: Callable[[Holder], bool] | None = None,
) -> list[Holder]:
    """From the front until nothing is lacking, less those that prove needless; none if some is.

    The highest and oldest are given back first, so that no victim is superfluous (spec 13.3).
    """
    if not lacks:
        return []
    taken: list[Giving] = []
    over = [-each.amount for each in lacks]
    for holder, gives in possible:
        if min(over) >= 0:
            break
        if may_take is None or may_take(holder):
            taken.append((holder, gives))
            over = [rest + given for rest, given in zip(over, gives, strict=True)]
    if min(over) < 0:
        return []
    needed = []
    for holder, gives in reversed(taken):
        without = [rest - given for rest, given in zip(over, gives, strict=True)]
        if min(without) >= 0:
            over = without
        else:
            needed.append(holder)
    return needed[::-1]
