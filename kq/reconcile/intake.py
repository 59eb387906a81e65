"""Brings jobs in that have no unit yet: made, held again if they slipped through, or left alone.

Apart from `reconcile.job`, so that a thousand new jobs never keep one that has ended waiting.
"""

from collections.abc import Callable
from datetime import datetime

from msgspec.structs import replace

from kq.core.model import JobView
from kq.decide.actions import CreateUnit, TellJob
from kq.decide.jobs import job_key
from kq.decide.plan import plan_job
from kq.metrics import SchedulingMetrics
from kq.reconcile.controller import Request, Result
from kq.reconcile.execute import STALE, Executor, Refused
from kq.reconcile.family import Family
from kq.reconcile.gather import Gatherer
from kq.reconcile.hub import Hub
from kq.reconcile.strikes import Refusals, Strikes

MOST_REMEMBERED = 16384
"""UIDs of jobs for which units were made."""


class IntakeReconciler:
    """The only one that makes units; a job that has one is not its business."""

    def __init__(
        self,
        *,
        family: Family,
        hub: Hub,
        executor: Executor,
        gatherer: Gatherer,
        strikes: Strikes,
        refusals: Refusals,
        metrics: SchedulingMetrics,
        clock: Callable[[], datetime],
    ) -> None:
        self._family = family
        self._hub = hub
        self._executor = executor
        self._gatherer = gatherer
        self._metrics = metrics
        self._clock = clock
        self._strikes = strikes
        self._refusals = refusals
        self._made: dict[str, None] = {}

    async def reconcile(self, request: Request) -> Result:
        """One job; whatever comes of it, nobody behind it waits for it any longer."""
        job = self._family.job(request.kind, request.namespace, request.name)
        if job is None:
            return Result()
        try:
            return await self._bring_in(job)
        except Refused as err:
            self._refusals.note(job.uid, err.write, err.answer, 0, self._clock())
            return await self._bring_in(job)  # what follows from it
        finally:
            self._hub.expected(job.uid)

    async def _bring_in(self, job: JobView) -> Result:
        unit = self._hub.book.jobs.unit_of(job.uid, job_key(job))
        if unit is not None:
            self._hub.enqueue_job_of(unit)  # it was asked for as if it had none
            return Result()
        if self._executor.awaits(job):
            refused = self._hub.written.refused_at(job) is not None
            return Result(requeue_after=STALE) if refused else Result()
        now = await self._gatherer.situation(
            job, None, self._clock(), self._strikes.may_hold_at(job.uid)
        )
        now = replace(now, refused=self._refusals.standing(job.uid, 0, now.now))
        actions = plan_job(now)
        if any(isinstance(each, CreateUnit) for each in actions):
            # A unit that went may have gone with its job: only the watch of jobs may be late.
            if job.uid in self._made and not await self._executor.is_there(job):
                return Result(requeue_after=STALE)
            self._note_made(job.uid)
        result = await self._executor.execute(actions)
        self._strikes.note(job.uid, actions, now.now)
        for each in actions:
            if isinstance(each, TellJob) and each.reason == "SlippedThrough":
                self._metrics.slipped_jobs.labels(job.kind.kind).inc()
        return result

    def _note_made(self, uid: str) -> None:
        self._made[uid] = None
        if len(self._made) > MOST_REMEMBERED:
            del self._made[next(iter(self._made))]
