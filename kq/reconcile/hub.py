"""Between what is seen or written and what is to be done: the book, and the work queues."""

from dataclasses import dataclass

from kq.core.kinds import ResourceKind
from kq.core.model import QueueUnit
from kq.decide.book import Book
from kq.decide.jobs import named_job
from kq.decide.ledger import Sending
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


class Hub:
    """Puts keys on work queues when the book says that something follows from a change."""

    def __init__(self, *, book: Book, queues: WorkQueues, kinds: dict[str, ResourceKind]) -> None:
        self.book = book
        self.queues = queues
        self._kinds = kinds
        self._status_due: set[str] = set()

    def pump(self) -> None:
        """Hand on what has come up in the book since the last call."""
        for name in self.book.take_woken():
            self.queues.queue.add(Request("", name))
            self.status_due(name)
        for key in self.book.take_to_tell():
            namespace, _, name = key.partition("/")
            self.queues.units.add(Request(namespace, name))

    def wrote(self, unit: QueueUnit, sending: Sending) -> None:
        """The API server answered our write of a unit with this."""
        self.book.wrote(unit, sending)
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

    def enqueue_job_of(self, unit: QueueUnit) -> None:
        """Look at the unit's job, if it is of a kind that is served."""
        job = named_job(unit)
        if job is not None and job[0] in self._kinds:
            kind, namespace, name = job
            self.queues.job.add(Request(namespace, name, kind))

    def status_due(self, queue: str | None) -> None:
        """The counts of a Queue have changed: look soon, at all changes till then."""
        if queue and queue not in self._status_due:
            self._status_due.add(queue)
            self.queues.status.add_after(Request("", queue), SETTLES)

    def status_taken(self, queue: str) -> None:
        """The counts are being looked at."""
        self._status_due.discard(queue)
