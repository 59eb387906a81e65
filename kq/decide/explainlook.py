"""Whether a unit starts after a change, and if not, what it lacks or who holds it back."""

from collections.abc import Mapping

import msgspec

from kq.core.plugins import OrderKey, Problem
from kq.decide.explaincrowd import Pair
from kq.decide.explainpasses import Passes
from kq.decide.explainworld import AS_IT_IS, Change, Lightened, World
from kq.decide.places import Place


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
    return Passes(world, change, world.place(change)).run()


def look(world: World, change: Change = AS_IT_IS, of: Place | None = None) -> Look:
    """What becomes of the unit, or of another one in its Queue, and what that one lacks."""
    place = world.place(change) if of is None else of
    passes = Passes(world, change, place)
    if passes.run():
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
    if passes.taking is not None:
        bare = Passes(world, change, place, without=passes.rounds)
        bare.run()
    needs = bare.needs()
    base = Lightened(world.book, change.ended)
    aside = {
        (level, name): needs[level, name][0] - base.of(level).get(name, 0) for level, name in needs
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


def used_up(world: World, change: Change) -> Mapping[Pair, int]:
    """What is in use or kept free at each level of the unit's chain once it has started itself."""
    place = world.place(change)
    passes = Passes(world, change, place)
    if not passes.run():
        return {}
    beside = passes.kept_free()
    return {
        (level.name, name): passes.trial.used(level.name, name) + beside.get(name)
        for level in world.chain
        for name in level.limit
    }
