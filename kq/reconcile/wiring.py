"""Which change wakes which controller: all of spec 10.15, in one place.

Handlers run on the event loop, one change at a time: they put what was seen into the book, and
keys on work queues. They never wait.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TypeVar

from kq.core.classviews import PriorityClass, Raw
from kq.core.model import JobView, NamespaceView, PodView, Queue, QueueUnit
from kq.core.plugins import QuotaPlugin
from kq.core.quotaviews import QuotaView
from kq.decide.book import STEP
from kq.decide.jobs import named_job
from kq.decide.kin import owner_of
from kq.decide.places import Place
from kq.decide.queuesettings import drains
from kq.kube.replica import Change
from kq.reconcile import wakes
from kq.reconcile.controller import Request
from kq.reconcile.family import Family
from kq.reconcile.hub import Hub
from kq.reconcile.pods import GONE
from kq.reconcile.watches import Watches

LONGEST_UNSEEN = 300.0
"""Seconds for which pods count that no watch has shown, of a job that is gone."""

T = TypeVar("T")
QuotaMaker = Callable[[Iterable[QuotaView]], QuotaPlugin]
PlaceOf = Callable[[JobView], Place | None]
"""Where the unit of a job will stand that has none yet."""


def nowhere(job: JobView) -> Place | None:
    """No unit is expected."""
    return None


class Wiring:
    """Connects informers to the book and the work queues.

    `classes_count`: what pods count for may depend on which PriorityClass is the default.
    """

    def __init__(
        self,
        *,
        watches: Watches,
        family: Family,
        hub: Hub,
        make_quotas: QuotaMaker,
        namespace: str,
        forget_queue: Callable[[str], None],
        pods_limit: float,
        classes_count: bool = False,
    ) -> None:
        self._classes_count = classes_count
        self._pods_limit = pods_limit or LONGEST_UNSEEN
        self._watches = watches
        self._family = family
        self._hub = hub
        self._make_quotas = make_quotas
        self._namespace = namespace
        self._forget_queue = forget_queue
        self._place_of: PlaceOf = nowhere
        self._quotas_due: asyncio.Handle | None = None
        self._quotas_changed: dict[str, None] = {}
        self._moved = False
        self._settled = False

    def connect(self) -> None:
        """From now on every change is heard; nothing follows from it before `settle`."""
        self._hub.book.gather()
        self._watches.units.add_handler(self._unit)
        self._watches.units.on_progress(self._units_seen)
        self._watches.queues.add_handler(self._queue)
        self._watches.quotas.add_handler(self._quota)
        self._watches.namespaces.add_handler(self._namespace_changed)
        self._watches.pods.add_handler(self._pod)
        self._watches.pods.on_progress(self._pods_seen)
        self._watches.priority_classes.add_handler(self._class_changed)
        self._watches.limit_ranges.add_handler(self._limits_changed)
        self._watches.runtime_classes.add_handler(self._class_changed)
        for informer in self._watches.jobs.values():
            informer.add_handler(self._job)
        for informer in self._watches.kin.values():
            informer.add_handler(self._kin)

    async def settle(self, place_of: PlaceOf = nowhere) -> None:
        """All first lists are there: count with the quotas as they are.

        From now on a job whose unit is still to be made is expected in its place.
        """
        self._place_of, self._settled, self._moved = place_of, True, False
        hub, book = self._hub, self._hub.book
        for _ in book.settle(self._make_quotas(self._watches.quotas.lister.values())):
            await asyncio.sleep(0)
        names = dict.fromkeys(map(book.quotas.queue_of, book.quotas.names()))
        for name in names | self._quotas_changed:
            hub.queues.quotas.add(Request("", name))
        self._quotas_changed.clear()
        async for unit in _in_turn(book.units.values()):
            self._queue_maybe_due(unit)
            if self._job_of(unit) is None:
                hub.enqueue_job_of(unit)
        async for job in _in_turn(self._family.jobs()):
            if not (self._expect(job) or self._rests(job)):
                self._enqueue(job)
        hub.queues.job.feed(map(_request, filter(self._rests, self._family.jobs())))
        hub.pump()

    def _rests(self, job: JobView) -> bool:
        """Whether it only waits, or is over: it is looked at when there is nothing else to do."""
        unit = next(iter(self._hub.book.jobs.units_of(job.uid)), None)
        return (job.suspended or job.finished) and (unit is None or not unit.holds_quota)

    def _expect(self, job: JobView) -> bool:
        """Whether a unit is about to be made of the job."""
        place = self._place_of(job)
        if place is None:
            return False
        self._hub.book.expect(job.uid, place)
        self._hub.queues.intake.add(_request(job))
        return True

    def _unit(self, change: Change[QueueUnit]) -> None:
        view = change.new or change.old
        if view is None:
            return
        book = self._hub.book
        before = book.queue_of(view.key)
        if change.new is None:
            book.lost(view)
        elif not book.saw(change.new) and self._settled:
            # The echo of a write of ours, which has woken all that it concerns.
            self._look_at_grant(view)
            self._queue_maybe_due(view)
            return
        if not self._settled:
            return
        self._hub.status_due(before)
        self._hub.status_due(book.queue_of(view.key))
        self._hub.enqueue_job_of(view)
        self._queue_maybe_due(view)
        self._look_at_grant(view)
        self._hub.pump()

    def _units_seen(self) -> None:
        """Some that we made were deleted while no watch told of units."""
        for unit in self._hub.book.ledger.unshown(self._watches.units.reached):
            self._hub.vanished(unit)

    def _look_at_grant(self, unit: QueueUnit) -> None:
        """A grant that is still to be written may rest on an older version."""
        entry = self._hub.book.ledger.get(unit.key)
        grant = entry.grant if entry else None
        if grant is not None and grant.resource_version != unit.resource_version:
            self._hub.queues.grants.add(Request(unit.namespace, unit.name))

    def _queue_maybe_due(self, unit: QueueUnit) -> None:
        """Queues come with their first unit (spec 3.3), or go with the last (3.8)."""
        book = self._hub.book
        for queue in {unit.queue, book.queue_of(unit.key) or ""} - {""}:
            if (book.quotas.auto_made(queue) is None) == (queue in book.queues):
                self._hub.queues.quotas.add(Request("", queue))

    def _queue(self, change: Change[Queue]) -> None:
        queue = change.new or change.old
        if queue is None:
            return
        if queue.namespace != self._namespace:
            self._hub.queues.status.add(Request(queue.namespace, queue.name))
            return
        if change.new is not None:
            self._hub.book.saw(change.new)
            if drains(change.new) is not drains(change.old):
                self._hub.drained(queue.name)
        else:
            self._hub.book.lost(queue)
            self._forget_queue(queue.name)
        self._hub.queues.quotas.add(Request("", queue.name))
        self._hub.status_due(queue.name)
        self._hub.pump()

    def _quota(self, change: Change[QuotaView]) -> None:
        if not wakes.quota_matters(change.old, change.new):
            return
        self._moved |= wakes.structure_of(change.old) != wakes.structure_of(change.new)
        for quota in (change.old, change.new):
            self._quotas_changed |= dict.fromkeys(wakes.queues_of(quota))
        self._quotas_maybe_due()

    def _quotas_maybe_due(self) -> None:
        if self._quotas_due is None and self._settled:
            # Many quotas may change in one turn of the loop: count with them all at once.
            self._quotas_due = asyncio.get_running_loop().call_soon(self._set_quotas)

    def _set_quotas(self) -> None:
        self._quotas_due = None
        quotas = self._make_quotas(self._watches.quotas.lister.values())
        moved, self._moved = self._moved, False
        self._hub.book.set_quotas(quotas, structure_changed=moved)
        for name in self._quotas_changed:
            self._hub.queues.quotas.add(Request("", name))
        below = wakes.queues_below(self._quotas_changed, self._hub.book.queues, quotas)
        for name in self._hub.book.queues if moved else below:
            self._hub.status_due(name)
        self._quotas_changed.clear()
        if moved:
            self._look_at_jobs(self._holds_nothing)
        self._hub.pump()

    def _namespace_changed(self, change: Change[NamespaceView]) -> None:
        if change.new is not None:
            self._hub.book.saw(change.new)
        elif change.old is not None:
            self._hub.book.lost(change.old)
        view = change.new
        if not self._settled:
            return
        if view is not None and (change.old is None or change.old.labels != view.labels):
            self._look_at_jobs(lambda job: job.namespace == view.name)
        self._hub.pump()

    def _pod(self, change: Change[PodView]) -> None:
        pod = change.new or change.old
        if pod is None:
            return
        jobs = self._hub.book.jobs
        root = jobs.root(owner_of(pod))  # of its last pod the book forgets whose it was
        if change.new is not None:
            self._hub.book.saw(change.new)
        else:
            self._hub.book.lost(pod)
        if change.new is not None and change.new.deleted_at is not None:
            self._hub.queues.pods.add(Request(pod.namespace, pod.name))
        if not self._settled:
            return
        for unit in jobs.units_of(root):
            seconds = wakes.pod_matters(change.old, change.new, self._job_of(unit), unit)
            if seconds is not None:
                self._hub.enqueue_job_of(unit, seconds)
        self._hub.pump()

    def _job_of(self, unit: QueueUnit) -> JobView | None:
        named = named_job(unit)
        return self._family.job(*named) if named is not None else None

    def _job(self, change: Change[JobView]) -> None:
        job = change.new or change.old
        if job is None:
            return
        new = self._family.complete(change.new) if change.new is not None else None
        if new is not None:
            self._hub.book.saw(new)
        else:
            self._gone(job)
        self._look_at_parent(job)
        if not self._settled:
            return
        self._look_at_root(change)
        unit = next(iter(self._hub.book.jobs.units_of(job.uid)), None)
        matters = wakes.job_matters(change.old, change.new, unit) or self._hub.written.awaits(
            change.old
        )
        if matters and not (new is not None and self._expect(new)):
            self._enqueue(job)
        self._hub.pump()

    def _kin(self, change: Change[JobView]) -> None:
        child = change.new or change.old
        if child is None:
            return
        if change.new is not None:
            self._hub.book.saw_child(change.new)
        else:
            self._hub.book.jobs.drop_child(child.uid)
        self._look_at_parent(child)
        self._look_at_root(change)
        self._hub.pump()

    def _look_at_parent(self, child: JobView) -> None:
        """What an operator made of a job is part of it."""
        for parent in self._family.looked_at_with(child):
            job = self._family.job(parent.kind, parent.namespace, parent.name)
            if job is not None:
                self._hub.book.saw(job)
                self._hub.queues.job.add(parent)

    def _look_at_root(self, change: Change[JobView]) -> None:
        """Pods of a new child may have been seen before it."""
        if change.old is None and change.new is not None:
            jobs = self._hub.book.jobs
            for unit in jobs.units_of(jobs.root(change.new.uid)):
                self._hub.enqueue_job_of(unit)

    def _gone(self, job: JobView) -> None:
        """What it may have left behind counts until the pods are known, or for a while."""
        book = self._hub.book
        book.lost(job, self._watches.jobs[job.kind.kind].reached)
        book.saw_pods(self._watches.pods.reached)
        if book.jobs.claim(job.uid) is not None:
            self._hub.queues.pods.add(Request(job.namespace, job.uid, GONE))
            asyncio.get_running_loop().call_later(self._pods_limit, self._forgive, job.uid)

    def _forgive(self, uid: str) -> None:
        self._hub.book.forgive(uid)
        self._hub.pump()

    def _pods_seen(self) -> None:
        if self._hub.book.saw_pods(self._watches.pods.reached):
            self._hub.pump()

    def _class_changed(self, change: Change[PriorityClass] | Change[Raw]) -> None:
        if change.initial:
            return
        if self._classes_count:
            self._moved = True
            self._quotas_maybe_due()
        self._look_at_jobs(self._holds_nothing)
        self._hub.book.course.class_changed(wakes.bold_class(change.old, change.new))
        self._hub.pump()

    def _limits_changed(self, change: Change[Raw]) -> None:
        view = change.new or change.old
        if view is not None and not change.initial:
            self._look_at_jobs(
                lambda job: job.namespace == view.namespace and self._holds_nothing(job)
            )

    def _look_at_jobs(self, which: Callable[[JobView], bool]) -> None:
        for job in self._family.jobs():
            if not job.finished and which(job):
                self._enqueue(job)

    def _holds_nothing(self, job: JobView) -> bool:
        return not any(each.holds_quota for each in self._hub.book.jobs.units_of(job.uid))

    def _enqueue(self, job: JobView) -> None:
        self._hub.queues.job.add(_request(job))


async def _in_turn(items: Iterable[T]) -> AsyncIterator[T]:
    """All that there are now; others get their turn in between."""
    for number, each in enumerate(list(items), 1):
        yield each
        if number % STEP == 0:
            await asyncio.sleep(0)


def _request(job: JobView) -> Request:
    return Request(job.namespace, job.name, job.kind.kind)
