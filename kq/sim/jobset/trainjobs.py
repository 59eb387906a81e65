"""Trainer: TrainJob, which becomes a JobSet of its name. As of 2.2."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from kq.core.kinds import Object
from kq.sim.api.status import ApiStatus
from kq.sim.cluster.operators import owning_job
from kq.sim.control.controller import Due, Key, Pace
from kq.sim.control.objects import condition, holds, is_deleted, place_of, status_of, time_of
from kq.sim.control.view import Happened, Seen, View
from kq.sim.control.writes import Create, Delete, Outcome, Patch, Plan, Replace, Write, taken
from kq.sim.jobset.childjobs import is_suspended
from kq.sim.jobset.jobsets import JOB_SETS
from kq.sim.jobset.runtimes import jobset_of
from kq.sim.kubeflow.conditions import Said, by_type
from kq.sim.kubeflow.replicas import spec_of
from kq.sim.kubeflow.training import BATCH
from kq.sim.patch.merge import merge

TRAIN_JOBS = "trainjobs.trainer.kubeflow.org"
RUNTIMES: Mapping[str, str] = {
    "TrainingRuntime": "trainingruntimes.trainer.kubeflow.org",
    "ClusterTrainingRuntime": "clustertrainingruntimes.trainer.kubeflow.org",
}
MANAGER = "trainer.kubeflow.org/trainjob-controller"

SUSPENDED = Said(type="Suspended", reason="Suspended", message="TrainJob is suspended")
RESUMED = Said(type="Suspended", status="False", reason="Resumed", message="TrainJob is resumed")
TOO_LONG = Said(
    type="Failed", reason="DeadlineExceeded", message="TrainJob exceeded its active deadline"
)

Status = dict[str, Any]
_Applied: TypeAlias = Generator[Sequence[Write], Sequence[Outcome], Seen | None]


class TrainJobController:
    """Looks at a TrainJob when it or its JobSet changes."""

    name = "trainer-controller"
    pace = Pace(first=1.0, longest=60.0)
    kinds: tuple[str, ...] = (TRAIN_JOBS, JOB_SETS)

    def concerns(self, happened: Happened, view: View, now: datetime) -> Iterable[Due]:
        """A job at once, its JobSet after a while."""
        if happened.kind == TRAIN_JOBS:
            return [Due(Key(*place_of(happened.newest)))]
        job = owning_job(happened.newest, TRAIN_JOBS, view)
        return [Due(Key(*place_of(job)), BATCH)] if job is not None else []

    def sync(self, key: Key, view: View, now: datetime) -> Plan:
        """One look at a job, in the order of the real operator."""
        job = view.get(TRAIN_JOBS, key.namespace, key.name)
        if job is None or is_deleted(job):
            return None
        if spec_of(job).get("managedBy", MANAGER) != MANAGER:
            return None
        jobset = view.get(JOB_SETS, key.namespace, key.name)
        runtime = _runtime(job, view)
        status: Status = dict(status_of(job))
        if not _is_over(status):
            jobset = yield from _applied(job, jobset, runtime)
        _tell_suspension(job, status, now)
        _tell(status, jobset, now)
        left = _time_left(job, status, now)
        if left is not None and left <= timedelta(0):
            _say(status, TOO_LONG, now)
            namespace, name = place_of(job)
            yield [Delete(kind=JOB_SETS, namespace=namespace, name=name)]
            left = None
        if status != status_of(job):
            body = {**job, "status": status}
            taken((yield [Replace(kind=TRAIN_JOBS, body=body, subresource="status")]))
        if runtime is None and jobset is None:
            raise ApiStatus(404, "NotFound", "there is no such runtime")
        return left


def _runtime(job: Seen, view: View) -> Seen | None:
    """The runtime that a job names."""
    ref = spec_of(job).get("runtimeRef") or {}
    kind = ref.get("kind", "ClusterTrainingRuntime")
    namespace = place_of(job)[0] if kind == "TrainingRuntime" else ""
    return view.get(RUNTIMES.get(kind, ""), namespace, ref.get("name", ""))


def _applied(job: Seen, jobset: Seen | None, runtime: Seen | None) -> _Applied:
    """The JobSet, made as the job wants it; while both run, nobody touches it."""
    if runtime is None:
        return jobset
    wanted = jobset_of(job, runtime)
    namespace, name = place_of(job)
    if jobset is None:
        [made] = taken((yield [Create(kind=JOB_SETS, namespace=namespace, body=wanted)]))
        return made
    runs = not (is_suspended(jobset) or is_suspended(job))
    body = {"spec": wanted["spec"]}
    if not runs and merge(jobset, body) != jobset:
        taken((yield [Patch(kind=JOB_SETS, namespace=namespace, name=name, body=body)]))
    return jobset


def _tell_suspension(job: Seen, status: Status, now: datetime) -> None:
    if is_suspended(job):
        _say(status, SUSPENDED, now)
    elif holds(status.get("conditions"), "Suspended"):
        _say(status, RESUMED, now)


def _tell(status: Status, jobset: Object | None, now: datetime) -> None:
    """What its JobSet says: the end, under a name of its own, and the counts."""
    if jobset is None:
        return
    conditions = status_of(jobset).get("conditions")
    for theirs, ours in (("Completed", "Complete"), ("Failed", "Failed")):
        end = condition(conditions, theirs)
        if end is not None and end["status"] == "True":
            said = Said(type=ours, reason=end["reason"], message=end["message"])
            _say(status, said, time_of(end["lastTransitionTime"]))
    if counts := status_of(jobset).get("replicatedJobsStatus"):
        status["jobsStatus"] = counts


def _time_left(job: Seen, status: Status, now: datetime) -> timedelta | None:
    """How long it may yet run; None if for ever, or if it does not."""
    seconds = spec_of(job).get("activeDeadlineSeconds")
    if not seconds or _is_over(status) or is_suspended(job):
        return None
    resumed = condition(status.get("conditions"), "Suspended") or {}
    began = resumed.get("lastTransitionTime") or job["metadata"]["creationTimestamp"]
    return time_of(began) + timedelta(seconds=seconds) - now


def _is_over(status: Status) -> bool:
    conditions = status.get("conditions")
    return holds(conditions, "Complete") or holds(conditions, "Failed")


def _say(status: Status, said: Said, now: datetime) -> None:
    status["conditions"] = by_type(status.get("conditions") or (), said, now)
