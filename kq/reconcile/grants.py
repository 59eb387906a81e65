"""Writes the grants that cycles decided.

A conflict means that the unit has changed and no watch has shown it yet: the grant counts on, and
is taken back once the change is seen. Taken back at once it would be decided anew on the same old
view, over and over.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

import structlog

from kq.backoff import exponential
from kq.core import messages, wire
from kq.core.model import Phase, QueueUnit
from kq.decide.conditions import readmitted
from kq.decide.places import told_by
from kq.decide.standing import quota_of
from kq.kube.errors import ApiError, Indeterminate, NotFound
from kq.metrics import SchedulingMetrics
from kq.reconcile.controller import Request, Result
from kq.reconcile.events import Teller
from kq.reconcile.execute import Executor
from kq.reconcile.hub import Hub

GIVEN_BACK_AFTER = 10
"""Refusals of a grant in a row, some seconds."""
FIRST = timedelta(minutes=1)
LONGEST = timedelta(hours=1)
MOST_FAILURES = 4096

log = structlog.get_logger()


class GrantsReconciler:
    """One status patch a grant: phase, grants and conditions together (spec 9.5 a)."""

    def __init__(
        self,
        *,
        hub: Hub,
        executor: Executor,
        teller: Teller,
        metrics: SchedulingMetrics,
        clock: Callable[[], datetime],
    ) -> None:
        self._hub = hub
        self._executor = executor
        self._teller = teller
        self._metrics = metrics
        self._clock = clock
        self._failures: dict[str, int] = {}

    async def reconcile(self, request: Request) -> Result:
        """Write the grant of that unit, if one is still to be written."""
        key = str(request)
        entry = self._hub.book.ledger.get(key)
        if entry is None or entry.grant is None:
            self._hub.book.lift(key)  # if the last one was refused, long enough ago
            self._hub.pump()
            return Result()
        unit, grant = entry.settled, entry.grant
        if unit is None or unit.resource_version != grant.resource_version:
            # The unit has changed since: let the next cycle look at it as it is now.
            self._hub.revoke(key)
            return Result()
        try:
            await self._write(unit, grant)
        except ApiError as err:
            if not err.is_final:
                raise
            return self._refused(unit, err)
        self._failures.pop(unit.uid, None)
        return Result()

    async def _write(self, unit: QueueUnit, grant: QueueUnit) -> None:
        try:
            written = await self._executor.patch_status(unit, grant_patch(unit, grant))
        except NotFound:
            return  # the informer will show its end, and the grant goes with it
        except Indeterminate:
            # It counts as done until a read tells (spec 10.8).
            await self._settle(unit)
            return
        self._tell(unit, written)

    def _refused(self, unit: QueueUnit, err: ApiError) -> Result:
        """Some seconds it may count on; then others have what it would hold for nothing."""
        failures = self._failures.pop(unit.uid, 0) + 1
        self._failures[unit.uid] = failures
        if len(self._failures) > MOST_FAILURES:
            del self._failures[next(iter(self._failures))]
        if failures < GIVEN_BACK_AFTER:
            raise err
        text = messages.grant_refused(str(err))
        log.warning("grant refused", unit=unit.key, error=str(err))
        self._teller.both(unit, True, "UnitRefused", text)
        self._hub.book.bar(unit.key, text)
        self._hub.pump()
        rest = exponential(FIRST, LONGEST, failures - GIVEN_BACK_AFTER + 1)
        return Result(requeue_after=rest.total_seconds())

    async def _settle(self, unit: QueueUnit) -> None:
        """Ask what became of a write that was not answered."""
        sending = self._hub.book.ledger.sending(unit.key)
        try:
            found = await self._executor.read(unit)
        except NotFound:
            self._hub.revoke(unit.key)
            return
        if found.uid == unit.uid and found.attempts > unit.attempts:
            self._hub.wrote(found, sending)
            self._tell(unit, found)
        else:
            self._hub.revoke(unit.key)

    def _tell(self, before: QueueUnit, unit: QueueUnit) -> None:
        queue = self._hub.book.queue_of(unit.key) or ""
        quota = quota_of(unit, self._hub.book.around) or ""
        waited = max(0, int((self._clock() - before.created).total_seconds()))
        self._metrics.admission_wait.labels(queue).observe(waited)
        log.info("queue unit dequeued", unit=unit.key, queue=queue, quota=quota)
        if told_by(before) is not None:
            text = f"Admitted to quota {quota} after {duration(waited)}"
            self._teller.both(unit, False, "Scheduling", text)
        self._teller.tell(unit, False, "Scheduled", "dequeue success")


def grant_patch(unit: QueueUnit, grant: QueueUnit) -> dict[str, object]:
    """The status patch of a grant; an eviction of before is over (spec 9.8)."""
    now = grant.allocated
    if now is None:
        raise ValueError(f"grant of {unit.key} has no time")
    return wire.status_patch(
        unit,
        now,
        phase=Phase.DEQUEUED,
        message=messages.S2,
        conditions=readmitted(unit, messages.S2),
        grants=grant.grants,
        granted=True,
        pods=(0, 0),
    )


def duration(seconds: int) -> str:
    """As kubectl prints ages: `45s`, `3m10s`, `2h5m`, `4d2h`."""
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    if days:
        return f"{days}d{hours}h"
    if hours:
        return f"{hours}h{minutes}m"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
