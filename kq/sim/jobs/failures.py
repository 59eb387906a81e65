"""What a pod's failure means to its Job: how long to wait for the next, and what policies say."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from kq.core.kinds import Object
from kq.sim.control.objects import (
    condition,
    is_deleted,
    phase_of,
    place_of,
    status_of,
    time_of,
)

FIRST_WAIT = timedelta(seconds=10)
LONGEST_WAIT = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Backoff:
    """How many pods failed since one succeeded, and when the last did."""

    failures: int = 0
    last: datetime | None = None

    def after(self, succeeded: Sequence[Object], failed: Sequence[Object]) -> "Backoff":
        """The same with pods that are newly seen to have ended."""
        times = sorted(finished_at(pod) for pod in failed)
        if not succeeded:
            return Backoff(self.failures + len(times), times[-1]) if times else self
        success = max(finished_at(pod) for pod in succeeded)
        later = [each for each in times if each > success]
        return Backoff(len(later), later[-1] if later else None)

    def remaining(self, now: datetime) -> timedelta:
        """How long no pod is to be made."""
        if not self.failures or self.last is None:
            return timedelta(0)
        doublings: int = 2 ** min(self.failures - 1, 10)
        wait = min(FIRST_WAIT * doublings, LONGEST_WAIT)
        return max(timedelta(0), wait - (now - self.last))


class Action(StrEnum):
    """What a rule of a pod failure policy says to do."""

    IGNORE = "Ignore"
    COUNT = "Count"
    FAIL_JOB = "FailJob"
    FAIL_INDEX = "FailIndex"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the pod failure policy says of a pod that failed."""

    counts: bool = True
    message: str = ""
    """Why the whole Job fails; empty if it does not."""


def finished_at(pod: Object) -> datetime:
    """When a pod ended, as far as it says so."""
    states = [each.get("state", {}) for each in status_of(pod).get("containerStatuses") or ()]
    ends = [state.get("terminated", {}).get("finishedAt") for state in states]
    if ends and all(ends):
        return max(time_of(each) for each in ends)
    ready = condition(status_of(pod).get("conditions"), "Ready")
    if ready is not None and ready["status"] == "False" and ready.get("lastTransitionTime"):
        return time_of(ready["lastTransitionTime"])
    meta = pod["metadata"]
    if is_deleted(pod):
        grace = timedelta(seconds=meta.get("deletionGracePeriodSeconds") or 0)
        return time_of(meta["deletionTimestamp"]) - grace
    return time_of(meta.get("creationTimestamp"))


def replaces_failed_only(job: Object) -> bool:
    """Whether a pod is replaced only once it has ended, not when its deletion begins."""
    spec = job["spec"]
    return spec.get("podReplacementPolicy") == "Failed" or bool(spec.get("podFailurePolicy"))


def is_failed(pod: Object, job: Object) -> bool:
    """Whether a Job counts the pod as failed."""
    if phase_of(pod) == "Failed":
        return True
    if replaces_failed_only(job):
        return False
    return is_deleted(pod) and phase_of(pod) != "Succeeded"


def is_over_restarts(job: Object, pods: Iterable[Object]) -> bool:
    """Whether containers that restart in place did so too often."""
    if job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(
        each.get("restartCount", 0)
        for pod in pods
        if phase_of(pod) in ("Running", "Pending")
        for field in ("initContainerStatuses", "containerStatuses")
        for each in status_of(pod).get(field) or ()
    )
    limit = job["spec"]["backoffLimit"]
    return bool(restarts >= limit if limit else restarts)


def job_failure(job: Object, pods: Iterable[Object]) -> str:
    """Why the pod failure policy fails the Job; empty if it does not."""
    if not job["spec"].get("podFailurePolicy"):
        return ""
    messages = (verdict(job, pod).message for pod in pods if is_failed(pod, job))
    return next((message for message in messages if message), "")


def verdict(job: Object, pod: Object) -> Verdict:
    """What the Job's pod failure policy says of a pod; without one every failure counts."""
    rules = (job["spec"].get("podFailurePolicy") or {}).get("rules") or ()
    for number, rule in enumerate(rules):
        found = _match(rule, pod)
        if not found:
            continue
        match rule["action"]:
            case Action.IGNORE:
                return Verdict(counts=False)
            case Action.FAIL_JOB:
                return Verdict(message=f"{found} matching FailJob rule at index {number}")
            case Action.COUNT | Action.FAIL_INDEX:
                return Verdict()
    return Verdict()


def _match(rule: Object, pod: Object) -> str:
    """How a pod matches a rule, as the message says it; empty if it does not."""
    where = "/".join(place_of(pod))
    if codes := rule.get("onExitCodes"):
        ended = _container(pod, codes)
        if ended is None:
            return ""
        code = ended["state"]["terminated"]["exitCode"]
        return f"Container {ended['name']} for pod {where} failed with exit code {code}"
    wanted = {(each["type"], each["status"]) for each in rule.get("onPodConditions") or ()}
    for each in status_of(pod).get("conditions") or ():
        if (each["type"], each["status"]) in wanted:
            return f"Pod {where} has condition {each['type']}"
    return ""


def _container(pod: Object, codes: Object) -> Any:
    for field in ("containerStatuses", "initContainerStatuses"):
        for each in status_of(pod).get(field) or ():
            code = (each.get("state", {}).get("terminated") or {}).get("exitCode", 0)
            named = codes.get("containerName") in (None, each["name"])
            if code and named and (code in codes["values"]) == (codes["operator"] == "In"):
                return each
    return None
