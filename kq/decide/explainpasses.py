"""The passes that follow a change, until it is known what becomes of one unit (spec 10.15, 10.17).

Queues that the same change wakes, and whose turn comes first, have their passes first.
"""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from kq.core.plugins import LOW, Blocking, OrderKey, Problem
from kq.core.resources import ZERO, Resources
from kq.decide.cycle import Line, Outcome, run_on
from kq.decide.explaincrowd import Cut, Pair
from kq.decide.explainworld import Change, Lightened, World, may_take, woken
from kq.decide.fit import Used
from kq.decide.places import Place
from kq.decide.queuesettings import max_depth, skips_impossible
from kq.decide.shapes import Shape
from kq.decide.taking import Taking
from kq.decide.turns import turn_of
from kq.decide.usage import Trial
from kq.decide.victims import Holder
from kq.decide.waiting import WaitingList

CHEAP = 8
"""So many that are put into a list take no longer than one that is looked at."""


class Passes:
    """Rounds of passes over its Queue, and over those that the same change wakes.

    Its Queue ends with the unit: what is behind it makes no difference to it. With `without` so
    many rounds are played with a Queue that ends before the unit.
    """

    def __init__(self, world: World, change: Change, place: Place, *, without: int = 0) -> None:
        self._world = world
        self._change = change
        self._place = place
        self._without = without
        self._chain_of = world.chain_of(change)
        lightened = Lightened(world.book, change.ended) if change.ended else None
        self._more = {**(lightened.more() if lightened is not None else {})}
        for pair, by in change.raised.items():
            self._more[pair] = self._more.get(pair, 0) + by
        self._goes_on: dict[str, OrderKey] = {}
        self._begun: dict[str, list[OrderKey]] = {}
        self._lists = {name: self._list(name) for name in woken(world, change)}
        self._taken_in: dict[str, Taking] = {}
        self._outcome = Outcome()
        self.trial = Trial(world.book.usage if lightened is None else lightened)
        self.taking: Taking | None = None
        self.tried = False
        self.rounds = 0

    def run(self) -> bool:
        """Whether it starts. Where a pass does not come to it, another one follows (10.12)."""
        turns = set(self._lists)
        while self._world.name in turns and not (self._without and self.rounds == self._without):
            self.rounds += 1
            again = set()
            for name in self._in_turn(turns):
                outcome = self._pass(name)
                if outcome.granted or name in self._goes_on:
                    again.add(name)
                if name == self._world.name and (self.tried or self.rounds == self._without):
                    return self._place.order in outcome.granted
            turns = again
        return False

    def blocker(self) -> Place | None:
        """The one that bars it; None if nobody does, or one whose unit is only about to come."""
        head = self._outcome.blocking.get(self._place.quota)
        if self._blocking() is not Blocking.BARRED or head is None:
            return None
        return self._world.book.places.place(head[0][2])

    def problem(self) -> Problem | None:
        """What the last pass found of it."""
        waiting = self._lists[self._world.name]
        if self._without or not self.tried:
            return None
        return waiting.verdict(self._place.order)

    def needs(self) -> Mapping[Pair, tuple[int, int]]:
        """By level and resource: what counts as used at its turn, and how far it goes beyond."""
        now = self.trial.used
        views: list[Used] = [now]
        if self.taking is not None:
            views.append(self.taking.later(now, -self._place.order[0]))
        free = self.kept_free()
        views.append(lambda level, name: now(level, name) + free.get(name))
        needs = {}
        for level in self._chain_of(self._place.quota):
            for name, amount in self._place.request.items():
                if amount > 0 and name in level.limit:
                    used = max(view(level.name, name) for view in views)
                    needs[level.name, name] = (used, used + amount - level.limit[name])
        return needs

    def kept_free(self) -> Resources:
        """What a higher one of its quota waits for, beside which it has to fit (spec 10.11c)."""
        if self._blocking() is not Blocking.BESIDE:
            return ZERO
        return self._outcome.barriers[self._place.quota][1]

    def keeper(self) -> OrderKey | None:
        """For whom that is kept free."""
        head = self._outcome.blocking.get(self._place.quota)
        return head[0] if head and self._blocking() is Blocking.BESIDE else None

    def _blocking(self) -> Blocking:
        head = self._outcome.blocking.get(self._place.quota)
        barrier = self._outcome.barriers.get(self._place.quota)
        if barrier is None or (head is not None and head[0] == self._place.order):
            return Blocking.FREE
        queue = self._world.queue(self._world.name, self._change)
        policy = self._world.book.lines.policy(queue)
        return policy.blocks(barrier[0], self._place.rank)

    def _list(self, name: str) -> WaitingList:
        """The line of a Queue; its own ends with the unit."""
        world, change, place = self._world, self._change, self._place
        is_own, queue, crowd = name == world.name, world.queue(name, change), world.crowd(name)
        gone = {each[2] for each in self._begun.get(name, ())}
        if is_own:
            gone |= change.gone | {world.unit.key, place.order[2]}
        cut = Cut(place.order if is_own else None, gone, self._is_awake)
        if may_take(world, name) or max_depth(queue) is not None:
            those = crowd.everybody(cut)
        else:
            skips = skips_impossible(queue)
            those = crowd.those_who_count(cut, self._more, skips_impossible=skips)
        world.looked(sum(len(each.line) for each in those.shapes()) // CHEAP)
        if is_own and not self._without:
            those.add(place.order, (place.quota, place.request, place.rank), None)
        return those

    def _is_awake(self, shape: Shape) -> bool:
        """Whether those in back-off are tried all the same: when the unit is, or as limits rise."""
        until, raised = self._world.until, self._change.raised
        if until is not None and shape.until is not None and shape.until <= until:
            return True
        chain = self._chain_of(shape.quota) if raised else ()
        return any((level.name, name) in raised for level in chain for name in level.limit)

    def _line(self, name: str) -> Line:
        world, change = self._world, self._change
        others = change.ended | change.run
        unready = [each for each in world.unready(name) if each.key not in others]
        line = world.book.lines.line(
            world.queue(name, change),
            self._lists[name],
            chain_of=self._chain_of,
            is_there=world.book.units.__contains__,
            unready=lambda: unready,
            taking=self._taking(name),
        )
        expected = line.expected
        if name == world.name:
            expected = [each for each in expected if each.order < self._place.order]
        begun = self._begun.get(name, ()) if line.one_at_a_time else ()
        return msgspec.structs.replace(
            line,
            after=self._goes_on.pop(name, None),
            unready=[*line.unready, *begun],
            expected=expected,
        )

    def _taking(self, name: str) -> Taking | None:
        world, ended = self._world, self._change.ended
        grounds = world.book.takings.grounds(
            world.queue(name, self._change),
            self._lists[name],
            world.now,
            passed=self._taken_in,
            protected=lambda until: None,
        )
        if grounds is None:
            return None
        holders, takes_none = grounds.holders, grounds.takes_none
        is_modest, key = world.book.takings.is_modest(world.unit), world.unit.key
        return Taking(
            msgspec.structs.replace(
                grounds,
                holders=lambda: _others(holders(), ended),
                leaving=_others(grounds.leaving, ended),
                chain_of=self._chain_of,
                takes_none=lambda each: is_modest if each == key else takes_none(each),
            )
        )

    def _in_turn(self, names: Collection[str]) -> list[str]:
        """As the manager takes them (spec 10.17)."""
        if len(names) == 1:
            return list(names)
        world, lists = self._world, self._lists
        turns = {
            name: turn_of(world.queue(name), lists[name], world.book.quotas, self.trial)
            for name in names
        }
        return sorted(names, key=turns.__getitem__)

    def _pass(self, name: str) -> Outcome:
        """One pass over one Queue; those granted wait no more."""
        waiting, line, is_own = self._lists[name], self._line(name), name == self._world.name
        if is_own:
            self.tried = _is_tried(line, self._place.order)
        outcome = run_on(line, self.trial)
        self._world.looked(len(outcome.granted) + sum(1 for _ in waiting.shapes()))
        if line.taking is not None:
            self._taken_in[name] = line.taking
        if outcome.goes_on_after is not None:
            self._goes_on[name] = outcome.goes_on_after
        if is_own:
            self.taking, self._outcome = line.taking, outcome
        if not (is_own and self.tried) and outcome.granted:
            self._begun.setdefault(name, []).extend(outcome.granted)
            self._lists[name] = self._list(name)
        return outcome


def _is_tried(line: Line, place: OrderKey) -> bool:
    """Whether it is among the first so many; a low list is tried whole where some may take."""
    if line.depth is None:
        return True
    first = line.waiting.first(line.depth + 1, line.after)
    if place in first[: line.depth]:
        return True
    is_cut = len(first) > line.depth and line.policy.rank(first[line.depth - 1]) == LOW
    return is_cut and line.taking is not None


def _others(holders: Sequence[Holder], ended: frozenset[str]) -> list[Holder]:
    return [each for each in holders if each.key not in ended]
