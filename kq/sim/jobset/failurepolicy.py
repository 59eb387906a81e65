"""What becomes of a JobSet of which Jobs failed."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kq.core.kinds import Object
from kq.sim.control.objects import condition, place_of, status_of
from kq.sim.jobset.childjobs import REPLICATED_JOB
from kq.sim.kubeflow.conditions import Said, by_jobset
from kq.sim.kubeflow.replicas import spec_of

NO_POLICY = "FailedJobs", "jobset failed due to one or more job failures"
TOO_OFTEN = "ReachedMaxRestarts", "jobset failed due to reaching max number of restarts"
BY_RULE = "FailJobSetFailurePolicyAction", "applying FailJobSet failure policy action"


def judged(
    jobset: Object, failed: Sequence[Object], status: Mapping[str, Any], now: datetime
) -> dict[str, Any]:
    """What its status says then: that it failed, or that it starts again."""
    policy = spec_of(jobset).get("failurePolicy")
    if policy is None:
        return _ended(status, NO_POLICY, _first(failed), now)
    action, job = "RestartJobSet", _first(failed)
    for rule in policy.get("rules") or ():
        if matching := [each for each in failed if _applies(rule, each)]:
            action, job = rule["action"], _first(matching)
            break
    counted = status.get("restartsCountTowardsMax", 0)
    again = {"restarts": status.get("restarts", 0) + 1}
    match action:
        case "FailJobSet":
            return _ended(status, BY_RULE, job, now)
        case "RestartJobSetAndIgnoreMaxRestarts":
            return again
        case _ if counted >= policy.get("maxRestarts", 0):
            return _ended(status, TOO_OFTEN, job, now)
        case _:
            return {**again, "restartsCountTowardsMax": counted + 1}


def _ended(
    status: Mapping[str, Any], why: tuple[str, str], job: Object, now: datetime
) -> dict[str, Any]:
    reason, text = why
    message = f"{text} (first failed job: {place_of(job)[1]})"
    said = Said(type="Failed", reason=reason, message=message)
    conditions = by_jobset(status.get("conditions") or (), said, now)
    return {"conditions": conditions, "terminalState": said.type}


def _failure(job: Object) -> Mapping[str, Any]:
    return condition(status_of(job).get("conditions"), "Failed") or {}


def _first(failed: Sequence[Object]) -> Object:
    return min(failed, key=lambda job: str(_failure(job).get("lastTransitionTime", "")))


def _applies(rule: Object, job: Object) -> bool:
    failure = _failure(job)
    reasons = rule.get("onJobFailureReasons")
    patterns = rule.get("onJobFailureMessagePatterns")
    targets = rule.get("targetReplicatedJobs")
    name = (job["metadata"].get("labels") or {}).get(REPLICATED_JOB)
    message = failure.get("message", "")
    return (
        (not reasons or failure.get("reason") in reasons)
        and (not patterns or any(re.search(each, message) for each in patterns))
        and (not targets or name in targets)
    )
