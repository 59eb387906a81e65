"""KubeRay's controller of RayJobs: a cluster for each, and a Job that submits to it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from kq.core.kinds import Object
from kq.sim.cluster.operators import OperatorController
from kq.sim.control.controller import Due, Key, Pace
from kq.sim.control.objects import (
    JOBS,
    finalizers_of,
    is_deleted,
    place_of,
    status_of,
    time_of,
)
from kq.sim.control.view import Happened, Known, Seen, View
from kq.sim.control.writes import Delete, Patch, Plan, Replace, Write, is_written, taken
from kq.sim.ray import jobstatus as told
from kq.sim.ray.jobstatus import Phase, Progress
from kq.sim.ray.parts import (
    OPERATOR,
    RAY_CLUSTERS,
    RAY_JOBS,
    deletion,
    is_foreign,
    replaced,
)
from kq.sim.ray.submitters import cluster_of, is_submitted_by_job, submitter_of
from kq.sim.ray.validation import fault_of

FINALIZER: Final = "ray.io/rayjob-finalizer"
REACTION: Final = 0.02
POLL: Final = timedelta(seconds=3)
"""How often a dashboard is asked where no Job tells of the submission."""


class RayJobs:
    """The operator of RayJobs: one step of a job's way each time that it looks."""

    name = OPERATOR
    kind = RAY_JOBS
    children: tuple[str, ...] = (RAY_CLUSTERS, JOBS)
    batch = 0.0

    def sync(self, job: Seen, children: Sequence[Known], now: datetime) -> Plan:
        """What its state asks for, then the state that follows."""
        if is_deleted(job):
            return (yield from _let_go(job))
        if is_foreign(job):
            return None
        if fault := fault_of(job["spec"]):
            return (yield from _say(job, told.refused(job, fault)))
        progress = Progress.of(job, children)
        step = STEPS.get(progress.phase)
        return None if step is None else (yield from step(progress, now))


class RayJobController:
    """Looks at a RayJob soon after it or what it has made changes."""

    name = OPERATOR
    pace = Pace(first=1.0, longest=60.0)

    def __init__(self) -> None:
        self._operator = OperatorController(RayJobs())
        self.kinds = self._operator.kinds

    def concerns(self, happened: Happened, view: View, now: datetime) -> Iterable[Due]:
        """What concerns a RayJob, after the while that a real one takes to hear of it."""
        return (Due(each.key, REACTION) for each in self._operator.concerns(happened, view, now))

    def sync(self, key: Key, view: View, now: datetime) -> Plan:
        """One look at a RayJob."""
        return (yield from self._operator.sync(key, view, now))


def _let_go(job: Seen) -> Plan:
    kept = [each for each in finalizers_of(job) if each != FINALIZER]
    if len(kept) < len(finalizers_of(job)):
        namespace, name = place_of(job)
        body = {"metadata": {"finalizers": kept or None}}
        outcomes = yield [Patch(kind=RAY_JOBS, namespace=namespace, name=name, body=body)]
        if not all(map(is_written, outcomes)):
            taken(outcomes)
    return None


def _begin(progress: Progress, now: datetime) -> Plan:
    """The finalizer first, with which KubeRay writes the spec as it reads it; then the names."""
    job = progress.job
    if FINALIZER not in finalizers_of(job):
        meta = {**job["metadata"], "finalizers": [*finalizers_of(job), FINALIZER]}
        body = {**job, "metadata": meta, "spec": told.as_read(job["spec"])}
        taken((yield [Replace(kind=RAY_JOBS, body=body)]))
        return None
    return (yield from _say(job, told.begun(job, now)))


def _initialize(progress: Progress, now: datetime) -> Plan:
    job, cluster = progress.job, progress.cluster
    if job["spec"].get("suspend"):
        return (yield from _say(job, told.moved(job, Phase.SUSPENDING)))
    if late := told.too_late(job, now):
        return (yield from _say(job, late))
    if cluster is None:
        if not job["spec"].get("clusterSelector"):
            taken((yield [cluster_of(job)]))
        return told.time_left(job, now)
    if status_of(cluster).get("state") != "ready":
        taken((yield list(_news(job, told.beside(job, cluster)))))
        return told.time_left(job, now)
    if is_submitted_by_job(job) and progress.submitter is None:
        taken((yield [submitter_of(job)]))
    is_interactive = job["spec"].get("submissionMode") == "InteractiveMode"
    phase = Phase.WAITING if is_interactive else Phase.RUNNING
    return (yield from _say(job, told.submitted(job, phase)))


def _run(progress: Progress, now: datetime) -> Plan:
    job = progress.job
    if job["spec"].get("suspend") and progress.phase is Phase.RUNNING:
        return (yield from _say(job, told.moved(job, Phase.SUSPENDING)))
    if late := told.too_late(job, now):
        return (yield from _say(job, late))
    status = told.running(progress, now)
    taken((yield list(_news(job, status))))
    left = told.time_left(job, now)
    if is_submitted_by_job(job) or progress.phase is Phase.WAITING:
        return left
    return POLL if left is None else min(POLL, left)


def _stop(progress: Progress, now: datetime) -> Plan:
    """Cluster and submitter are deleted; whether their pods are gone is not looked at."""
    gone: list[Delete] = []
    if progress.cluster is not None and not is_deleted(progress.cluster):
        gone.append(deletion(RAY_CLUSTERS, progress.cluster))
    if progress.submitter is not None and not is_deleted(progress.submitter):
        gone.append(deletion(JOBS, progress.submitter))
    outcomes = yield gone
    if not all(map(is_written, outcomes)):
        taken(outcomes)
    phase = Phase.SUSPENDED if progress.phase is Phase.SUSPENDING else Phase.NEW
    return (yield from _say(progress.job, told.stopped(progress.job, phase)))


def _resume(progress: Progress, now: datetime) -> Plan:
    job = progress.job
    if not job["spec"].get("suspend"):
        return (yield from _say(job, told.moved(job, Phase.NEW)))
    return None


def _shut_down(progress: Progress, now: datetime) -> Plan:
    """The cluster goes some time after the end; the submitter stays with the RayJob."""
    spec, cluster = progress.job["spec"], progress.cluster
    if not spec.get("shutdownAfterJobFinishes") or cluster is None or is_deleted(cluster):
        return None
    seconds = spec.get("ttlSecondsAfterFinished") or 0
    due = time_of(status_of(progress.job).get("endTime")) + timedelta(seconds=seconds)
    if now < due:
        return due - now
    outcomes = yield [deletion(RAY_CLUSTERS, cluster)]
    if not all(map(is_written, outcomes)):
        taken(outcomes)
    return None


def _say(job: Seen, status: Object) -> Plan:
    taken((yield list(_news(job, status))))
    return None


def _news(job: Seen, status: Object) -> Sequence[Write]:
    return [] if status == status_of(job) else [replaced(RAY_JOBS, job, status)]


STEPS: Mapping[Phase, Callable[[Progress, datetime], Plan]] = {
    Phase.NEW: _begin,
    Phase.INITIALIZING: _initialize,
    Phase.RUNNING: _run,
    Phase.WAITING: _run,
    Phase.SUSPENDING: _stop,
    Phase.RETRYING: _stop,
    Phase.SUSPENDED: _resume,
    Phase.COMPLETE: _shut_down,
    Phase.FAILED: _shut_down,
}
"""What is done in a state; nothing in those that nothing leaves."""
