"""What others use above their min, taken back for a unit within that of its own (spec 13.9-13.10).

Rules and choice are those of `kq.decide.victims`; none is taken below its min.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from fractions import Fraction

from kq.core.plugins import Level, own_levels
from kq.core.resources import PSEUDO, is_firm
from kq.decide.fit import Used
from kq.decide.victims import ChainOf, Claimant, Holder, Lack, fewest, givers, lacking


class Reclaim(StrEnum):
    """Of whom a quota takes back its min (spec 13.9)."""

    NEVER = "Never"
    LOWER = "LowerPriority"
    ANY = "Any"


def mode_of(chain: Sequence[Level]) -> Reclaim:
    """Of whom the quota takes back its min; a mode that is not known is Never (spec 13.9)."""
    named = chain[0].reclaim if chain else ""
    return Reclaim(named) if named in tuple(Reclaim) else Reclaim.NEVER


def reclaimed(
    claimant: Claimant,
    ranked: Iterable[Holder],
    used: Used,
    chain_of: ChainOf,
    mode: Reclaim,
) -> list[Holder]:
    """Units of other quotas, above their min, that make room for it; none if they cannot.

    Holders come in the order of `rank`.
    """
    if mode is Reclaim.NEVER or claimant.takes_none or not claimant.chain:
        return []
    lacks, own = lacking(claimant, used), claimant.chain[0].name
    is_own = {each.name for each in own_levels(claimant.chain)}
    if not lacks or any(each.level in is_own for each in lacks):
        return []
    if not _is_within_min(claimant, used):
        return []
    others: dict[str, list[Holder]] = {}
    for each in ranked:
        if each.quota != own and (mode is Reclaim.ANY or each.priority < claimant.priority):
            others.setdefault(each.quota, []).append(each)
    turns = _turns(others, lacks, used, chain_of)
    in_turn = (each for quota in turns for each in others[quota])
    possible = givers(in_turn, lacks, chain_of)
    found = fewest(possible, lacks, _floors(claimant, lacks, used, chain_of))
    if found:
        return found
    # A small one taken first may leave too little above a min for the large one that is needed.
    by_size = [
        each
        for quota in turns
        for each in sorted(givers(others[quota], lacks, chain_of), key=lambda one: -sum(one[1]))
    ]
    return fewest(by_size, lacks, _floors(claimant, lacks, used, chain_of))


def _is_within_min(claimant: Claimant, used: Used) -> bool:
    """Whether its quota's min covers it beside what the quota uses; what min lacks is 0.

    What of it is firm has to fit into min anyhow.
    """
    own = claimant.chain[0]
    return all(
        used(own.name, name) + amount <= own.minimum.get(name)
        for name, amount in claimant.request.items()
        if amount > 0 and (name in own.minimum or not (name in PSEUDO or is_firm(name)))
    )


def _turns(
    quotas: Iterable[str], lacks: Sequence[Lack], used: Used, chain_of: ChainOf
) -> list[str]:
    """In which order quotas give: those without min first, then the largest usage/min."""
    short = {each.resource for each in lacks}

    def share(quota: str) -> tuple[bool, Fraction, str]:
        minimum = chain_of(quota)[0].minimum
        uses = {name: used(quota, name) for name in short}
        has_min = all(minimum.get(name) > 0 for name, amount in uses.items() if amount > 0)
        shares = [Fraction(uses[n], minimum.get(n)) for n in short if minimum.get(n) > 0]
        return (has_min, -max(shares, default=Fraction(0)), quota)

    return sorted((each for each in quotas if chain_of(each)), key=share)


def _floors(
    claimant: Claimant, lacks: Sequence[Lack], used: Used, chain_of: ChainOf
) -> Callable[[Holder], bool]:
    """Takes from a quota, and from those above it, only what they have above their min.

    What is not short, and below its min already, is nobody's to defend: it is not what they lose.
    """
    common = {level.name for level in claimant.chain}
    short = {each.resource for each in lacks}
    above: dict[tuple[str, str], int] = {}
    guarded: dict[str, list[tuple[str, str]]] = {}

    def guard(quota: str) -> list[tuple[str, str]]:
        mins = [level for level in chain_of(quota) if level.name not in common]
        pairs = [(level, name) for level in mins for name in level.minimum]
        for level, name in pairs:
            spare = used(level.name, name) - level.minimum.get(name)
            above.setdefault((level.name, name), spare)
        return [(level.name, name) for level, name in pairs]

    def may_take(holder: Holder) -> bool:
        if holder.quota not in guarded:
            guarded[holder.quota] = guard(holder.quota)
        pairs = guarded[holder.quota]
        charge = holder.charge
        for pair in pairs:
            amount, spare = charge.get(pair[1]), above[pair]
            if amount > max(spare, 0) and (pair[1] in short or spare >= 0):
                return False
        for pair in pairs:
            above[pair] -= charge.get(pair[1])
        return True

    return may_take
