"""The smallest increase of limits with which a unit starts (spec 19.6).

Those before it may take of it too, so what they take is found by passes, not by a sum. With less of
any one of them, by one step, it does not start.
"""

from collections.abc import Mapping

from kq.core.resources import format_amount, is_firm, plain
from kq.explain.crowd import Pair
from kq.explain.looks import Look, look, starts, used_up
from kq.explain.requests import edge
from kq.explain.words import Increase, RaiseQuota
from kq.explain.world import Change, World

MOST_STEPS = 3
"""Then too many take of what is given: what all of them need is found at once."""
BOUNDLESS = 2**62


def increased(world: World, found: Look) -> RaiseQuota | None:
    """Which limits have to rise, and by how much; None where that alone is of no use."""
    raised = _enough(world, found)
    least = _least(world, raised) if raised else {}
    if not least:
        return None
    increases = [
        Increase(
            quota=level.name,
            resource=plain(name),
            of_min=is_firm(name),
            by=format_amount(name, least[level.name, name]),
            to=format_amount(name, level.limit[name] + least[level.name, name]),
        )
        for level in world.chain
        for name in sorted(name for of, name in least if of == level.name)
    ]
    parts = [
        f"{'min of ' if each.of_min else ''}{each.resource} of quota {each.quota} "
        f"by {each.by} to {each.to}"
        for each in increases
    ]
    text = f"it starts if limits rise: {'; '.join(parts)}"
    return RaiseQuota(increases=increases, text=text)


def _enough(world: World, found: Look) -> Mapping[Pair, int] | None:
    """Step by step what is lacking; where too many take of it, what all of them need."""
    raised: dict[Pair, int] = {}
    for _ in range(MOST_STEPS):
        if found.starts or not found.short:
            break
        for pair, over in found.short.items():
            raised[pair] = raised.get(pair, 0) + over
        found = look(world, Change(raised=raised))
    if found.starts:
        return raised
    return _all_of_it(world, raised) if found.short else None


def _all_of_it(world: World, raised: Mapping[Pair, int]) -> Mapping[Pair, int] | None:
    """What is needed where all before it start that can."""
    limits = {level.name: level.limit for level in world.chain}
    pairs = set(raised)
    while pairs:
        used, short = used_up(world, Change(raised=dict.fromkeys(pairs, BOUNDLESS)))
        if used:
            needed = {pair: used[pair] - limits[pair[0]][pair[1]] for pair in pairs}
            raised = {pair: more for pair, more in needed.items() if more > 0}
            return raised if starts(world, Change(raised=raised)) else None
        if pairs.issuperset(short):
            return None
        pairs.update(short)
    return None


def _least(world: World, raised: Mapping[Pair, int]) -> Mapping[Pair, int]:
    """Less of each, as long as it starts."""
    least, before = raised, dict[Pair, int]()
    while least != before:
        before = dict(least)
        for pair in before:
            least = _with(least, pair, _smallest(world, least, pair))
    return least


def _smallest(world: World, raised: Mapping[Pair, int], pair: Pair) -> int:
    """The smallest amount of one of them, below what it is or near 0, with which it starts."""

    def starts_at(amount: int) -> bool:
        return starts(world, Change(raised=_with(raised, pair, amount)))

    good = raised[pair]
    if not starts_at(good - 1):
        return good
    return 0 if starts_at(0) else edge(starts_at, good - 1, 0)


def _with(raised: Mapping[Pair, int], pair: Pair, amount: int) -> Mapping[Pair, int]:
    others = {each: more for each, more in raised.items() if each != pair}
    return others | ({pair: amount} if amount else {})
