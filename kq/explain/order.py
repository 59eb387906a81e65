"""What of the order lets a unit start: another priority, or that others step aside (spec 19.6)."""

from collections.abc import Iterator

import msgspec

from kq.core import keys
from kq.core.plugins import OrderKey
from kq.decide.queuesettings import max_depth, skips_impossible
from kq.explain.looks import Look, look, starts, when
from kq.explain.requests import edge
from kq.explain.words import RaisePriority, SetQueue, Withdraw, named
from kq.explain.world import Change, World

HIGHEST = 2**31 - 1
MOST_HEADS = 8


def higher(world: World) -> RaisePriority | None:
    """The smallest priority with which it starts; None where none is high enough."""
    now = world.unit.priority or 0
    for steps in _ranks(world, now):
        found = _first(world, steps)
        if found is not None and not starts(world, _with(world, found - 1)):
            text = f"it starts with priority {found} instead of {now}"
            return RaisePriority(priority=found, text=text)
    return None


def _with(world: World, priority: int) -> Change:
    """The unit has another priority."""
    return Change(unit=msgspec.structs.replace(world.unit, priority=priority))


def _rank(world: World, priority: int) -> int:
    """In which of the policy's lists it is with that priority."""
    return world.place(_with(world, priority)).rank


def _ranks(world: World, now: int) -> Iterator[list[int]]:
    """Priorities that make a difference, in the order of the policy's lists, lowest first."""
    waiting = world.book.places.waiting(world.name)
    own = world.place().order
    ahead = {-each[0] for each in _ahead(world, own)} if waiting is not None else set()
    steps = sorted({p for each in ahead | {now} for p in (each, each + 1) if now < p <= HIGHEST})
    ranks: dict[int, list[int]] = {}
    for each in steps:
        ranks.setdefault(_rank(world, each), []).append(each)
    for rank in sorted(ranks, reverse=True):
        lowest = ranks[rank][0]
        yield sorted({*ranks[rank], _threshold(world, now, lowest)})


def _ahead(world: World, own: OrderKey) -> list[OrderKey]:
    waiting = world.book.places.waiting(world.name)
    return [each for each in waiting.in_order() if each < own] if waiting is not None else []


def _threshold(world: World, low: int, high: int) -> int:
    """The lowest priority of the rank that `high` has, above `low`."""
    rank = _rank(world, high)
    bottom = low
    while high - bottom > 1:
        middle = (bottom + high) // 2
        if _rank(world, middle) == rank:
            high = middle
        else:
            bottom = middle
    return high


def _first(world: World, steps: list[int]) -> int | None:
    """The first of them with which it starts, if it does with the last."""
    if not starts(world, _with(world, steps[-1])):
        return None
    low, high = -1, len(steps) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if starts(world, _with(world, steps[middle])):
            high = middle
        else:
            low = middle
    return steps[high]


def withdrawn(world: World, found: Look) -> Withdraw | None:
    """Those that go first and hold it back; it starts once none of them waits any more."""
    heads: list[str] = []
    while not found.starts and len(heads) < MOST_HEADS:
        head = found.barred_by or found.beside
        if head is None:
            return None
        heads.append(head[2])
        found = look(world, Change(gone=frozenset(heads)))
    if not heads or not found.starts:
        return None
    for each in list(heads):
        others = [one for one in heads if one != each]
        if others and starts(world, Change(gone=frozenset(others))):
            heads = others
    at = when(world, Change(gone=frozenset(heads)))
    verb = "waits" if len(heads) == 1 else "wait"
    text = f"it starts once {named(heads)}, going first, {verb} no more{at}"
    return Withdraw(units=heads, text=text)


def queue_set(world: World, found: Look) -> SetQueue | None:
    """The setting of its Queue that holds it back, where another one is all that it needs."""
    queue = world.queue()
    if found.barred_by is not None and not skips_impossible(queue):
        return _setting(world, keys.SKIP_IMPOSSIBLE[0], "true")
    depth = max_depth(queue)
    if found.tried or depth is None:
        return None
    key = keys.MAX_DEPTH[0]

    def starts_at(number: int) -> bool:
        return starts(world, Change(settings={key: str(number)}))

    position = 1 + len(_ahead(world, found.of.order))
    if not starts_at(position):
        return None
    return _setting(world, key, str(edge(starts_at, position, depth)))


def _setting(world: World, key: str, value: str) -> SetQueue | None:
    if not starts(world, Change(settings={key: value})):
        return None
    at = when(world, Change(settings={key: value}))
    text = f'it starts with annotation {key}: "{value}" on queue {world.name}{at}'
    return SetQueue(queue=world.name, key=key, value=value, text=text)
