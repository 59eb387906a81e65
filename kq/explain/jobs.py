"""The jobs whose end lets a unit start (spec 19.6), those that end first before others.

First come those that give back their grants already, then those whose time is limited, by its end,
then the others by their start. With one of those named less it does not start.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from kq.core import codec
from kq.core.model import QueueUnit
from kq.decide.causes import is_leaving
from kq.decide.queuesettings import waits_for_pods
from kq.decide.timeouts import dequeued_at
from kq.decide.victims import Holder, Lack, fewest, givers
from kq.explain.crowd import Pair
from kq.explain.looks import Look, look, starts, when
from kq.explain.words import Ending, EndJobs, PodsRun, named
from kq.explain.world import Change, World, given_back

MOST_STEPS = 4
MOST_JOBS = 64
"""A longer list is of no use to anybody."""


def ended(world: World, found: Look) -> EndJobs | None:
    """The jobs that have to end; None where that is of no use, or too many would have to."""
    order = _in_order(world)
    enough = _enough(world, found, order)
    if enough is None or len(enough) > MOST_JOBS:
        return None
    least = _least(world, enough)
    if not least:
        return None
    jobs = [_ending(world.book.units[each.key]) for each in least]
    units = named([each.unit for each in jobs])
    at = when(world, Change(ended=frozenset(each.key for each in least)))
    text = f"it starts once {units} end{'s' * (len(jobs) == 1)}{at}"
    return EndJobs(jobs=jobs, text=text)


def pods_run(world: World) -> PodsRun | None:
    """The units whose pods have to run first, where that is all that it waits for (spec 10.13)."""
    if not waits_for_pods(world.queue()):
        return None
    units = [each.key for each in world.book.course.unready(world.name)]
    if not units or not starts(world, Change(run=frozenset(units))):
        return None
    text = f"it starts once all pods of {named(units)} run"
    return PodsRun(units=units, text=text)


def _in_order(world: World) -> list[Holder]:
    """All units that have something in use, those that end first before others."""
    book = world.book
    holders = [
        Holder(
            key=key,
            queue=book.queue_of(key) or "",
            quota=quota,
            priority=0,
            allocated=0.0,
            charge=charge,
        )
        for key, (quota, charge) in book.usage.charges().items()
        if key in book.units and key != world.unit.key
    ]
    return sorted(holders, key=lambda each: (*_end(book.units[each.key]), each.key))


def _end(unit: QueueUnit) -> tuple[int, float]:
    """Sorts by the end that is expected, as far as that is known."""
    if is_leaving(unit) or not unit.holds_quota:
        return (0, 0.0)
    by, since = ends_by(unit), dequeued_at(unit) or unit.created
    return (1, by.timestamp()) if by is not None else (2, since.timestamp())


def ends_by(unit: QueueUnit) -> datetime | None:
    """When the job's time is over (spec 9.13); None if it has no limit."""
    start = dequeued_at(unit)
    if unit.longest_seconds is None or start is None:
        return None
    return start + timedelta(seconds=max(0, unit.longest_seconds - unit.past_seconds))


def _ending(unit: QueueUnit) -> Ending:
    since, by = dequeued_at(unit), ends_by(unit)
    return Ending(
        unit=unit.key,
        since=codec.format_time(since) if since is not None else None,
        ends_by=codec.format_time(by) if by is not None else None,
    )


def _enough(world: World, found: Look, order: Sequence[Holder]) -> Sequence[Holder] | None:
    """The first of them that give what is lacking, and what those before it take of that."""
    in_the_way = (
        {each.key for each in world.book.course.unready(world.name)}
        if waits_for_pods(world.queue())
        else ()
    )
    first = [each for each in order if each.key in in_the_way]
    chosen, needs = first, dict[Pair, int]()
    for _ in range(MOST_STEPS):
        ends = frozenset(each.key for each in chosen)
        found = look(world, Change(ended=ends)) if chosen else found
        if found.starts:
            return chosen
        if not found.short or len(chosen) > MOST_JOBS:
            return None
        needs = {pair: max(n, needs.get(pair, 0)) for pair, n in _needs(world, found, ends).items()}
        lacks = [Lack(level, name, amount) for (level, name), amount in needs.items()]
        more = fewest(givers(order, lacks, world.chains), lacks)
        if not more:
            return None
        chosen = [each for each in order if each in more or each in first]
    return _by_halves(world, order)


def _needs(world: World, found: Look, ended: frozenset[str]) -> Mapping[Pair, int]:
    """What is to come back in all: what is lacking still, and what has come back already."""
    needs = Counter(found.short)
    for key in ended:
        needs.update({pair: n for pair, n in given_back(world.book, key).items() if pair in needs})
    return needs


def _by_halves(world: World, order: Sequence[Holder]) -> Sequence[Holder] | None:
    """So many of the first that it starts, where those before it take most of what comes back."""

    def starts_after(count: int) -> bool:
        return starts(world, Change(ended=frozenset(each.key for each in order[:count])))

    low, high = 0, min(len(order), MOST_JOBS)
    if not starts_after(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if starts_after(middle) else (middle, high)
    return order[:high]


def _least(world: World, enough: Sequence[Holder]) -> Sequence[Holder]:
    """Without those that are superfluous, the last to end first."""
    least, before = list(enough), list[Holder]()
    while least != before:
        before = least
        for each in reversed(before):
            others = [one for one in least if one is not each]
            if starts(world, Change(ended=frozenset(one.key for one in others))):
                least = others
    return least
