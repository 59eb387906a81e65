"""Carries out what was decided: the only writer of units and jobs.

Every write names the version and UID that it was decided on. What is gone already needs no write;
a conflict is no error, the key comes again (spec 9.11, 22.1).
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import structlog

from kq.core import views
from kq.core.kinds import QUEUE_UNIT, Object
from kq.core.model import JobView, QueueUnit
from kq.decide.actions import (
    Action,
    AddToPods,
    CreateUnit,
    DeleteUnit,
    HoldJob,
    LookAgain,
    PatchStatus,
    PatchUnit,
    ReleaseJob,
    TellJob,
    TellQueue,
    TellUnit,
)
from kq.errors import KqError
from kq.kube.client import Client
from kq.kube.errors import ApiError, Conflict, Forbidden, NotFound
from kq.reconcile.controller import Result
from kq.reconcile.events import Teller
from kq.reconcile.hub import Hub
from kq.reconcile.jobwriter import JobWrite, JobWriter
from kq.reconcile.pods import has_pods

STALE = 1.0
"""Seconds for which a conflict waits for the watch to show why."""
TOLD_AFTER = 5
"""Failures in a row after which a job's owner hears of them (spec 22.2)."""
RIGHTS_LACK_AFTER = 10
"""Failures in a row, some seconds, after which a right is not just late to be known."""
UNIT_REFUSED = "UnitRefused"
TOLD_BY_PLAN = (ReleaseJob, AddToPods, HoldJob)
"""Writes whose refusal a plan tells, with what follows from it."""
MOST_FAILURES = 4096

log = structlog.get_logger()


class Refused(KqError):
    """The API server takes no such write of a job, or of its unit, however often it is asked."""

    def __init__(self, write: type[object], answer: str) -> None:
        super().__init__(answer)
        self.write = write
        self.answer = answer


