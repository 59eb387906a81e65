"""The passes that follow a change, until it is known what becomes of one unit (spec 10.15, 10.17).

They are those of `kq.decide.course`, which the book has, too. Its Queue is `cut` behind the unit as
far as that makes no difference to it: those behind it come after it in each pass.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from kq.core.plugins import Blocking, OrderKey, Problem
from kq.core.resources import ZERO, Resources
from kq.decide.cycle import UNTRIED, Outcome
from kq.decide.fit import Used
from kq.decide.places import Place
from kq.decide.queuesettings import max_depth, skips_impossible
from kq.decide.shapes import Shape
from kq.decide.taking import Taking
from kq.decide.waiting import WaitingList
from kq.explain.crowd import Cut, Pair
from kq.explain.picture import Picture
from kq.explain.world import Change, World, given_back

DEAR = 15
"""So many times longer takes a look where something may be taken back."""
DEAREST = 40
"""So many looks is one for whom others give something back."""
CHEAP = 8
"""So many that are put into a list, or left out, take no longer than one that is looked at."""


class Passes:
    """Passes over its Queue, and over those that the same change wakes.

    With `without` so many of them are had in which the unit itself does not wait.
    """

    def __init__(
        self,
        world: World,
        change: Change,
        place: Place,
        *,
        is_cut: bool = True,
        without: int = 0,
    ) -> None:
        self._world = world
        self._change = change
        self._place = place
        self._shape = _shape_of(world, place)
        rests = self._shape is not None and self._shape.until is not None
        self._is_cut = is_cut and not rests
        self._without = without
        self._more = Counter(change.raised)
        for key in change.ended | change.gone:
            self._more.update(given_back(world.book, key))
        self._has_failed = False
        self.count = 0
        self._taking: Taking | None = None
        self.picture = Picture(world, change, place, self._draw)
        self.picture.apply(change)
        self.has_waited = False
        """Whether it came to the end of its back-off."""

    def run(self) -> bool:
        """Whether it starts. Where a pass does not come to it, another one follows (10.12)."""
        if self._settle(self._world.now):
            return True
        while (end := self._next_end()) is not None:
            self.has_waited = True
            due = (name for name in self._world.book.queues if self._end_at(name) == end)
            self.picture.course.woken.update(due)
            if self._settle(end):
                return True
        return False

    @property
    def is_final(self) -> bool:
        """Whether those behind it could make no difference."""
        return not (self._is_cut and self._world.anybody_takes)

    @property
    def tried(self) -> bool:
        """Whether it was among those that passes try (spec 10.12)."""
        waiting = self._own_line()
        shape = waiting.shape(self._place.order)
        return shape is None or waiting.verdict(self._place.order) != UNTRIED

    def problem(self) -> Problem | None:
        """What the last pass found of it."""
        waiting = self._own_line()
        shape = waiting.shape(self._place.order)
        return None if shape is None or not self.tried else waiting.verdict(self._place.order)

    @property
    def took(self) -> bool:
        """Whether its last pass could take something back."""
        return self._taking is not None

    def blocker(self) -> Place | None:
        """The one that bars it; None if nobody does, or one whose unit is only about to come."""
        head = self._outcome.blocking.get(self._place.quota)
        if self._blocking() is not Blocking.BARRED or head is None:
            return None
        return self._world.book.places.place(head[0][2])

    def needs(self) -> Mapping[Pair, tuple[int, int]]:
        """By level and resource: what counts as used at its turn, and how far it goes beyond."""
        views, free = self._views(), self.kept_free()
        needs = {}
        for level in self.picture.course.chain(self._place.quota):
            for name, amount in self._place.request.items():
                if amount > 0 and name in level.limit:
                    used = max(view(level.name, name) for view in views)
                    used = max(used, self.used(level.name, name) + free.get(name))
                    needs[level.name, name] = (used, used + amount - level.limit[name])
        return needs

    def used(self, level: str, name: str) -> int:
        """What is in use after the passes."""
        self.picture.follow()
        return self.picture.usage.of(level).get(name, 0)

    def kept_free(self) -> Resources:
        """What a higher one of its quota waits for, beside which it has to fit (spec 10.11c)."""
        if self._blocking() is not Blocking.BESIDE:
            return ZERO
        return self._outcome.barriers[self._place.quota][1]

    def keeper(self) -> OrderKey | None:
        """For whom that is kept free."""
        head = self._outcome.blocking.get(self._place.quota)
        return head[0] if head and self._blocking() is Blocking.BESIDE else None

    @property
    def _outcome(self) -> Outcome:
        """Of the last pass over its Queue."""
        return self.picture.lines.outcomes.get(self._world.name) or Outcome()

    def _blocking(self) -> Blocking:
        outcome, quota = self._outcome, self._place.quota
        head, barrier = outcome.blocking.get(quota), outcome.barriers.get(quota)
        if barrier is None or (head is not None and head[0] == self._place.order):
            return Blocking.FREE
        policy = self._world.book.lines.policy(self.picture.queues[self._world.name])
        return policy.blocks(barrier[0], self._place.rank)

    def _views(self) -> list[Used]:
        taking = self._taking
        later = taking.views(self.used, -self._place.order[0]) if taking is not None else ()
        return [self.used, *later]

    def _settle(self, now: datetime) -> bool:
        """Passes over all that are woken, until nobody is; whether it has started."""
        while turns := self._take_woken():
            for name in turns:
                until = self._until()
                granted = self._pass(name, now)
                if name == self._world.name:
                    self.count += 1
                    if self._place.order in granted:
                        return True
                    self._has_failed |= (until is None or until <= now) and self.tried
                    if self._is_over():
                        return False
        return False

    def _take_woken(self) -> Sequence[str]:
        self.picture.follow()
        return self.picture.course.take_woken()

    def _is_over(self) -> bool:
        """Whether no further pass makes a difference: as nobody gives back anything any more."""
        if self._without:
            return self.count == self._without
        return self._has_failed and (self._is_cut or not self._world.anybody_takes)

    def _pass(self, name: str, now: datetime) -> Sequence[OrderKey]:
        waiting = self.picture.places.waiting(name)
        shapes = sum(1 for _ in waiting.every()) if waiting is not None else 0
        granted, taking = self.picture.run(name, now), self.picture.course.taking
        outcome = self.picture.lines.outcomes.get(name)
        looks = len(granted) + shapes + (len(outcome.failures) if outcome is not None else 0)
        if taking is not None:
            looks = looks * DEAR + len(taking.promises) * DEAREST
        if name == self._world.name:
            self._taking = taking
        self._world.budget.looked(looks)
        return granted

    def _until(self) -> datetime | None:
        """When its back-off ends."""
        return self._own_line().until(self._place.order)

    def _next_end(self) -> datetime | None:
        """When the next back-off ends, if its own does not end before; None if it is in none."""
        until = None if self._has_failed or self._without else self._until()
        if until is None:
            return None
        ends = map(self._end_at, self._world.book.queues)
        return min(until, *(each for each in ends if each is not None), until)

    def _end_at(self, name: str) -> datetime | None:
        """When the next back-off in that Queue ends."""
        drawn, places = self.picture.places.drawn, self._world.book.places
        known = drawn.get(name) or places.waiting(name)
        if known is None or known.next_end is None:
            return None
        waiting = self.picture.places.waiting(name)
        return waiting.next_end if waiting is not None else None

    def _own_line(self) -> WaitingList:
        lines = self.picture.places
        lines.waiting(self._world.name)
        return lines.drawn[self._world.name]

    def _draw(self, name: str) -> WaitingList:
        """The line of a Queue, as far as it makes a difference."""
        world, place, is_own = self._world, self._place, name == self._world.name
        without, last = set[str](), None
        is_moved = is_own and self._shape is None
        if is_own:
            without |= self._change.gone
            last = place.order if self._is_cut else None
            if is_moved or self._without:
                without |= {world.unit.key, place.order[2]}
        shapes = list(self._shapes(name, Cut(last, without, self._shape)))
        made = WaitingList.of(shapes)
        world.budget.looked(len(shapes) + (len(made) + world.crowd(name).size) // CHEAP)
        if is_moved and not self._without:
            made.add(place.order, (place.quota, place.request, place.rank), None)
        return made

    def _shapes(self, name: str, cut: Cut) -> Iterator[Shape]:
        world, crowd = self._world, self._world.crowd(name)
        queue = self.picture.queues[name]
        if world.may_take(name) or max_depth(queue) is not None:
            return crowd.everybody(cut)
        skips = skips_impossible(queue)
        return crowd.those_who_count(cut, self._more, skips_impossible=skips)


def _shape_of(world: World, place: Place) -> Shape | None:
    """The shape in which it waits already; None if that is not its place yet."""
    waiting = world.book.places.waiting(world.name)
    shape = waiting.shape(place.order) if waiting is not None else None
    asks = (place.quota, place.request, place.rank)
    return shape if shape is not None and shape.id == asks else None
