"""The book: everything that decisions rest on, kept up to date as objects change.

Shells put in what they see and what they wrote, and take out which Queues are to be looked at and
which units are to be told something. The book itself waits for nothing and writes nothing: all it
holds follows from the objects put in, whatever the order (a property test holds it to that).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime

from kq.core.holders import named_unit
from kq.core.messages import Reason
from kq.core.model import JobView, NamespaceView, Phase, PodView, Queue, QueueUnit
from kq.core.options import RetryOptions, TakingOptions
from kq.core.plugins import OrderKey, PolicyMaker, Problem, QuotaPlugin
from kq.decide import standing as stand
from kq.decide.accounts import Accounts
from kq.decide.causes import is_easier_victim
from kq.decide.charge import asked_by
from kq.decide.claims import claim_of, departed
from kq.decide.course import Course, granted
from kq.decide.jobs import JobIndex, holder_of, is_queued, job_key, named_job
from kq.decide.kin import JobKey, is_made_by_owner, owner_of
from kq.decide.ledger import Ledger, Sending, is_same_version
from kq.decide.lines import Lines
from kq.decide.places import Place, Places, told_by
from kq.decide.queuesettings import rules
from kq.decide.standing import Candidate, KeptBack, Standing, Surroundings
from kq.decide.takings import Takings
from kq.decide.usage import UsageIndex
from kq.decide.victims import is_bolder

View = QueueUnit | PodView | JobView | Queue | NamespaceView
STEP = 256
"""So many units, or jobs, in each step of `settle`."""


class Book:
    """Units, pods, jobs, Queues, quotas and namespaces at this moment, our own writes included."""

    def __init__(
        self,
        *,
        policies: Mapping[str, PolicyMaker],
        default_policy: str,
        quotas: QuotaPlugin,
        kinds: Collection[str],
        counts_foreign: bool = False,
        taking: TakingOptions | None = None,
        retry: RetryOptions | None = None,
    ) -> None:
        self.lines = Lines(policies, default_policy, retry or RetryOptions())
        self._namespaces: dict[str, NamespaceView] = {}
        self._standings: dict[str, Standing] = {}
        self._to_tell: dict[str, None] = {}
        self._barred: dict[str, str] = {}
        self._gathers = False
        self.quotas = quotas
        self.queues: dict[str, Queue] = {}
        self.units: dict[str, QueueUnit] = {}
        self.ledger = Ledger()
        self._accounts = Accounts(quotas, kinds, counts_foreign=counts_foreign)
        self.places = Places()
        self._around = self._look_around()
        self.takings = Takings(taking or TakingOptions(), self)
        self.course = Course(self, self.lines, self.takings)

    def gather(self) -> None:
        """What is shown is only kept from now on: before all is known nothing can be decided."""
        self._gathers = True

    def settle(self, quotas: QuotaPlugin) -> Iterator[None]:
        """All is known: finds where each unit stands, in steps between which more may be seen."""
        self._gathers = False
        self.set_quotas(quotas, structure_changed=False)
        holders = self._holders()
        for work, on in ((self._restand, list(self.units)), (self._recharge, list(holders))):
            for start in range(0, len(on), STEP):
                work(on[start : start + STEP])
                yield

    def saw(self, view: View) -> bool:
        """An informer shows this object as it is now; whether that is news."""
        match view:
            case QueueUnit():
                return self._saw_unit(view)
            case PodView():
                self._saw_pod(view)
            case JobView():
                key = job_key(view)
                self.takings.saw_job(view)
                self.saw_child(view)
                if self.jobs.put(view.uid, key, view.deleting, is_queued(view), claim_of(view)):
                    self._job_changed(view.uid, key)
                    self._pods_moved()
            case Queue():
                self._queue_changed(view)
            case NamespaceView():
                self._namespaces[view.name] = view
                if self._gathers:
                    return True
                inside = [unit for unit in self.units.values() if unit.namespace == view.name]
                self._restand(unit.key for unit in inside)
                self._recharge({*map(holder_of, inside), *self.jobs.owners(view.name)})
        return True

    def lost(self, view: View, version: int = 0) -> None:
        """An informer shows that this object is gone, which its watch told in that version."""
        match view:
            case QueueUnit():
                entry = self.ledger.gone(view.key, view.uid)
                self._update(view.key, entry.effective if entry else None)
            case PodView():
                root = self.jobs.root(owner_of(view))
                self.jobs.drop_pod(owner_of(view), view)
                self._job_changed(root)
            case JobView():
                key = job_key(view)
                self.takings.lost_job(view.uid)
                self.jobs.drop_child(view.uid)
                left = departed(self.jobs.claim(view.uid), view, version)
                self.jobs.drop(view.uid, key, left)
                self.expected(view.uid)
                self._job_changed(view.uid, key)
            case Queue():
                self.queues.pop(view.name, None)
                self.lines.forget(view.name)
                self.takings.settle(view.name, None)
                self.course.drains(view.name, None)
                self._restand(self.places.at_queue(view.name))
            case NamespaceView():
                self._namespaces.pop(view.name, None)

    def saw_child(self, view: JobView) -> None:
        """An object that a job may have made (spec 5.6): its pods are those of the job."""
        owner = view.controller
        if owner is not None and is_made_by_owner(view):
            self.jobs.put_child(view.uid, owner.uid)
            self._pods_moved()

    def _pods_moved(self) -> None:
        for uid in self.jobs.take_moved():
            self._job_changed(uid)

    def saw_pods(self, version: int) -> bool:
        """The watch of pods has reached that version; whether claims of gone jobs end by that."""
        settled = self.jobs.settled(version)
        for uid in settled:
            self.forgive(uid)
        return bool(settled)

    def forgive(self, uid: str) -> None:
        """No pod of that job that is not known counts any more."""
        self.jobs.settle(uid)
        self._job_changed(uid)

    def stuck(self, pod: PodView) -> bool:
        """A terminating pod counts no more (spec 11.9a); whether that is news."""
        root = self.jobs.root(owner_of(pod))
        group = self.jobs.pods(root)
        if group is None or not group.set_stuck(pod.uid):
            return False
        self._job_changed(root)
        return True

    def wrote(self, view: QueueUnit, sending: Sending) -> None:
        """The API server answered our write with this to that sending."""
        self._update(view.key, self.ledger.wrote(view, sending).effective)

    def revoke(self, key: str) -> None:
        """A grant could not be written: it counts no more, and its Queue is looked at again."""
        entry = self.ledger.revoke(key)
        if entry is not None:
            self._update(key, entry.effective)

    def bar(self, key: str, text: str) -> None:
        """Its grant cannot be written, for that reason: it takes part in no cycle for a while."""
        self._barred[key] = text
        self.revoke(key)

    def lift(self, key: str) -> None:
        """It takes part again."""
        if self._barred.pop(key, None) is not None:
            self._restand([key])

    def set_quotas(self, quotas: QuotaPlugin, *, structure_changed: bool) -> None:
        """The quotas have changed: usage moves, and all Queues below a change are woken.

        Only a change of names, parents or permissions (`structure_changed`) moves units.
        """
        old, self.quotas = self.quotas, quotas
        self._around = self._look_around()
        fallen = self.usage.set_ancestry(quotas.ancestry)
        if structure_changed:
            self._restand(self.units)
            self._recharge(self._holders())
        self.course.released(fallen)
        self.course.limited_anew(old)

    def expect(self, uid: str, place: Place) -> None:
        """The unit of that job is about to be made: nobody behind it takes what is its (10.4)."""
        self.lines.expect(uid, place)

    def expected(self, uid: str) -> None:
        """It was made, or will not be."""
        queue = self.lines.expected(uid)
        if queue is not None:
            self.course.woken.add(queue)

    def cycle(self, queue: str, now: datetime) -> list[QueueUnit]:
        """One pass over the Queue; those granted, as they are to be written. They count at once."""
        started: list[QueueUnit] = []
        self.course.run(queue, now, lambda place: started.append(self._grant(place, now)))
        waiting = self.places.waiting(queue)
        if waiting is not None:
            self._to_tell |= {place[2]: None for place in waiting.tell_news()}
        return started

    def next_look(self, queue: str) -> datetime | None:
        """When a protection or a back-off ends for which somebody in the Queue waits (10.15)."""
        return self.course.next_look(queue)

    def take_woken(self) -> list[str]:
        """Queues to be looked at since the last call, in the order of spec 10.17."""
        return self.course.take_woken()

    def take_to_tell(self) -> list[str]:
        """Units whose object says something else than what holds, since the last call."""
        taken, self._to_tell = self._to_tell, {}
        return list(taken)

    def verdict(self, key: str) -> Problem | None:
        """Why the unit waits; None if it does not, or nothing is to be said yet."""
        match self._standings.get(key):
            case KeptBack(problem=problem):
                return problem
            case Candidate(queue=queue):
                place, waiting = self.places.place(key), self.places.waiting(queue)
                return waiting.verdict(place.order) if place and waiting else None
            case _:
                return None

    def counts(self, queue: str) -> tuple[int, int, int]:
        """Units of a Queue that wait, that have reserved, that are admitted."""
        units = (self.units.get(key) for key in self.places.at_queue(queue))
        phases = Counter(unit.phase for unit in units if unit is not None)
        waiting = phases[Phase.ENQUEUED] + phases[Phase.BACKOFF]
        return waiting, phases[Phase.RESERVED], phases[Phase.DEQUEUED] + phases[Phase.RUNNING]

    def queue_of(self, key: str) -> str | None:
        """The Queue in which the unit stands, or would stand."""
        standing = self._standings.get(key)
        return standing.queue if standing else None

    def all_run(self, unit: QueueUnit) -> bool:
        """Whether all pods of a unit that holds grants run (spec 10.13)."""
        return self.jobs.all_run(unit)

    @property
    def jobs(self) -> JobIndex:
        """Jobs, their pods and their units."""
        return self._accounts.jobs

    @property
    def usage(self) -> UsageIndex:
        """What is in use."""
        return self._accounts.usage

    @property
    def around(self) -> Surroundings:
        """What decides the standing of units."""
        return self._around

    def _look_around(self) -> Surroundings:
        return Surroundings(quotas=self.quotas, queues=self.queues, namespaces=self._namespaces)

    def _saw_unit(self, view: QueueUnit) -> bool:
        """What the informer shows of our own writes is known already."""
        known, unit = self.units.get(view.key), self.ledger.saw(view).effective
        if known is not None and unit is not None and is_same_version(known, unit):
            return False
        self._update(view.key, unit)
        return True

    def _saw_pod(self, pod: PodView) -> None:
        unit = self.units.get(named_unit(pod.holder))
        if unit is not None:
            self.jobs.put_child(pod.holder, holder_of(unit))
        self.jobs.put_pod(owner_of(pod), pod)
        self._job_changed(self.jobs.root(owner_of(pod)))

    def _grant(self, place: OrderKey, now: datetime) -> QueueUnit:
        unit = granted(self.units[place[2]], now)
        self._update(unit.key, self.ledger.assume(unit).effective)
        return unit

    def _update(self, key: str, unit: QueueUnit | None) -> None:
        """A unit has changed: its usage, its place, and what follows for others of its job."""
        old = self.units.pop(key, None)
        self.takings.saw_unit(key, unit)
        if old is not None:
            self.jobs.drop_unit(old)
            if unit is None or (unit.grants, unit.phase) != (old.grants, old.phase):
                self.course.wake_if_awaited(old)
        if unit is None:
            self._leave(key)
        else:
            self.units[key] = unit
            self.jobs.put_unit(unit)
        if self._gathers:
            return
        self._restand([key])
        both = [each for each in (old, unit) if each is not None]
        self._recharge({holder_of(each) for each in both})
        if is_easier_victim(old, unit) or is_bolder(old, unit, self.takings.modest):
            self._freed(stand.quota_of(both[-1], self.around))
        if old is None or unit is None or holder_of(old) != holder_of(unit):
            for each in both:
                self._restand_namesakes(holder_of(each), named_job(each))
        self._pods_moved()

    def _job_changed(self, uid: str, key: JobKey | None = None) -> None:
        if self._gathers:
            return
        self._recharge([uid])
        for unit in self.jobs.units_of(uid):
            self.course.wake_if_awaited(unit)
        self._restand_namesakes(uid, key or self.jobs.key_of(uid))

    def _restand_namesakes(self, uid: str, key: JobKey | None) -> None:
        """All units of one job, those that only name it included."""
        units = self.jobs.units_of(uid) + (self.jobs.units_naming(key) if key else [])
        self._restand({each.key for each in units})

    def _queue_changed(self, queue: Queue) -> None:
        old = self.queues.get(queue.name)
        self.queues[queue.name] = queue
        if old is not None and rules(old) == rules(queue):
            return
        units = self.places.at_queue(queue.name)
        self.course.drains(queue.name, queue)
        if old is not None and self.lines.policy(old) != self.lines.policy(queue):
            for key in units:
                self.places.drop(key)
        self._restand(units)
        self.course.woken.add(queue.name)

    def _recharge(self, uids: Iterable[str]) -> None:
        """Usage of these jobs; wake all whose chain shares a level with what was freed (10.15)."""
        if self._gathers:
            return
        around = self.around
        for uid in uids:
            for quota in self._accounts.recharge(uid, around):
                self._freed(quota)

    def _freed(self, quota: str | None) -> None:
        if quota:
            self.course.released(self.quotas.ancestry(quota))

    def _holders(self) -> set[str]:
        """All who have something in use, or may have."""
        held = [holder_of(each) for each in self.units.values() if each.holds_quota]
        return {*held, *self.jobs.owners()}

    def _restand(self, keys: Iterable[str]) -> None:
        """Look anew at where units stand."""
        if self._gathers:
            return
        around = self.around
        for key in list(keys):
            unit = self.units.get(key)
            if unit is not None:
                self._stand(unit, stand.standing_of(unit, self.jobs.facts(unit), around))

    def _stand(self, unit: QueueUnit, standing: Standing) -> None:
        place, bar = None, self._barred.get(unit.key)
        if bar is not None and isinstance(standing, Candidate):
            standing = KeptBack(standing.queue, Problem(Reason.MISCONFIGURED, bar))
        if isinstance(standing, Candidate):
            policy = self.lines.policy(self.queues[standing.queue])
            order, request = (
                policy.order_key(unit),
                asked_by(unit, standing.quota, self.quotas),
            )
            rank = policy.rank(order)
            place = Place(standing.queue, order, standing.quota, request, rank)
        old = self._standings.get(unit.key)
        self._standings[unit.key] = standing
        if self.places.put(unit.key, standing.queue, place, told_by(unit)):
            both = (old, standing)
            self.course.woken.update(each.queue for each in both if isinstance(each, Candidate))
        # A write whose answer was lost may be seen after the pass that found what holds now.
        if self.verdict(unit.key) not in (None, told_by(unit)):
            self._to_tell[unit.key] = None

    def _leave(self, key: str) -> None:
        old = self._standings.pop(key, None)
        self.places.drop(key)
        self._to_tell.pop(key, None)
        self._barred.pop(key, None)
        self._freed(self.usage.drop(key))
        if isinstance(old, Candidate):
            self.course.woken.add(old.queue)
