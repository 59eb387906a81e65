"""What a Job's status says: counts, pods that are counted in two steps, and the end."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kq.core.codec import format_time
from kq.core.kinds import Object
from kq.sim.control.objects import is_deleted, phase_of, status_of, uid_of, with_condition
from kq.sim.jobs.ending import End, Word
from kq.sim.jobs.failures import is_failed, verdict
from kq.sim.jobs.indexes import format_indexes, index_among
from kq.sim.jobs.survey import Survey, is_indexed, is_suspended, is_tracked

MOST_UNCOUNTED = 500
"""Pods that the status names at once."""

Status = Mapping[str, Any]

SUSPENDED = {
    "type": "Suspended",
    "status": "True",
    "reason": "JobSuspended",
    "message": "Job suspended",
}
RESUMED = {
    "type": "Suspended",
    "status": "False",
    "reason": "JobResumed",
    "message": "Job resumed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Active pods, those of them that are ready, and pods that are being ended."""

    active: int
    ready: int
    terminating: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """The status that names ended pods, and the pods that need not be kept then."""

    status: Status
    released: Sequence[Object]
    is_changed: bool
    is_full: bool


def started(job: Object, now: datetime) -> Object:
    """The Job with a start time, if it is not suspended."""
    if is_suspended(job) or status_of(job).get("startTime"):
        return job
    return {**job, "status": {**status_of(job), "startTime": format_time(now)}}


def suspension(job: Object, status: Status, now: datetime) -> Status | None:
    """The status that says whether the Job is suspended; None if it says so already.

    The start time goes with the suspension, and begins anew with the resumption.
    """
    wanted = SUSPENDED if is_suspended(job) else RESUMED
    conditions = with_condition(status.get("conditions"), wanted, now)
    if conditions is None:
        return None
    told = {**status, "conditions": conditions}
    if is_suspended(job):
        return without(told, "startTime")
    return {**told, "startTime": format_time(now)}


def counted(status: Status, counts: Counts) -> tuple[Status, bool]:
    """The status with these counts, and whether they differ from what it said."""
    changed = (
        status.get("active", 0) != counts.active
        or status.get("ready") != counts.ready
        or status.get("terminating") != counts.terminating
    )
    told = {**status, "ready": counts.ready, "terminating": counts.terminating}
    told["uncountedTerminatedPods"] = status.get("uncountedTerminatedPods") or {}
    return with_number(told, "active", counts.active), changed


def noted(survey: Survey, status: Status, end: End | None) -> Noted:
    """The first of two steps: ended pods are named before they are let go of.

    What was named already and is kept no longer is counted now.
    """
    kept = [pod for pod in survey.pods if is_tracked(pod)]
    settled = settle(status, {uid_of(pod) for pod in kept})
    status = settled or status
    succeeded, failed = uncounted(status, "succeeded"), uncounted(status, "failed")
    indexes = set(survey.done_before)
    released: list[Object] = []
    for pod in kept:
        if _may_go(survey.job, pod, end):
            released.append(pod)
            _note(survey, pod, end, (succeeded, failed, indexes))
            if len(succeeded) + len(failed) + len(indexes - survey.done_before) >= MOST_UNCOUNTED:
                break
    told = _named(status, succeeded, failed)
    if is_indexed(survey.job):
        told = _indexed(told, indexes)
    return Noted(
        status=told,
        released=released,
        is_changed=settled is not None or told != status,
        is_full=len(released) >= MOST_UNCOUNTED,
    )


def announced(status: Status, end: End, now: datetime) -> Status | None:
    """The status that says that the Job is about to end; None if it says so already."""
    if end.type not in (Word.CRITERIA_MET, Word.FAILURE_TARGET):
        return None
    conditions = with_condition(status.get("conditions"), end.condition, now)
    return None if conditions is None else {**status, "conditions": conditions}


def settle(status: Status, kept: Collection[str]) -> Status | None:
    """The second step: pods that were named and are kept no longer are counted; None if none is."""
    told = status
    for field in ("succeeded", "failed"):
        named = uncounted(told, field)
        left = [uid for uid in named if uid in kept]
        if len(left) < len(named):
            other = "failed" if field == "succeeded" else "succeeded"
            lists = {field: left, other: uncounted(told, other)}
            told = _named(told, lists["succeeded"], lists["failed"])
            told = with_number(told, field, told.get(field, 0) + len(named) - len(left))
    return None if told is status else told


def ended(status: Status, end: End, now: datetime) -> Status | None:
    """The status of a Job that has ended; None while pods are uncounted or being ended."""
    if status.get("terminating") or any(map(len, (status["uncountedTerminatedPods"]).values())):
        return None
    conditions = with_condition(status.get("conditions"), end.final.condition, now)
    told = {**status, "conditions": conditions or status.get("conditions")}
    if end.final.type is Word.COMPLETE:
        told["completionTime"] = format_time(now)
    return told


def uncounted(status: Status, field: str) -> list[str]:
    """The UIDs of pods that are named and not yet counted."""
    return list((status.get("uncountedTerminatedPods") or {}).get(field) or ())


def without(status: Status, field: str) -> Status:
    """The status without that field."""
    return {key: value for key, value in status.items() if key != field}


def with_number(status: Status, field: str, number: int) -> Status:
    """The status with a count, which is not told where it is 0."""
    return {**status, field: number} if number else without(status, field)


def _may_go(job: Object, pod: Object, end: End | None) -> bool:
    if is_deleted(job) or end is not None or phase_of(pod) == "Succeeded":
        return True
    return is_failed(pod, job)


def _note(
    survey: Survey,
    pod: Object,
    end: End | None,
    lists: tuple[list[str], list[str], set[int]],
) -> None:
    succeeded, failed, indexes = lists
    job, uid = survey.job, uid_of(pod)
    index = index_among(pod, job["spec"].get("completions") or 0)
    if phase_of(pod) == "Succeeded" and uid not in failed:
        if not is_indexed(job):
            succeeded += [uid] if uid not in succeeded else []
        elif index is not None:
            indexes.add(index)
        return
    fails = end is not None and end.final.type is Word.FAILED
    if not is_failed(pod, job) and not fails:
        return
    if uid not in failed and (index is not None or not is_indexed(job)):
        failed += [uid] if verdict(job, pod).counts else []


def _named(status: Status, succeeded: Sequence[str], failed: Sequence[str]) -> Status:
    lists = {"succeeded": list(succeeded), "failed": list(failed)}
    told = {field: uids for field, uids in lists.items() if uids}
    return {**status, "uncountedTerminatedPods": told}


def _indexed(status: Status, indexes: Collection[int]) -> Status:
    told = with_number(status, "succeeded", len(indexes))
    text = format_indexes(indexes)
    return {**told, "completedIndexes": text} if text else without(told, "completedIndexes")