class Executor:
    """Writes through the client; tells the hub what the API server answered."""

    def __init__(
        self,
        *,
        client: Client,
        hub: Hub,
        teller: Teller,
        jobs: JobWriter,
    ) -> None:
        self._client = client
        self._hub = hub
        self._teller = teller
        self._jobs = jobs
        self._failures: dict[str, int] = {}

    def awaits(self, job: JobView) -> bool:
        """Whether the view is older than our own last write of the job, or than what refused it.

        A refusal that nothing newer explains within a while is tried again.
        """
        if self._hub.written.awaits(job):
            refused_at = self._hub.written.refused_at(job)
            if refused_at is None or _now() - refused_at < STALE:
                return True
        self.forget(job.kind.kind, job.key)
        return False

    def forget(self, kind: str, key: str) -> None:
        """No job of that name is awaited any more."""
        self._hub.written.forget(kind, key)

    async def execute(self, actions: Sequence[Action]) -> Result:
        """All of them, in order; when to look again."""
        again: float | None = None
        for action in actions:
            match action:
                case LookAgain(seconds=seconds):
                    again = seconds if again is None else min(again, seconds)
                case TellJob(job=job, warning=warning, reason=reason, message=message):
                    self._teller.tell(job, warning, reason, message)
                case TellUnit(unit=unit, warning=warning, reason=reason, message=message):
                    self._teller.tell(unit, warning, reason, message)
                case TellQueue(unit=unit, reason=reason, message=message):
                    self._tell_queue(unit, reason, message)
                case CreateUnit() | DeleteUnit() | PatchUnit() | PatchStatus():
                    await self._write_unit(action)
                case _:
                    await self._write_job(action)
        return Result(requeue_after=again)

    async def clash_of(self, job: JobView, unit: QueueUnit) -> str:
        """Why what its checks want cannot be added to the job's pods; empty if it can."""
        try:
            return await self._jobs.clash_of(job, unit)
        except NotFound:
            return ""

    def _tell_queue(self, unit: QueueUnit, reason: str, message: str) -> None:
        queue = self._hub.book.queues.get(self._hub.book.queue_of(unit.key) or "")
        if queue is not None:
            self._teller.tell(queue, True, reason, message)

    async def patch_status(self, unit: QueueUnit, patch: Object) -> QueueUnit:
        """The unit as the status patch left it."""
        return await self._patch(unit, patch, subresource="status")

    async def is_there(self, job: JobView) -> bool:
        """Whether the API server has that very job."""
        try:
            found = await self._client.get(job.kind, job.name, job.namespace)
        except NotFound:
            return False
        return bool(found.get("metadata", {}).get("uid") == job.uid)

    async def has_pods(self, job: JobView) -> bool:
        """Whether the API server has pods of the job that have not ended, by their labels."""
        return await has_pods(self._client, job)

    async def read(self, unit: QueueUnit) -> QueueUnit:
        """The unit as the API server has it now."""
        raw = await self._client.get(QUEUE_UNIT, unit.name, unit.namespace, into=bytes)
        return views.unit(raw)

    async def _write_unit(self, action: CreateUnit | DeleteUnit | PatchUnit | PatchStatus) -> None:
        try:
            await self._send_unit(action)
        except NotFound:
            log.debug("unit is gone already", unit=_name_of(action))
        except ApiError as err:
            if err.is_final and not err.is_of_rights:
                self._tell_refused(action, err)
            raise

    async def _send_unit(self, action: CreateUnit | DeleteUnit | PatchUnit | PatchStatus) -> None:
        match action:
            case CreateUnit(job=job, body=body):
                await self._create(job, body)
            case DeleteUnit(unit=unit):
                await self._delete(unit)
            case PatchUnit(unit=unit, patch=patch):
                changed = await self._patch(unit, patch)
                if changed.resource_version == unit.resource_version:
                    # Decided again it would be written again: not before something changes.
                    log.warning("a patch of a unit changed nothing", unit=unit.key, patch=patch)
                    return
                self._hub.enqueue_job_of(changed)  # the status is to follow the spec
            case PatchStatus(unit=unit, patch=patch):
                changed = await self.patch_status(unit, patch)
                _log_phase(unit, changed)

    def _tell_refused(
        self, action: CreateUnit | DeleteUnit | PatchUnit | PatchStatus, err: ApiError
    ) -> None:
        """A change of what a unit says is not tried again at once, as other things may follow."""
        if isinstance(action, CreateUnit):
            self._teller.tell(action.job, True, UNIT_REFUSED, f"the queue unit was refused: {err}")
            return
        self._teller.both(action.unit, True, UNIT_REFUSED, f"the queue unit was not changed: {err}")
        if isinstance(action, PatchUnit):
            raise Refused(PatchUnit, str(err)) from err

    async def _create(self, job: JobView, body: Mapping[str, Any]) -> None:
        key = f"{job.namespace}/{body['metadata']['name']}"
        sending = self._hub.book.ledger.sending(key)
        try:
            raw = await self._client.create(QUEUE_UNIT, body, job.namespace, into=bytes)
        except Forbidden as err:
            if not err.is_namespace_ending:
                raise
            log.debug("job is about to go with its namespace", job=job.key)
            return
        unit = views.unit(raw)
        log.info("queue unit created", unit=unit.key, job=job.key, queue=unit.queue)
        self._hub.wrote(unit, sending)

    async def _delete(self, unit: QueueUnit) -> None:
        with suppress(NotFound):
            await self._client.delete(QUEUE_UNIT, unit.name, unit.namespace, uid=unit.uid)
        self._hub.vanished(unit)

    async def _patch(
        self, unit: QueueUnit, patch: Object, subresource: str | None = None
    ) -> QueueUnit:
        sending = self._hub.book.ledger.sending(unit.key)
        try:
            raw = await self._client.merge_patch(
                QUEUE_UNIT,
                unit.name,
                unit.namespace,
                patch,
                subresource=subresource,
                resource_version=unit.resource_version,
                uid=unit.uid,
                into=bytes,
            )
        except NotFound:
            self._hub.vanished(unit)
            raise
        changed = views.unit(raw)
        self._hub.wrote(changed, sending)
        return changed

    async def _write_job(self, action: JobWrite) -> None:
        job = action.job
        try:
            if not await self._jobs.write(action):
                return
        except NotFound:
            log.debug("job is gone already", job=job.key)
            return
        except Conflict:
            self._hub.written.note(job, refused_at=_now())
            raise
        except ApiError as err:
            self._note_failure(action, err)
            raise
        self._failures.pop(job.uid, None)
        self._hub.written.note(job)
        self._log_job(action)

    def _note_failure(self, action: JobWrite, err: ApiError) -> None:
        """What is refused for what it says ends it at once, all else is told when it goes on."""
        job = action.job
        count = self._failures.pop(job.uid, 0) + 1
        self._failures[job.uid] = count
        if len(self._failures) > MOST_FAILURES:
            self._failures.pop(next(iter(self._failures)))
        is_final = err.is_final and (not err.is_of_rights or count >= RIGHTS_LACK_AFTER)
        if count == TOLD_AFTER or (is_final and not isinstance(action, TOLD_BY_PLAN)):
            self._teller.tell(job, True, "ResumeFailed", f"the job was not changed: {err}")
        if is_final:
            log.warning("job write refused", job=job.key, error=str(err))
            raise Refused(type(action), str(err)) from err

    def _log_job(self, action: JobWrite) -> None:
        match action:
            case HoldJob(job=job, cause=cause):
                log.info("job suspended", job=job.key, kind=job.kind.kind, reason=cause)
                self._teller.tell(job, False, "Suspended", cause)
            case ReleaseJob(job=job, unit=unit):
                log.info("job released", job=job.key, kind=job.kind.kind, unit=unit.key)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _name_of(action: CreateUnit | DeleteUnit | PatchUnit | PatchStatus) -> str:
    return action.job.key if isinstance(action, CreateUnit) else action.unit.key


def _log_phase(before: QueueUnit, after: QueueUnit) -> None:
    """One line for each change of phase."""
    if before.phase is not after.phase:
        log.info(
            "queue unit changed phase",
            unit=after.key,
            phase=after.raw_phase,
            reason=after.message,
        )
