"""Whether a unit starts after a change, and if not, what it lacks or who holds it back."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from kq.core.plugins import OrderKey, Problem
from kq.decide.places import Place
from kq.explain.crowd import Pair
from kq.explain.passes import Passes
from kq.explain.world import AS_IT_IS, Change, World, given_back


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a unit.

    `tried`: it was among those that a pass tries (spec 10.12). `short` is where its request, or
    that of the one that bars it, goes beyond a limit, and by how much; `aside` what of it those
    take, or keep free, who go before it. `barred_by` is who has to start first, `beside` for whom
    so much is kept free that it does not fit.
    """

    starts: bool
    tried: bool = True
    problem: Problem | None = None
    of: Place
    barred_by: OrderKey | None = None
    beside: OrderKey | None = None
    short: Mapping[Pair, int] = {}
    aside: Mapping[Pair, int] = {}


def starts(world: World, change: Change = AS_IT_IS) -> bool:
    """Whether the unit starts in the passes that follow the change."""
    return started(world, change) is not None


def started(world: World, change: Change) -> Passes | None:
    """The passes in which it starts; None if it does not."""
    passes = Passes(world, change, world.place(change))
    return passes if passes.run() else _whole(world, change, passes)


def _whole(world: World, change: Change, passes: Passes) -> Passes | None:
    """Those in which it starts thanks to those behind it, as it did not in these."""
    if passes.is_final:
        return None
    whole = Passes(world, change, world.place(change), is_cut=False)
    return whole if whole.run() else None


def when(world: World, change: Change) -> str:
    """Ends a sentence about a change: it starts, but not before the end of its back-off."""
    passes = started(world, change) if world.until is not None else None
    return ", at the end of its back-off" if passes is not None and passes.has_waited else ""


def look(world: World, change: Change = AS_IT_IS, of: Place | None = None) -> Look:
    """What becomes of the unit, or of another one in its Queue, and what that one lacks."""
    place = world.place(change) if of is None else of
    passes = Passes(world, change, place)
    if passes.run() or (of is None and _whole(world, change, passes) is not None):
        return Look(starts=True, of=place)
    blocker = passes.blocker()
    if blocker is not None:
        found = look(world, change, blocker)
        return msgspec.structs.replace(
            found,
            starts=False,
            tried=passes.tried,
            problem=passes.problem(),
            barred_by=found.barred_by or blocker.order,
        )
    # What a pass took back or set aside for the unit itself is not there when its turn comes.
    bare = passes
    if passes.took:
        bare = Passes(world, change, place, without=passes.count)
        bare.run()
    needs, back = bare.needs(), Counter[Pair]()
    for key in change.ended:
        back.update(given_back(world.book, key))
    aside = {
        pair: used - world.book.usage.of(pair[0]).get(pair[1], 0) + back[pair]
        for pair, (used, _) in needs.items()
    }
    return Look(
        starts=False,
        tried=passes.tried,
        problem=passes.problem(),
        of=place,
        beside=bare.keeper(),
        short={pair: over for pair, (_, over) in needs.items() if over > 0},
        aside={pair: more for pair, more in aside.items() if needs[pair][1] > 0},
    )


def used_up(world: World, change: Change) -> tuple[Mapping[Pair, int], Mapping[Pair, int]]:
    """What is in use or kept free of what is raised once it has started, or what it lacks."""
    place = world.place(change)
    passes = Passes(world, change, place)
    if not passes.run():
        over = {pair: over for pair, (_, over) in passes.needs().items() if over > 0}
        return {}, over or look(world, change).short
    beside = passes.kept_free()
    return {pair: passes.used(*pair) + beside.get(pair[1]) for pair in change.raised}, {}
