"""A RayJob's way, as its status tells it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Self

from kq.core.codec import format_time
from kq.core.kinds import Object
from kq.sim.cluster.plays import by_annotation
from kq.sim.control.objects import JOBS, holds, place_of, status_of, time_of, uid_of
from kq.sim.control.view import Known, Seen
from kq.sim.ray.parts import RAY_CLUSTERS, suffix
from kq.sim.ray.submitters import is_submitted_by_job

Status = Mapping[str, Any]


class Phase(StrEnum):
    """`jobDeploymentStatus`."""

    NEW = ""
    INITIALIZING = "Initializing"
    WAITING = "Waiting"
    RUNNING = "Running"
    SUSPENDING = "Suspending"
    SUSPENDED = "Suspended"
    RETRYING = "Retrying"
    COMPLETE = "Complete"
    FAILED = "Failed"
    INVALID = "ValidationFailed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A RayJob, and what there is of it."""

    job: Seen
    phase: Phase
    cluster: Seen | None
    submitter: Seen | None

    @classmethod
    def of(cls, job: Seen, children: Sequence[Known]) -> Self:
        """The cluster that the status names, and the Job that has the RayJob's own name."""
        status = status_of(job)
        names = {RAY_CLUSTERS: status.get("rayClusterName", ""), JOBS: place_of(job)[1]}
        found = {
            each.kind: each.obj for each in children if place_of(each.obj)[1] == names[each.kind]
        }
        return cls(
            job=job,
            phase=Phase(status.get("jobDeploymentStatus", "")),
            cluster=found.get(RAY_CLUSTERS),
            submitter=found.get(JOBS),
        )


def as_read(spec: Object) -> dict[str, Any]:
    """The spec as KubeRay writes it back: what is false is left out."""
    flags = ("suspend", "shutdownAfterJobFinishes")
    return {key: each for key, each in spec.items() if key not in flags or each}


def refused(job: Object, fault: str) -> Status:
    """A state that nothing leaves."""
    old = status_of(job)
    if old.get("jobDeploymentStatus") == Phase.INVALID:
        return old
    return {
        **{"failed": 0, "succeeded": 0, "rayJobInfo": {}},
        **old,
        "jobDeploymentStatus": Phase.INVALID.value,
        "reason": "ValidationFailed",
        "message": f"The RayJob spec is invalid: {fault}",
    }


def begun(job: Object, now: datetime) -> Status:
    """Names for what is to be made of it."""
    name, old = place_of(job)[1], status_of(job)
    seeds = uid_of(job), job["metadata"]["resourceVersion"]
    chosen = next(iter((job["spec"].get("clusterSelector") or {}).values()), "")
    is_interactive = job["spec"].get("submissionMode") == "InteractiveMode"
    given = job["spec"].get("jobId")
    drawn = "" if is_interactive else f"{name}-{suffix('job', *seeds)}"
    return {
        **{"failed": 0, "succeeded": 0, "rayJobInfo": {}},
        **old,
        **({"jobId": given or drawn} if given or drawn else {}),
        "rayClusterName": chosen or f"{name}-{suffix('cluster', *seeds)}",
        "jobDeploymentStatus": Phase.INITIALIZING.value,
        "startTime": format_time(now),
    }


def moved(job: Object, phase: Phase) -> Status:
    """Nothing but the next state."""
    rest = {key: each for key, each in status_of(job).items() if key != "jobDeploymentStatus"}
    return {**rest, **({"jobDeploymentStatus": phase.value} if phase else {})}


def beside(job: Object, cluster: Object) -> Status:
    """What its cluster says of itself, repeated."""
    return {**status_of(job), "rayClusterStatus": status_of(cluster)}


def submitted(job: Object, phase: Phase) -> Status:
    """The job is given to its cluster."""
    cluster = status_of(job)["rayClusterName"]
    url = f"{cluster}-head-svc.{place_of(job)[0]}.svc.cluster.local:8265"
    return {**moved(job, phase), "dashboardURL": url}


