"""The Job controller, and the one that deletes Jobs some time after their end."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from kq.core.kinds import Object
from kq.sim.cluster.operators import OperatorController, owning_job
from kq.sim.control.controller import Due, Key, Pace
from kq.sim.control.objects import (
    JOBS,
    PODS,
    controller_of,
    is_deleted,
    place_of,
    uid_of,
)
from kq.sim.control.view import Happened, Known, Seen, View
from kq.sim.control.writes import Delete, Plan, Propagation, is_written, taken
from kq.sim.jobs.ending import finished_at, is_finished
from kq.sim.jobs.failures import Backoff
from kq.sim.jobs.survey import is_tracked
from kq.sim.jobs.syncing import BATCH, strip, sync

CONTROLLER = "kubernetes.io/job-controller"
"""What `spec.managedBy` says of Jobs that are this controller's."""

_ORPHAN = "pod"


class BatchJobs:
    """The operator of Jobs of batch/v1."""

    name = "job-controller"
    kind = JOBS
    children: tuple[str, ...] = (PODS,)
    batch = BATCH.total_seconds()

    def __init__(self) -> None:
        self._backoffs: dict[str, Backoff] = {}

    def sync(self, job: Seen, children: Sequence[Known], now: datetime) -> Plan:
        """Its pods made, counted or ended; nothing once it is finished."""
        if is_finished(job) or is_foreign(job):
            self.forget(job)
            return None
        return (yield from sync(job, [each.obj for each in children], now, self._backoffs))

    def forget(self, job: Seen) -> None:
        """Drops what is remembered of a Job that is no longer looked at."""
        self._backoffs.pop(uid_of(job), None)


class JobController:
    """Looks after Jobs, and lets pods go that lost theirs."""

    pace = Pace(first=1.0, longest=60.0)

    def __init__(self) -> None:
        self._jobs = BatchJobs()
        self._operator = OperatorController(self._jobs)
        self.name, self.kinds = self._operator.name, self._operator.kinds

    def concerns(self, happened: Happened, view: View, now: datetime) -> Iterable[Due]:
        """What concerns a Job, and pods that no Job will count any more."""
        found = list(self._operator.concerns(happened, view, now))
        if happened.kind == PODS:
            found += _lone_pod(happened, view)
        elif happened.kind == JOBS and (happened.after is None or is_finished(happened.after)):
            self._jobs.forget(happened.newest)
            pods = view.owned_of(PODS, uid_of(happened.newest))
            found += [_orphan(pod) for pod in pods if is_tracked(pod)]
        return found

    def sync(self, key: Key, view: View, now: datetime) -> Plan:
        """One look at a Job, or at a pod that lost its Job."""
        if key.about == _ORPHAN:
            return (yield from _sync_orphan(view.get(PODS, key.namespace, key.name), view))
        return (yield from self._operator.sync(key, view, now))


class TtlController:
    """Deletes Jobs that ended long enough ago."""

    name = "ttl-after-finished-controller"
    pace = Pace()
    kinds: tuple[str, ...] = (JOBS,)

    def concerns(self, happened: Happened, view: View, now: datetime) -> Iterable[Due]:
        """Jobs that have ended and say when they may go."""
        if happened.after is not None and goes_at(happened.after):
            yield Due(Key(*place_of(happened.after)))

    def sync(self, key: Key, view: View, now: datetime) -> Plan:
        """Deletes the Job, its dependents first, once it is time."""
        job = view.get(JOBS, key.namespace, key.name)
        due = goes_at(job) if job is not None else None
        if job is None or due is None:
            return None
        if due > now:
            return due - now
        taken((yield [_deletion(job)]))
        return None


def is_foreign(job: Object) -> bool:
    """Whether another controller looks after the Job."""
    return bool(job["spec"].get("managedBy", CONTROLLER) != CONTROLLER)


def goes_at(job: Object) -> datetime | None:
    """When a Job that has ended is to be deleted; None if it is not, or is deleted already."""
    seconds = job["spec"].get("ttlSecondsAfterFinished")
    ended = finished_at(job)
    if seconds is None or ended is None or is_deleted(job):
        return None
    return ended + timedelta(seconds=seconds)


def _deletion(job: Object) -> Delete:
    namespace, name = place_of(job)
    return Delete(
        kind=JOBS,
        namespace=namespace,
        name=name,
        uid=uid_of(job),
        version=job["metadata"]["resourceVersion"],
        propagation=Propagation.FOREGROUND,
    )


def _lone_pod(happened: Happened, view: View) -> Iterator[Due]:
    pod = happened.after
    if pod is None or not (is_deleted(pod) or controller_of(pod) is None):
        return
    if is_tracked(pod) and _is_orphan(pod, view):
        yield _orphan(pod)


def _is_orphan(pod: Object, view: View) -> bool:
    """Whether no Job will ever count the pod."""
    owner = controller_of(pod)
    if owner is None:
        return True
    if (owner["kind"], owner["apiVersion"]) != ("Job", "batch/v1"):
        return False
    job = owning_job(pod, JOBS, view)
    return job is None or (is_finished(job) and not is_foreign(job))


def _orphan(pod: Object) -> Due:
    return Due(Key(*place_of(pod), _ORPHAN))


def _sync_orphan(pod: Object | None, view: View) -> Plan:
    if pod is None or not is_tracked(pod) or not _is_orphan(pod, view):
        return None
    outcomes = yield [strip(pod)]
    if not all(map(is_written, outcomes)):
        taken(outcomes)
    return None
