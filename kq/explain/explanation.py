"""Why a unit waits, and what would let it start (spec 19.6), also of one that is not submitted.

Every suggestion was found, and is true, by passes of `kq.decide.cycle` on changed pictures of what
the book knows; one with which the unit would not start is not given.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime

import msgspec

from kq.core.messages import Reason, m2
from kq.core.model import Phase, QueueUnit
from kq.core.plugins import Problem
from kq.core.resources import PSEUDO, Resources, plain
from kq.decide.book import Book
from kq.decide.queuesettings import max_depth
from kq.decide.standing import (
    Candidate,
    JobFacts,
    KeptBack,
    Standing,
    Surroundings,
    quota_of,
    standing_of,
)
from kq.explain.cures import Cure, cure, nearest
from kq.explain.jobs import ended, pods_run
from kq.explain.levels import short_levels
from kq.explain.limits import increased
from kq.explain.looks import Look, look, starts
from kq.explain.order import higher, queue_set, withdrawn
from kq.explain.requests import fewer_pods, smaller_pods
from kq.explain.words import Ahead, CheckWait, Explanation, Remedy, Suggestion, listed
from kq.explain.world import TooMuch, World

MOST_AHEAD = 5


class Unsent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What becomes of a job that is not submitted yet (spec 19.6a).

    `can_fit`: whether it could ever start with the limits as they are, None where its quota cannot
    be used; `obstacle` says why it could not. `nearest` are existing quotas to name instead, where
    the one that it names does not exist.
    """

    quota: str | None
    queue: str | None
    request: dict[str, str]
    priority: int
    starts: bool
    can_fit: bool | None
    obstacle: str
    nearest: Sequence[str]
    explanation: Explanation


def explain(
    book: Book, key: str, now: datetime, checks: Sequence[CheckWait] = ()
) -> Explanation | None:
    """The explanation of a unit; None if there is none of that key."""
    unit = book.units.get(key)
    if unit is None:
        return None
    facts = book.jobs.facts(unit)
    found = _explain(book, unit, facts, now)
    return msgspec.structs.replace(found, checks=checks) if checks else found


def explain_unsent(book: Book, unit: QueueUnit, now: datetime) -> Unsent:
    """What would become of the unit if its job were submitted now."""
    facts = JobFacts()
    standing = _standing(book, unit, facts, book.around)
    found = _explain(book, unit, facts, now)
    quota = quota_of(unit, book.around)
    world = World(book, unit, standing, now) if isinstance(standing, Candidate) else None
    obstacle = _above(world) if world is not None else ""
    is_unknown = quota is not None and quota not in book.quotas.names()
    return Unsent(
        quota=quota,
        queue=standing.queue,
        request=_asked(world.request) if world is not None else {},
        priority=unit.priority or 0,
        starts=world is not None and starts(world),
        can_fit=None if world is None else not obstacle,
        obstacle=obstacle,
        nearest=nearest(quota, unit, book.around) if quota and is_unknown else (),
        explanation=found,
    )


def _explain(book: Book, unit: QueueUnit, facts: JobFacts, now: datetime) -> Explanation:
    standing = _standing(book, unit, facts, book.around)
    if isinstance(standing, Candidate):
        return _of_candidate(World(book, unit, standing, now))
    state = unit.raw_phase or Phase.ENQUEUED.value
    reason = standing.problem if isinstance(standing, KeptBack) else _told(unit)
    waits = isinstance(standing, KeptBack) or unit.phase is Phase.BACKOFF
    found = cure(unit, facts, book.around) if waits else None
    remedy = [_remedy(book, found, now)] if found is not None else []
    return Explanation(state=state, reason=reason, unblock=remedy)


def _standing(book: Book, unit: QueueUnit, facts: JobFacts, around: Surroundings) -> Standing:
    """Where it stands, its Queue being there if it is about to be made (spec 10.2)."""
    standing = standing_of(unit, facts, around)
    quota = quota_of(unit, around)
    match standing:
        case KeptBack(queue=str(queue), problem=None) if quota and facts.adopted:
            to_be_made = queue not in book.queues and book.quotas.auto_made(queue) is not None
            return Candidate(queue, quota) if to_be_made else standing
        case _:
            return standing


