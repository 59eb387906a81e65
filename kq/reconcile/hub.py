"""Between what is seen or written and what is to be done: the book, and the work queues."""

from dataclasses import dataclass

from kq.core.kinds import ResourceKind
from kq.core.model import JobView, Phase, QueueUnit
from kq.decide.book import Book
from kq.decide.jobs import named_job
from kq.decide.ledger import Sending
from kq.decide.queuesettings import drains
from kq.reconcile.controller import Request
from kq.workqueue.queue import WorkQueue

Work = WorkQueue[Request]

SETTLES = 1.0
"""Seconds from a change to the status of its Queue, so that one write tells of a whole burst."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkQueues:
    """One work queue a controller; the names are those of the metrics."""

    job: Work
    intake: Work
    queue: Work
    grants: Work
    units: Work
    quotas: Work
    status: Work
    pods: Work

    def all(self) -> tuple[Work, ...]:
        """All of them."""
        return (
            self.job,
            self.intake,
            self.queue,
            self.grants,
            self.units,
            self.quotas,
            self.status,
            self.pods,
        )


class Written:
    """Jobs that we wrote, or tried to, and that no watch has shown in a newer version yet."""

    def __init__(self) -> None:
        self._views: dict[tuple[str, str], tuple[str, str, float | None]] = {}

    def note(self, job: JobView, refused_at: float | None = None) -> None:
        """The job was written, or a write was refused as it has changed: the view is old now."""
        self._views[job.kind.kind, job.key] = (job.uid, job.resource_version, refused_at)

    def awaits(self, job: JobView | None) -> bool:
        """Whether the view is older than the job is known to be."""
        if job is None:
            return False
        known = self._views.get((job.kind.kind, job.key))
        return known is not None and known[:2] == (job.uid, job.resource_version)

    def refused_at(self, job: JobView) -> float | None:
        """When a write on this view of the job was refused; None if it was not."""
        return self._views[job.kind.kind, job.key][2] if self.awaits(job) else None

    def forget(self, kind: str, key: str) -> None:
        """Nothing newer of that job is awaited any more."""
        self._views.pop((kind, key), None)


class Hub:
    """Puts keys on work queues when the book says that something follows from a change."""

    def __init__(self, *, book: Book, queues: WorkQueues, kinds: dict[str, ResourceKind]) -> None:
        self.book = book
        self.queues = queues
        self._kinds = kinds
        self._status_due: set[str] = set()
        self.written = Written()

    def pump(self) -> None:
        """Hand on what has come up in the book since the last call."""
        for name in self.book.take_woken():
            self.queues.queue.add(Request("", name))
            self.status_due(name)
        for level in self.book.usage.take_changed():
            self.status_due(self.book.quotas.queue_of(level))
        for key in self.book.take_to_tell():
            told = self.book.units.get(key)
            namespace, _, name = key.partition("/")
            # The strings of the unit, not copies: at a start all units are told at once.
            self.queues.units.add(
                Request(told.namespace, told.name) if told else Request(namespace, name)
            )
        for key in self.book.takings.take_news():
            victim = self.book.units.get(key)
            if victim is not None:
                self.enqueue_job_of(victim)

    def wrote(self, unit: QueueUnit, sending: Sending) -> None:
        """The API server answered our write of a unit with this."""
        self.book.wrote(unit, sending)
        evicted = unit.condition("Evicted")
        is_marked = evicted is not None and evicted.status
        if unit.phase is not Phase.RUNNING or is_marked or self.drained_by(unit):
            self.enqueue_job_of(unit)  # once it runs, only an event gives it something to do
        self.pump()

    def drained_by(self, unit: QueueUnit) -> str:
        """The Queue that takes back what its units hold, if it is the unit's; else nothing."""
        queue = self.book.queues.get(self.book.queue_of(unit.key) or "")
        return queue.name if queue is not None and drains(queue) else ""

    def drained(self, queue: str) -> None:
        """The Queue is drained from now on, or no more: look at all that hold quota in it."""
        for key in self.book.places.at_queue(queue):
            unit = self.book.units.get(key)
            if unit is not None and unit.holds_quota:
                self.enqueue_job_of(unit)

    def vanished(self, unit: QueueUnit) -> None:
        """The API server says that the unit is gone; a watch that never showed it tells no end."""
        entry = self.book.ledger.get(unit.key)
        if entry is None or (entry.stored is not None and entry.stored.uid == unit.uid):
            return
        self.book.lost(unit)
        self.enqueue_job_of(unit)
        self.pump()

    def expected(self, uid: str) -> None:
        """The unit of that job was made, or the attempt is over."""
        self.book.expected(uid)
        self.pump()

    def revoke(self, key: str) -> None:
        """A decided grant is taken back; its job was not looked at while it was to be written."""
        self.book.revoke(key)
        unit = self.book.units.get(key)
        if unit is not None:
            self.enqueue_job_of(unit)
        self.pump()

    def enqueue_job_of(self, unit: QueueUnit, seconds: float = 0.0) -> None:
        """Look at the unit's job in so many seconds, if it is of a kind that is served."""
        job = named_job(unit)
        if job is None or job[0] not in self._kinds:
            return
        kind, namespace, name = job
        request = Request(namespace, name, kind)
        if seconds:
            self.queues.job.add_after(request, seconds)
        else:
            self.queues.job.add(request)

    def status_due(self, queue: str | None) -> None:
        """The counts of a Queue have changed: look soon, at all changes till then."""
        if queue and queue not in self._status_due:
            self._status_due.add(queue)
            self.queues.status.add_after(Request("", queue), SETTLES)

    def status_taken(self, queue: str) -> None:
        """The counts are being looked at."""
        self._status_due.discard(queue)
