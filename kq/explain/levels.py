"""Where a unit's request does not fit, and who holds most of what is short there (spec 19.6)."""

from collections.abc import Iterator, Mapping, Sequence

from kq.core.resources import in_order, is_firm
from kq.explain.looks import Look
from kq.explain.words import Held, ShortLevel, in_words, listed
from kq.explain.world import World

MOST_HOLDERS = 5


def short_levels(world: World, found: Look) -> list[ShortLevel]:
    """Each level that has not enough, from the unit's own quota upwards: its max, its min."""
    return [
        _level(world, found, level.name, names)
        for level in world.chain
        for of_min in (False, True)
        if (names := _short(found, level.name, of_min=of_min))
    ]


def _short(found: Look, level: str, *, of_min: bool) -> Sequence[str]:
    """What there is not enough of below the max of the level, or of its min."""
    return in_order(name for at, name in found.short if at == level and is_firm(name) is of_min)


def _level(world: World, found: Look, level: str, names: Sequence[str]) -> ShortLevel:
    limits = next(each.limit for each in world.chain if each.name == level)
    used = world.book.usage.of(level)
    unit, request = found.of.order[2], found.of.request
    requested = listed({name: request.get(name) for name in names})
    in_use = listed({name: used.get(name, 0) for name in names})
    limit = listed({name: limits[name] for name in names})
    aside = {name: found.aside[level, name] for name in names}
    beside = listed({name: amount for name, amount in aside.items() if amount > 0})
    holders = _holders(world, level, names)
    whose = "" if unit == world.unit.key else f" for {unit}"
    of_min = all(map(is_firm, names))
    what = f"min of quota {level}" if of_min else f"quota {level}"
    whom = " for jobs that are not preemptible" if of_min else ""
    parts = (
        f"{what} has not enough{whom}: {in_words(requested)} requested{whose}",
        f"{in_words(in_use)} used of {in_words(limit)}",
        f"{in_words(beside)} kept for those before it" if beside else "",
        f"most of it by {', '.join(f'{each.unit} ({in_words(each.amounts)})' for each in holders)}"
        if holders
        else "",
    )
    return ShortLevel(
        quota=level,
        of_min=of_min,
        unit=unit,
        requested=requested,
        used=in_use,
        aside=beside,
        limit=limit,
        holders=holders,
        text=", ".join(each for each in parts if each),
    )


def _holders(world: World, level: str, names: Sequence[str]) -> list[Held]:
    """Those that hold most of it: by the first of these resources, then by the next."""
    found = list(_charged(world, level, names))
    found.sort(key=lambda each: (*(-each[1][name] for name in names), each[0]))
    return [Held(unit=key, amounts=listed(some)) for key, some in found[:MOST_HOLDERS]]


def _charged(
    world: World, level: str, names: Sequence[str]
) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Those below or at the level that hold some of it."""
    below: dict[str, bool] = {}
    for key, (quota, amount) in world.book.usage.charges().items():
        if quota not in below:
            below[quota] = level in world.book.quotas.ancestry(quota)
        some = {name: amount.get(name) for name in names}
        if below[quota] and any(some.values()):
            yield key, some
