"""Brings one job and its unit to where they should be; what that is says `decide.plan`."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from kq.core import keys
from kq.core.messages import S13, s14
from kq.core.model import JobView, Phase, QueueUnit
from kq.decide.actions import Action, PatchStatus, TellJob
from kq.decide.ending import plan_orphan
from kq.decide.jobs import job_key
from kq.decide.kin import selectors_of
from kq.decide.kinds import HOLDS_LOCK
from kq.decide.plan import plan_job
from kq.decide.situation import Situation
from kq.decide.updates import needs_adding
from kq.metrics import SchedulingMetrics
from kq.reconcile.controller import Request, Result, sooner
from kq.reconcile.execute import STALE, Executor, Refused
from kq.reconcile.family import Family
from kq.reconcile.gather import Gatherer
from kq.reconcile.hub import Hub
from kq.reconcile.strikes import Refusals, Strikes

MOST_TOLD = 4096
ORPHAN_GRACE = 5.0
"""Seconds that garbage collection gets to remove a unit with its job."""


class JobReconciler:
    """Gathers what is known of a job, asks the plan, and has it carried out.

    `keeps_time`: units of finished jobs are deleted after a time, so they are looked at still.
    """

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
        monotonic: Callable[[], float],
        pods_reached: Callable[[], int],
        keeps_time: bool,
    ) -> None:
        self._pods_reached = pods_reached
        self._family = family
        self._hub = hub
        self._executor = executor
        self._gatherer = gatherer
        self._metrics = metrics
        self._clock = clock
        self._monotonic = monotonic
        self._keeps_time = keeps_time
        self._strikes = strikes
        self._refusals = refusals
        self._missing_since: dict[Request, float] = {}
        self._running_since: dict[str, datetime] = {}
        self._defied: dict[str, datetime] = {}
        self._told: dict[str, None] = {}
        self._held: dict[str, datetime] = {}
        self._odd_states: dict[str, str] = {}

    async def reconcile(self, request: Request) -> Result:
        """One job; `request.kind` says of which kind."""
        job = self._family.job(request.kind, request.namespace, request.name)
        if job is None:
            self._executor.forget(request.kind, str(request))
            return await self._without_job(request)
        self._missing_since.pop(request, None)
        if self._executor.awaits(job):
            refused = self._hub.written.refused_at(job) is not None
            return Result(requeue_after=STALE) if refused else Result()
        unit = self._hub.book.jobs.unit_of(job.uid, job_key(job))
        entry = self._hub.book.ledger.get(unit.key) if unit else None
        if entry is None or entry.settled is None:
            self._hub.queues.intake.add(request)
            return Result()
        if entry.grant is not None or self._is_over(job, entry.settled):
            return Result()  # the write of a grant brings the job here again
        try:
            return await self._bring_on(job, entry.settled)
        except Refused as err:
            attempt = entry.settled.attempts
            self._refusals.note(job.uid, err.write, err.answer, attempt, self._clock())
            # What follows from it, now: the plan knows of it, and does not ask for it again.
            return await self.reconcile(request)

    async def _bring_on(self, job: JobView, unit: QueueUnit) -> Result:
        self._note_state(job)
        if self._may_have_pods(job, unit) and await self._executor.has_pods(job):
            return Result(requeue_after=STALE)
        now = await self._gatherer.situation(
            job, unit, self._clock(), self._strikes.may_hold_at(job.uid)
        )
        now = replace(
            now,
            running_since=self._runs_since(now),
            defied_since=self._defied_since(now),
            held_since=self._held_since(now),
            clash=await self._clash(job, unit),
            refused=self._refusals.standing(job.uid, unit.attempts, self._clock()),
        )
        actions = [each for each in plan_job(now) if self._is_due(each, now)]
        result = await self._executor.execute(actions)
        self._strikes.note(job.uid, actions, now.now)
        self._refusals.took(job.uid, actions)
        queue = self._hub.book.queue_of(unit.key)
        self._hub.status_due(queue)
        self._count(actions, now, queue or "")
        return sooner(result, self._refusals.seconds_left(job.uid, now.now))

    async def _clash(self, job: JobView, unit: QueueUnit) -> str:
        """Looked for before what the unit's checks want is added to the pods of its job."""
        if not (unit.holds_quota and job.suspended and needs_adding(job, unit)):
            return ""
        return await self._executor.clash_of(job, unit)

    def _note_state(self, job: JobView) -> None:
        """A state that kq does not know is counted when it is seen first (spec 8.6)."""
        known = self._odd_states.pop(job.uid, "")
        if not job.unknown_state:
            return
        self._odd_states[job.uid] = job.unknown_state
        if len(self._odd_states) > MOST_TOLD:
            del self._odd_states[next(iter(self._odd_states))]
        if job.unknown_state != known:
            self._metrics.unknown_states.labels(job.kind.kind).inc()

    def _may_have_pods(self, job: JobView, unit: QueueUnit) -> bool:
        """Whether pods of a run that is over may live that no watch has shown yet (spec 24.3).

        Most operators say that a job has ended, or is suspended, before its pods are gone, and do
        not count them. So what they said must not be newer than what is known of pods.
        """
        if job.counts_pods or not (job.finished or job.suspended) or not unit.holds_quota:
            return False
        evicted = unit.condition("Evicted")
        is_marked = evicted is not None and evicted.status
        if not (job.finished or job.has_run or unit.attempts > 1 or is_marked):
            return False
        group = self._hub.book.jobs.pods(job.uid)
        version = job.resource_version
        is_newer = version.isdecimal() and int(version) > self._pods_reached()
        return is_newer and (group is None or not group.live) and bool(selectors_of(job))

    def _runs_since(self, now: Situation) -> datetime | None:
        """Since when pods of a job that was just let go were seen to run."""
        if now.unit is None or now.unit.phase is not Phase.DEQUEUED or not now.pods.running:
            self._running_since.pop(now.job.uid, None)
            return None
        return self._running_since.setdefault(now.job.uid, now.now)

    def _defied_since(self, now: Situation) -> datetime | None:
        """Since when a job that is held has had pods, and none that ends: others may follow it."""
        runs_on = now.pods.live and not now.pods.ending
        if not (runs_on and now.job.suspended) or now.unit is None or now.unit.holds_quota:
            self._defied.pop(now.job.uid, None)
            return None
        return self._defied.setdefault(now.job.uid, now.now)

    def _held_since(self, now: Situation) -> datetime | None:
        """Since when a job that holds quota has had pods although it is suspended."""
        if now.unit is None or not (now.unit.holds_quota and now.job.suspended and now.pods.live):
            self._held.pop(now.job.uid, None)
            return None
        return self._held.setdefault(now.job.uid, now.now)

    def _is_due(self, action: Action, now: Situation) -> bool:
        """False for what was refused just now, and for an event on what lasts that is written."""
        if type(action) in now.refused:
            return False
        match action:
            case TellJob(reason=reason, job=job) if reason == HOLDS_LOCK:
                told = job.uid in self._told
                self._told[job.uid] = None
                if len(self._told) > MOST_TOLD:
                    del self._told[next(iter(self._told))]
                return not told
        return True

    def _count(self, actions: Sequence[Action], now: Situation, queue: str) -> None:
        """What was done, in the metrics."""
        for each in actions:
            match each:
                case TellJob(reason="SlippedThrough", job=job):
                    self._metrics.slipped_jobs.labels(job.kind.kind).inc()
                case TellJob(reason="HoldIneffective", job=job):
                    self._metrics.hold_ineffective.labels(job.kind.kind).inc()
                case PatchStatus(unit=unit, patch=patch) if _evicted(unit, patch):
                    self._metrics.evictions.labels(queue, _evicted(unit, patch)).inc()
                case PatchStatus(unit=unit, patch=patch) if _starts(unit, patch):
                    waited = now.now - (unit.allocated or now.now)
                    self._metrics.start.labels(queue).observe(max(0.0, waited.total_seconds()))

    def _is_over(self, job: JobView, unit: QueueUnit | None) -> bool:
        """Nothing is left to do, as of most jobs of most clusters: no plan needs to be made."""
        if unit is None or not (unit.finished and job.finished) or self._keeps_time:
            return False
        group = self._hub.book.jobs.pods(job.uid)
        return unit.message in (S13, s14(job.note)) and (group is None or not group.live)

    async def _without_job(self, request: Request) -> Result:
        """Units of a job that is gone; garbage collection goes first (spec 9.14)."""
        key = (request.kind, request.namespace, request.name)
        units = [
            unit
            for unit in self._hub.book.jobs.units_naming(key)
            if keys.JOB_CREATION in unit.annotations and not unit.deleting
        ]
        if not units:
            self._missing_since.pop(request, None)
            return Result()
        since = self._missing_since.setdefault(request, self._monotonic())
        left = since + ORPHAN_GRACE - self._monotonic()
        if left > 0:
            return Result(requeue_after=left)
        waits = []
        for unit in units:
            group = self._hub.book.jobs.pods(unit.job_uid)
            actions = plan_orphan(unit, group.live if group else 0, self._clock())
            waits.append((await self._executor.execute(actions)).requeue_after)
        return Result(requeue_after=min((each for each in waits if each is not None), default=None))


def _starts(unit: QueueUnit, patch: Mapping[str, Any]) -> bool:
    """Whether the unit is told that its job runs now."""
    return unit.phase is Phase.DEQUEUED and patch["status"].get("phase") == Phase.RUNNING


def _evicted(unit: QueueUnit, patch: Mapping[str, Any]) -> str:
    """For what reason of spec 9.8 its grants are taken back from now on; none if not so."""
    known = unit.condition("Evicted")
    for each in patch["status"].get("conditions", ()):
        if each["type"] == "Evicted" and each["status"] == "True":
            is_known = known is not None and known.status and known.reason == each["reason"]
            return "" if is_known else str(each["reason"])
    return ""
