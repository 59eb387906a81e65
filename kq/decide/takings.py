"""What passes take back and set aside, Queue by Queue, and who may lose grants at all (spec 13)."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from kq.core.keys import is_preemptible
from kq.core.model import HOLDING, JobView, Queue, QueueUnit
from kq.core.options import TakingOptions
from kq.core.plugins import Level, Problem
from kq.core.resources import Resources
from kq.decide.causes import is_leaving
from kq.decide.draining import Draining
from kq.decide.grounds import Grounds, Known, Promise, ending
from kq.decide.ignored import is_given_up
from kq.decide.jobs import holder_of
from kq.decide.kinds import was_defied
from kq.decide.queuesettings import preempts, waits_for_pods
from kq.decide.reclaim import Reclaim, mode_of
from kq.decide.situation import Taken
from kq.decide.taking import Taking
from kq.decide.timeouts import AHEAD
from kq.decide.victims import Holder, is_modest, protected_until
from kq.decide.waiting import WaitingList

Charge = tuple[str, Resources]
"""A quota, and what is in use of it."""


class Made(NamedTuple):
    """A holder, and of what it was made."""

    unit: QueueUnit
    charge: Charge
    holder: Holder


class Takings:
    """Victims until their eviction has begun, and promises until they are kept.

    Nothing of it outlives the manager: marks are on the units, who waits is found anew each time.
    """

    def __init__(self, options: TakingOptions, known: Known) -> None:
        self._options = options
        self._known = known
        self._taken: dict[str, Mapping[str, Taken]] = {}
        self._promises: dict[str, Sequence[Promise]] = {}
        self._leaving: set[str] = set()
        self._unstoppable: set[str] = set()
        self.draining = Draining()
        self.modest: Collection[str] = ()
        """PriorityClasses whose jobs take nothing from others."""
        self._news: dict[str, None] = {}
        self._safe_until: dict[str, datetime] = {}
        self._given_up: set[str] = set()
        self._possible: dict[str, QueueUnit] = {}
        self._holders_of: dict[str, Made] = {}

    def fork(self, known: Known) -> "Takings":
        """The same of others that are known, of which further passes are apart."""
        other = Takings(self._options, known)
        other._taken, other._promises = dict(self._taken), dict(self._promises)
        other._leaving, other._unstoppable = set(self._leaving), set(self._unstoppable)
        other._possible, other._holders_of = dict(self._possible), dict(self._holders_of)
        other.draining, other.modest = self.draining, self.modest
        return other

    @property
    def has_promises(self) -> bool:
        """Whether anything is set aside."""
        return any(self._promises.values())

    def of(self, key: str) -> Taken | None:
        """For whom the unit is to give its grants back; None if for nobody."""
        return next((taken[key] for taken in self._taken.values() if key in taken), None)

    def take_news(self) -> list[str]:
        """Units that are victims since the last call."""
        taken, self._news = self._news, {}
        return list(taken)

    def take_given_up(self) -> set[str]:
        """Levels at which less is set aside than at the last call."""
        levels, self._given_up = self._given_up, set()
        return levels

    def next_look(self, queue: str) -> datetime | None:
        """When a protection ends for which somebody in the Queue waits (spec 13.8)."""
        return self._safe_until.get(queue)

    def saw_job(self, job: JobView) -> None:
        """Suspension stops a job that was let go, or it does not (spec 8.1)."""
        if job.evictable or job.suspended:
            self._unstoppable.discard(job.uid)
        else:
            self._unstoppable.add(job.uid)

    def lost_job(self, uid: str) -> None:
        """The job is gone."""
        self._unstoppable.discard(uid)

    def saw_unit(self, key: str, unit: QueueUnit | None) -> None:
        """The unit as it is now, with the mark of an eviction or without."""
        if unit is not None and is_leaving(unit):
            self._leaving.add(key)
        else:
            self._leaving.discard(key)
        before = self._possible.pop(key, None)
        if unit is not None and self._may_lose(unit):
            self._possible[key] = unit
            is_other = before is None or before.priority != unit.priority
        else:
            self._holders_of.pop(key, None)
            is_other = True
        if is_other and self.of(key) is not None:
            # It may be no victim any more: the next pass decides anew.
            every = self._taken.items()
            self._taken = {name: {k: v for k, v in of.items() if k != key} for name, of in every}

    def set_modest(self, classes: Collection[str]) -> None:
        """PriorityClasses whose jobs take nothing from others (preemptionPolicy Never)."""
        self.modest = classes

    def begin(self, queue: Queue, waiting: WaitingList, now: datetime) -> Taking | None:
        """What a pass may take; None where nobody may take anything, and nothing is set aside."""
        name, soonest = queue.name, self._safe_until

        def protected(until: datetime) -> None:
            soonest[name] = min(until, soonest.get(name, until))

        grounds = self.grounds(queue, waiting, now, passed={}, protected=protected)
        if grounds is not None:
            soonest.pop(name, None)
        return Taking(grounds) if grounds is not None else None

    def grounds(
        self,
        queue: Queue,
        waiting: WaitingList,
        now: datetime,
        *,
        passed: Mapping[str, Taking],
        protected: Callable[[datetime], None],
    ) -> Grounds | None:
        """On what a pass rests that may take something; None where none may.

        `passed` is what was just found in other Queues, instead of what stands there; `protected`
        is told when a protection ends for which somebody waits.
        """
        chain_of, name = self._chain, queue.name
        modes = {mode_of(chain_of(quota)) for quota in {each.quota for each in waiting.shapes()}}
        promises = self._promises | {other: each.promises for other, each in passed.items()}
        taken = self._taken | {other: each.taken for other, each in passed.items()}
        takes = preempts(queue) or waits_for_pods(queue) or modes - {Reclaim.NEVER}
        if not (takes or any(promises.values())):
            return None
        elsewhere = (taken[other] for other in taken if other != name)
        known = self._known
        drained = self.draining.leaving(known.units, known.queue_of, self._can_be_stopped)
        leaving = self._leaving.union(drained, *elsewhere)
        return Grounds(
            queue=name,
            preempts=preempts(queue),
            holders=lambda: list(self._holders(leaving, now, protected)),
            leaving=[*self._giving_back(leaving), *ending(known.usage)],
            promises=[each for other in promises if other != name for each in promises[other]],
            chain_of=chain_of,
            takes_none=lambda key: is_modest(self._known.units[key], self.modest),
            has_running=self._has_running,
        )

    def settle(self, queue: str, taking: Taking | None, granted: Iterable[str] = ()) -> None:
        """What the pass decided stands until the next one."""
        if taking is None or not taking.in_vain:
            self._safe_until.pop(queue, None)
        old, before = self._promises.pop(queue, ()), self._taken.pop(queue, {})
        if taking is not None and taking.promises:
            self._promises[queue] = tuple(taking.promises)
        if taking is not None and taking.taken:
            self._taken[queue] = taking.taken
            self._news |= {key: None for key in taking.taken if key not in before}
        kept = {each.unit for each in self._promises.get(queue, ())} | set(granted)
        self._given_up |= {level for each in old if each.unit not in kept for level in each.levels}

    def _has_running(self, key: str) -> bool:
        pods = self._known.jobs.pods(holder_of(self._known.units[key]))
        return pods is not None and pods.running > 0

    def _can_be_stopped(self, unit: QueueUnit) -> bool:
        uid, jobs = unit.job_uid, self._known.jobs
        if uid in self._unstoppable or jobs.key_of(uid) is None:
            return False
        pods = jobs.pods(holder_of(unit))
        return not (pods is not None and pods.live and was_defied(unit))

    def _chain(self, quota: str) -> Sequence[Level]:
        chain = self._known.quotas.chain(quota)
        return () if isinstance(chain, Problem) else chain

    def _giving_back(self, leaving: Iterable[str]) -> Iterator[Holder]:
        charges = self._known.usage.charges()
        for key in sorted(leaving):
            if key in charges and key in self._known.units:
                yield self._holder(self._known.units[key], charges[key])

    def _holders(
        self, leaving: Collection[str], now: datetime, protected: Callable[[datetime], None]
    ) -> Iterator[Holder]:
        """Those that may lose their grants now."""
        charges = self._known.usage.charges()
        longest = now + self._options.protection + AHEAD
        for key, unit in self._possible.items():
            charge = charges.get(key)
            if charge is None or key in leaving or not self._can_be_stopped(unit):
                continue
            safe = protected_until(unit, self._options.protection)
            if safe is None or safe <= now or safe > longest:
                yield self._holder(unit, charge)
            else:
                protected(safe)

    def _may_lose(self, unit: QueueUnit) -> bool:
        """By what the unit itself says."""
        mark = unit.condition("Evicted")
        return (
            unit.phase in HOLDING
            and unit.active
            and not (unit.deleting or (mark is not None and mark.status) or is_given_up(unit))
            and is_preemptible(unit.labels, self._options.preemptible)
        )

    def _holder(self, unit: QueueUnit, charge: Charge) -> Holder:
        """The unit with what it has in use; made once, as most stay as they are."""
        queue, known = self._known.queue_of(unit.key) or "", self._holders_of.get(unit.key)
        is_same = known is not None and known.unit is unit and known.charge is charge
        if known is not None and is_same and known.holder.queue == queue:
            return known.holder
        made = Holder(
            key=unit.key,
            queue=queue,
            quota=charge[0],
            priority=unit.priority or 0,
            allocated=unit.allocated.timestamp() if unit.allocated else 0.0,
            charge=charge[1],
        )
        self._holders_of[unit.key] = Made(unit, charge, made)
        return made
