"""Tells waiting units why they wait; writes only what has changed (spec 9.10, 20.1)."""

from collections.abc import Callable
from datetime import datetime, timedelta

from kq.core import wire
from kq.core.messages import Reason
from kq.core.model import Condition, Phase, QueueUnit, Requeue
from kq.core.plugins import Problem
from kq.decide.places import told_by
from kq.kube.errors import NotFound
from kq.reconcile.controller import Request, Result
from kq.reconcile.events import Teller
from kq.reconcile.execute import Executor
from kq.reconcile.hub import Hub

EVERY = timedelta(seconds=60)
"""FailedScheduling is told at most once in that time and unit (spec 18.4)."""

NOT_FOUND = {Reason.NOT_FOUND: "QuotaNotFound", Reason.EXCEEDS: "CanNeverFit"}


class UnitsReconciler:
    """Brings phase, message and condition of a waiting unit to what the book says."""

    def __init__(
        self, *, hub: Hub, executor: Executor, teller: Teller, clock: Callable[[], datetime]
    ) -> None:
        self._hub = hub
        self._executor = executor
        self._teller = teller
        self._clock = clock

    async def reconcile(self, request: Request) -> Result:
        """One unit; nothing is written where its object says it already."""
        entry = self._hub.book.ledger.get(str(request))
        if entry is None or entry.grant is not None or entry.settled is None:
            return Result()
        unit, verdict = entry.settled, self._hub.book.verdict(str(request))
        if verdict is None or told_by(unit) == verdict:
            return Result()
        now = self._clock()
        try:
            await self._executor.patch_status(unit, waiting_patch(unit, verdict, now))
        except NotFound:
            return Result()
        self._tell(unit, verdict, now)
        return Result()

    def _tell(self, before: QueueUnit, verdict: Problem, now: datetime) -> None:
        """The events of spec 18.4; the recorder folds what repeats."""
        said = told_by(before)
        special = NOT_FOUND.get(Reason(verdict.reason))
        if special is not None and (said is None or said.reason != verdict.reason):
            self._teller.both(before, True, special, verdict.message)
        if said is None:
            self._teller.both(before, False, "Scheduling", self._waiting(before, verdict))
        elif before.updated is None or now - before.updated >= EVERY:
            self._teller.tell(before, True, "FailedScheduling", verdict.message)

    def _waiting(self, unit: QueueUnit, verdict: Problem) -> str:
        book = self._hub.book
        queue, place = book.queue_of(unit.key), book.places.place(unit.key)
        waiting = book.places.waiting(queue or "")
        if queue is None or place is None or waiting is None:
            return f"Waiting: {verdict.message}"
        position = waiting.position(place.order)
        return f"Waiting in queue {queue} at position {position}: {verdict.message}"


def waiting_patch(unit: QueueUnit, verdict: Problem, now: datetime) -> dict[str, object]:
    """The status patch that says why the unit waits. A phase that is not known stays (9.3)."""
    return wire.status_patch(
        unit,
        now,
        phase=None if unit.phase is None else Phase.ENQUEUED,
        message=verdict.message,
        conditions=[Condition("QuotaReserved", False, verdict.reason, verdict.message)],
        requeue=Requeue() if verdict.reason == Reason.INACTIVE else None,
    )