def stopped(job: Object, phase: Phase) -> Status:
    """Nothing is left of a run but what it was counted as."""
    kept = ("startTime", "failed", "succeeded")
    old = {key: each for key, each in status_of(job).items() if key in kept}
    empty: Status = {"rayJobInfo": {}, "rayClusterStatus": {"head": {}}}
    return {**old, **empty, **({"jobDeploymentStatus": phase.value} if phase else {})}


def running(progress: Progress, now: datetime) -> Status:
    """What the dashboard says, and the end when the submitter's Job has ended too."""
    job, cluster = progress.job, progress.cluster
    status = {**status_of(job), **({"rayClusterStatus": status_of(cluster)} if cluster else {})}
    if progress.phase is Phase.WAITING:
        return status
    said, is_over = _submission(progress, now)
    if not said:
        return status
    status |= {"jobStatus": said, "message": said.lower()}
    if not is_submitted_by_job(job) and said == "RUNNING":
        status["rayJobInfo"] = {"startTime": format_time(now), **status.get("rayJobInfo", {})}
    return ended(status, job, now) if is_over else status


def ended(status: Status, job: Object, now: datetime) -> Status:
    """The end, or another try."""
    if status["jobStatus"] == "SUCCEEDED":
        count, phase, more = "succeeded", Phase.COMPLETE, {}
    else:
        count, phase, more = "failed", Phase.FAILED, {"reason": "AppFailed"}
    counted = status.get(count, 0) + 1
    if phase is Phase.FAILED and counted <= (job["spec"].get("backoffLimit") or 0):
        return {**status, **more, count: counted, "jobDeploymentStatus": Phase.RETRYING.value}
    end = {"jobDeploymentStatus": phase.value, "endTime": format_time(now)}
    return {**status, **more, count: counted, **end}


def too_late(job: Object, now: datetime) -> Status | None:
    """The end of one that has had its time."""
    left = time_left(job, now)
    if left is None or left > timedelta(0):
        return None
    status = status_of(job)
    seconds = job["spec"]["activeDeadlineSeconds"]
    since = time_of(status["startTime"]).strftime("%Y-%m-%d %H:%M:%S +0000 UTC")
    passed = "The RayJob has passed the activeDeadlineSeconds."
    return {
        **status,
        "failed": status.get("failed", 0) + 1,
        "jobDeploymentStatus": Phase.FAILED.value,
        "reason": "DeadlineExceeded",
        "message": f"{passed} StartTime: {since}. ActiveDeadlineSeconds: {seconds}",
        "endTime": format_time(now),
    }


def time_left(job: Object, now: datetime) -> timedelta | None:
    """How long it may still take; None if for ever."""
    seconds, started = job["spec"].get("activeDeadlineSeconds"), status_of(job).get("startTime")
    if not seconds or not started:
        return None
    return time_of(started) + timedelta(seconds=seconds) - now


def _submission(progress: Progress, now: datetime) -> tuple[str, bool]:
    """What has become of the submission, and whether no more is to come of it."""
    if not is_submitted_by_job(progress.job):
        return _played(progress.job, now)
    if progress.submitter is None:
        return "", False
    status = status_of(progress.submitter)
    conditions = status.get("conditions")
    for word, goal, end in (
        ("SUCCEEDED", "SuccessCriteriaMet", "Complete"),
        ("FAILED", "FailureTarget", "Failed"),
    ):
        if holds(conditions, goal) or holds(conditions, end):
            return word, holds(conditions, end)
    return ("RUNNING", False) if status.get("ready") else ("", False)


def _played(job: Object, now: datetime) -> tuple[str, bool]:
    """The submission of a job that no pod plays: its own annotations say how it runs."""
    play = by_annotation(job)
    started = (status_of(job).get("rayJobInfo") or {}).get("startTime")
    if not started or play.run_for is None:
        return "RUNNING", False
    if now < time_of(started) + timedelta(seconds=play.run_for):
        return "RUNNING", False
    return ("FAILED" if play.fails else "SUCCEEDED"), True