def _of_candidate(world: World) -> Explanation:
    found = _look(world)
    place, waiting = world.place().order, world.book.places.waiting(world.name)
    return Explanation(
        state=world.unit.raw_phase or Phase.ENQUEUED.value,
        reason=_reason(world, found),
        position=waiting.position(place) if waiting is not None else 1,
        ahead=_ahead(world),
        levels=short_levels(world, found),
        unblock=[] if found.starts else list(_suggestions(world, found)),
    )


def _reason(world: World, found: Look) -> Problem | None:
    if found.starts and world.until is not None:
        text = "it fits, and is tried at the end of its back-off"
        return Problem(Reason.BACKOFF, text)
    if found.starts or found.tried:
        return found.problem
    depth = max_depth(world.queue())
    text = f"queue {world.name} tries only the first {depth} of those who wait"
    return Problem(Reason.PENDING, text)


def _suggestions(world: World, found: Look) -> Iterator[Suggestion]:
    """Those that are true; what takes most passes is looked for last."""
    ways: tuple[tuple[int, Callable[[], Suggestion | None]], ...] = (
        (0, lambda: fewer_pods(world, found)),
        (1, lambda: smaller_pods(world, found)),
        (4, lambda: higher(world)),
        (5, lambda: withdrawn(world, found)),
        (6, lambda: pods_run(world)),
        (7, lambda: queue_set(world, found)),
        (3, lambda: ended(world, found)),
        (2, lambda: increased(world, found)),
    )
    suggested: dict[int, Suggestion] = {}
    for left, (number, way) in zip(range(len(ways), 0, -1), ways, strict=True):
        with suppress(TooMuch), world.budget.sparing(max(1, left // 2)):
            suggestion = way()
            if suggestion is not None:
                suggested[number] = suggestion
    return (suggested[number] for number in sorted(suggested))


def _look(world: World) -> Look:
    """What becomes of it as things are."""
    try:
        return look(world)
    except TooMuch:
        return Look(starts=False, tried=False, of=world.place())


def _remedy(book: Book, found: Cure, now: datetime) -> Remedy:
    """What to do, and what is then."""
    if found.unit is None or found.around is None:
        return Remedy(starts=None, text=found.text)
    standing = _standing(book, found.unit, found.facts, found.around)
    problem = standing.problem if isinstance(standing, KeptBack) else None
    if isinstance(standing, Candidate):
        after = _look(World(book, found.unit, standing, now))
        if after.starts:
            return Remedy(starts=True, text=f"{found.text}; then it starts")
        problem = after.problem
    waits = f"; then it waits still: {problem.message}" if problem is not None else ""
    return Remedy(starts=False, text=f"{found.text}{waits}")


def _ahead(world: World) -> list[Ahead]:
    waiting, own = world.book.places.waiting(world.name), world.place().order
    first: list[Ahead] = []
    for order in waiting.in_order() if waiting is not None else ():
        place = world.book.places.place(order[2])
        if order >= own or place is None or len(first) == MOST_AHEAD:
            break
        first.append(
            Ahead(
                unit=order[2],
                position=len(first) + 1,
                priority=-order[0],
                quota=place.quota,
                request=_asked(place.request),
            )
        )
    return first


def _asked(request: Resources) -> dict[str, str]:
    """What it asks by a word of its own."""
    return listed({name: n for name, n in request.items() if plain(name) not in PSEUDO})


def _told(unit: QueueUnit) -> Problem | None:
    """What its object says."""
    said = unit.condition("QuotaReserved")
    return Problem(said.reason if said else "", unit.message) if unit.message else None


def _above(world: World) -> str:
    """In words, where it asks for more than a limit; empty if nowhere (M2)."""
    for level in world.chain:
        missing = [
            (name, amount, level.limit[name])
            for name, amount in world.request.items()
            if name in level.limit and amount > level.limit[name]
        ]
        if missing:
            return m2(level.name, missing)
    return ""
