"""What passes take back and set aside, Queue by Queue, and who may lose grants at all (spec 13)."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from kq.core.keys import PREEMPTIBLE_LABELS
from kq.core.model import HOLDING, JobView, Queue, QueueUnit
from kq.core.options import TakingOptions
from kq.core.plugins import Level, Problem, QuotaPlugin
from kq.core.resources import Resources
from kq.decide.evict import FOR_OTHERS
from kq.decide.ignored import is_given_up
from kq.decide.jobs import JobIndex
from kq.decide.queuesettings import preempts
from kq.decide.reclaim import Reclaim
from kq.decide.situation import Taken
from kq.decide.taking import Grounds, Promise, Taking, mode_of
from kq.decide.usage import UsageIndex
from kq.decide.victims import Holder, is_preemptible, protected_until
from kq.decide.waiting import WaitingList


class Known(Protocol):
    """Units, what they have in use, their jobs and quotas, as the book has them now."""

    units: dict[str, QueueUnit]
    quotas: QuotaPlugin

    @property
    def jobs(self) -> JobIndex:
        """Jobs and their units."""

    @property
    def usage(self) -> UsageIndex:
        """What is in use."""

    def queue_of(self, key: str) -> str | None:
        """The Queue in which the unit stands, or would stand."""


Charge = tuple[str, Resources]
"""A quota, and what is in use of it."""


class Made(NamedTuple):
    """A holder, and of what it was made."""

    unit: QueueUnit
    charge: Charge
    holder: Holder


class Takings:
    """Victims until their eviction has begun, and promises until they are kept.

    Nothing of it outlives the manager: evictions that have begun are marked on the units, and who
    waits is found anew in the next pass.
    """

    def __init__(self, options: TakingOptions, known: Known) -> None:
        self._options = options
        self._known = known
        self._taken: dict[str, Mapping[str, Taken]] = {}
        self._promises: dict[str, Sequence[Promise]] = {}
        self._leaving: set[str] = set()
        self._unstoppable: set[str] = set()
        self._modest: Collection[str] = ()
        self._news: dict[str, None] = {}
        self._safe_until: dict[str, datetime] = {}
        self._given_up: set[str] = set()
        self._possible: dict[str, QueueUnit] = {}
        self._holders_of: dict[str, Made] = {}

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
        if unit is not None and self._may_lose(unit):
            self._possible[key] = unit
        else:
            self._possible.pop(key, None)
            self._holders_of.pop(key, None)

    def set_modest(self, classes: Collection[str]) -> None:
        """PriorityClasses whose jobs take nothing from others (preemptionPolicy Never)."""
        self._modest = classes

    def begin(self, queue: Queue, waiting: WaitingList, now: datetime) -> Taking | None:
        """What a pass may take; None where nobody may take anything, and nothing is set aside."""
        chain_of, name = self._chain, queue.name
        quotas = {shape.quota for shape in waiting.shapes()}
        takes_back = any(mode_of(chain_of(each)) is not Reclaim.NEVER for each in quotas)
        if not (preempts(queue) or takes_back or self._promises):
            return None
        self._safe_until.pop(name, None)
        elsewhere = {key for other, taken in self._taken.items() if other != name for key in taken}
        leaving = self._leaving | elsewhere
        grounds = Grounds(
            queue=name,
            preempts=preempts(queue),
            holders=lambda: list(self._holders(name, leaving, now)),
            leaving=list(self._giving_back(leaving)),
            promises=list(self._promises_beside(name)),
            chain_of=chain_of,
            takes_none=lambda key: self._is_modest(self._known.units[key]),
        )
        return Taking(grounds)

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

    def _is_modest(self, unit: QueueUnit) -> bool:
        """The template's own policy, else that of its class (spec 13.2)."""
        said = [each.template.preemption_policy for each in unit.pod_sets]
        if any(said):
            return "Never" in said
        return unit.priority_class in self._modest

    def _chain(self, quota: str) -> Sequence[Level]:
        chain = self._known.quotas.chain(quota)
        return () if isinstance(chain, Problem) else chain

    def _giving_back(self, leaving: Iterable[str]) -> Iterator[Holder]:
        charges = self._known.usage.charges()
        for key in sorted(leaving):
            if key in charges and key in self._known.units:
                yield self._holder(self._known.units[key], charges[key])

    def _promises_beside(self, queue: str) -> Iterator[Promise]:
        for other, promises in self._promises.items():
            if other != queue:
                yield from promises

    def _holders(self, queue: str, leaving: Collection[str], now: datetime) -> Iterator[Holder]:
        """Those that may lose their grants now."""
        charges, knows = self._known.usage.charges(), self._known.jobs.key_of
        for key, unit in self._possible.items():
            charge, uid = charges.get(key), unit.job_uid
            if charge is None or key in leaving or uid in self._unstoppable or knows(uid) is None:
                continue
            safe = protected_until(unit, self._options.protection)
            if safe is None or safe <= now:
                yield self._holder(unit, charge)
            else:
                self._safe_until[queue] = min(safe, self._safe_until.get(queue, safe))

    def _may_lose(self, unit: QueueUnit) -> bool:
        """By what the unit itself says."""
        mark = unit.condition("Evicted")
        return (
            unit.phase in HOLDING
            and unit.active
            and not (unit.deleting or (mark is not None and mark.status) or is_given_up(unit))
            and is_preemptible(unit, self._options.preemptible)
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


def is_easier_victim(old: QueueUnit | None, new: QueueUnit | None) -> bool:
    """Whether others may find victims now who found none, or one of theirs stays after all."""
    if old is None or new is None or not (old.holds_quota and new.holds_quota):
        return False
    return (
        old.priority != new.priority
        or any(old.labels.get(key) != new.labels.get(key) for key in PREEMPTIBLE_LABELS)
        or (is_leaving(old) and not is_leaving(new))
    )


def is_leaving(unit: QueueUnit) -> bool:
    """Whether it is giving back grants for another unit."""
    mark = unit.condition("Evicted")
    is_marked = mark is not None and mark.status and mark.reason in FOR_OTHERS
    return unit.holds_quota and is_marked
