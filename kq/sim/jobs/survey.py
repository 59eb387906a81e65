"""A Job's pods, counted."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kq.core.kinds import Object
from kq.sim.control.objects import (
    finalizers_of,
    is_active,
    is_ready,
    is_terminating,
    phase_of,
    status_of,
    uid_of,
)
from kq.sim.jobs.failures import Backoff, is_failed, verdict
from kq.sim.jobs.indexes import index_among, parse_indexes

TRACKING = "batch.kubernetes.io/job-tracking"
"""The finalizer that keeps a pod until its Job has counted it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What a Job's pods amount to at one moment."""

    job: Object
    pods: Sequence[Object]
    now: datetime
    active: Sequence[Object]
    ready: int
    terminating: int
    succeeded: int
    failed: int
    backoff: Backoff
    done_before: frozenset[int]
    """Indexes that the status says are completed."""
    done: frozenset[int]
    """These, and those of pods that have succeeded since."""


def survey_of(job: Object, pods: Sequence[Object], now: datetime, backoff: Backoff) -> Survey:
    """The counts of a Job with these pods, after what was known of failures so far."""
    status = status_of(job)
    uncounted = status.get("uncountedTerminatedPods") or {}
    told_succeeded = uncounted.get("succeeded") or ()
    told_failed = uncounted.get("failed") or ()
    succeeded = _untold(job, pods, told_succeeded, lambda pod: phase_of(pod) == "Succeeded")
    failed = _untold(job, pods, told_failed, lambda pod: is_failed(pod, job))
    active = [pod for pod in pods if is_active(pod)]
    before = completed_indexes(job)
    done = before | _indexes(job, succeeded)
    counted = status.get("succeeded", 0) + len(succeeded) + len(told_succeeded)
    return Survey(
        job=job,
        pods=pods,
        now=now,
        active=active,
        ready=sum(map(is_ready, active)),
        terminating=sum(map(is_terminating, pods)),
        succeeded=len(done) if is_indexed(job) else counted,
        failed=status.get("failed", 0)
        + sum(verdict(job, pod).counts for pod in failed)
        + len(told_failed),
        backoff=backoff.after(succeeded, failed),
        done_before=before,
        done=done,
    )


def is_indexed(job: Object) -> bool:
    """Whether each completion has a number."""
    return bool(job["spec"].get("completionMode") == "Indexed")


def is_suspended(job: Object) -> bool:
    """Whether the Job is to have no pods."""
    return bool(job["spec"].get("suspend"))


def is_tracked(pod: Object) -> bool:
    """Whether its Job has yet to count the pod."""
    return TRACKING in finalizers_of(pod)


def completed_indexes(job: Object) -> frozenset[int]:
    """The indexes that the status says are completed."""
    text = status_of(job).get("completedIndexes", "")
    return parse_indexes(text, _completions(job)) if text else frozenset()


def _untold(
    job: Object, pods: Iterable[Object], told: Sequence[Any], claim: Callable[[Object], bool]
) -> list[Object]:
    """The pods for which the claim holds, and which the Job has not taken note of."""
    return [
        pod
        for pod in pods
        if is_tracked(pod)
        and uid_of(pod) not in told
        and (not is_indexed(job) or index_among(pod, _completions(job)) is not None)
        and claim(pod)
    ]


def _indexes(job: Object, pods: Iterable[Object]) -> set[int]:
    found = {index_among(pod, _completions(job)) for pod in pods}
    return {index for index in found if index is not None}


def _completions(job: Object) -> int:
    return int(job["spec"].get("completions") or 0)
