"""Passes over Queues, one after the other: which are looked at next, and what each leaves behind.

The book has them on what is known; `kq.explain` has the same on what would be after a change.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from kq.core import wire
from kq.core.model import Phase, Queue, QueueUnit
from kq.core.plugins import Level, OrderKey, Problem
from kq.decide.grounds import Known
from kq.decide.lines import Lines
from kq.decide.queuesettings import waits_for_pods
from kq.decide.retry import has_gained
from kq.decide.taking import Taking
from kq.decide.takings import Takings
from kq.decide.turns import Limits, turn_of
from kq.decide.usage import Ancestry
from kq.decide.waiting import WaitingList


class Standings(Protocol):
    """Which Queue each unit stands in, and the lines."""

    def waiting(self, queue: str) -> WaitingList | None:
        """The line of a Queue; None if nobody waits there."""

    def at_queue(self, queue: str) -> Sequence[str]:
        """All units of a Queue, waiting or not."""

    def quotas(self) -> Collection[str]:
        """All quotas that somebody waits for."""

    def drawing_on(self, quotas: Collection[str]) -> list[str]:
        """Queues with candidates of one of these quotas."""

    def sharing(self, levels: Collection[str], ancestry: Ancestry) -> list[str]:
        """Queues with candidates whose quota's chain has one of these levels."""


class Present(Known, Protocol):
    """All that passes look at."""

    @property
    def queues(self) -> Mapping[str, Queue]:
        """The Queues that there are."""

    @property
    def places(self) -> Standings:
        """Who waits where."""

    def all_run(self, unit: QueueUnit) -> bool:
        """Whether all pods of a unit that holds grants run (spec 10.13)."""


def granted(unit: QueueUnit, now: datetime) -> QueueUnit:
    """The unit with the grant that a pass has decided on."""
    return msgspec.structs.replace(
        unit,
        phase=Phase.DEQUEUED,
        raw_phase=Phase.DEQUEUED.value,
        grants=wire.grants_for(unit.pod_sets),
        attempts=unit.attempts + 1,
        allocated=now.replace(microsecond=0),
    )


class Course:
    """Which Queues are woken, and the passes over them."""

    def __init__(self, present: Present, lines: Lines, takings: Takings) -> None:
        self._present = present
        self._lines = lines
        self._takings = takings
        self.woken: set[str] = set()
        self.taking: Taking | None = None
        """What the last pass took back and set aside."""

    def run(
        self, queue: str, now: datetime, grant: Callable[[OrderKey], None]
    ) -> Sequence[OrderKey]:
        """One pass over the Queue: who starts, each of whom it has granted."""
        present, lines, takings = self._present, self._lines, self._takings
        known, waiting = present.queues.get(queue), present.places.waiting(queue)
        if known is None or waiting is None:
            lines.forget(queue)
            takings.settle(queue, None)
            return ()
        waiting.rouse(now)
        taking = self.taking = takings.begin(known, waiting, now)
        outcome = lines.run(
            known,
            waiting,
            present.usage,
            now=now,
            chain_of=self.chain,
            is_there=present.units.__contains__,
            unready=lambda: self.unready(queue),
            taking=taking,
        )
        for place in outcome.granted:
            grant(place)
        takings.settle(queue, taking, [place[2] for place in outcome.granted])
        return outcome.granted

    def next_look(self, queue: str) -> datetime | None:
        """When a protection or a back-off ends for which somebody in the Queue waits (10.15)."""
        waiting = self._present.places.waiting(queue)
        ends = (self._takings.next_look(queue), waiting.next_end if waiting else None)
        return min((each for each in ends if each is not None), default=None)

    def take_woken(self) -> list[str]:
        """Queues to be looked at since the last call, in the order of spec 10.17."""
        present, lines = self._present, self._lines
        self.woken.update(self._sharing(self._takings.take_given_up()))
        lines.begin_anew(self.woken)
        woken = [name for name in {*self.woken, *lines.cut_short} if name in present.queues]
        self.woken.clear()
        if len(woken) < 2:
            return woken
        places, quotas, usage = present.places, present.quotas, present.usage
        return sorted(
            woken,
            key=lambda name: turn_of(present.queues[name], places.waiting(name), quotas, usage),
        )

    def released(self, levels: Collection[str]) -> None:
        """Less is in use there: wakes all whose chain shares one of these levels (spec 10.15)."""
        names = self._sharing(levels)
        self.woken.update(names)
        self._lines.released(map(self._present.places.waiting, names))

    def limited_anew(self, before: Limits) -> None:
        """Quotas were others: wakes all for whom that makes a difference, now or soon (10.19)."""
        places, after = self._present.places, self._present.quotas
        chains = {each: (before.chain(each), after.chain(each)) for each in places.quotas()}
        changed = {each for each, (old, new) in chains.items() if old != new}
        gained = {each for each in changed if has_gained(*chains[each])}
        for name in places.drawing_on(changed):
            self.woken.add(name)
            waiting = places.waiting(name)
            if gained and waiting is not None:
                waiting.end_back_offs(gained)

    def wake_if_awaited(self, unit: QueueUnit) -> None:
        """Its Queue, if others wait there for all pods of those who hold grants (spec 10.13)."""
        queue = self._present.queues.get(self._present.queue_of(unit.key) or "")
        if unit.holds_quota and queue is not None and waits_for_pods(queue):
            self.woken.add(queue.name)

    def drains(self, name: str, queue: Queue | None) -> None:
        """The Queue is drained, or no more: then who counted on its units is looked at again."""
        if self._takings.draining.saw(name, queue):
            present, charges = self._present, self._present.usage.charges()
            held = (charges.get(each) for each in present.places.at_queue(name))
            for quota in {each[0] for each in held if each is not None}:
                self.released(present.quotas.ancestry(quota))

    def class_changed(self, name: str | None) -> None:
        """Units of that PriorityClass may take otherwise from now on: wakes their Queues (13.2)."""
        if name is None:
            return
        present = self._present
        waiting = (each for each in present.units.values() if each.phase is Phase.ENQUEUED)
        named = (present.queue_of(each.key) for each in waiting if each.priority_class == name)
        self.woken.update(filter(None, named))

    def unready(self, queue: str) -> list[QueueUnit]:
        """Units of the Queue that hold grants without all of their pods running (10.13)."""
        present = self._present
        units = (present.units.get(key) for key in present.places.at_queue(queue))
        return [
            unit
            for unit in units
            if unit is not None and unit.holds_quota and not present.all_run(unit)
        ]

    def _sharing(self, levels: Collection[str]) -> list[str]:
        present = self._present
        return present.places.sharing(levels, present.quotas.ancestry) if levels else []

    def chain(self, quota: str) -> Sequence[Level]:
        """The chain of a quota; of one that takes no units none."""
        chain = self._present.quotas.chain(quota)
        return () if isinstance(chain, Problem) else chain
