"""What the run policy of a training job limits: time, retries, and how long it is kept."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from kq.core.kinds import Object
from kq.sim.control.objects import is_active, phase_of, place_of, status_of, time_of
from kq.sim.kubeflow.replicas import Role, of_role, policy_of


def limit(
    job: Object,
    roles: Sequence[Role],
    status: Mapping[str, Any],
    pods: Sequence[Object],
    now: datetime,
) -> str:
    """Why the job fails by its run policy; empty if it does not.

    Asked when something happens: nothing wakes the operator when a deadline passes.
    """
    name = place_of(job)[1]
    if _is_past_retries(job, roles, status, pods):
        return f"Job {name} has failed because it has reached the specified backoff limit"
    longest, started = policy_of(job).get("activeDeadlineSeconds"), status.get("startTime")
    if longest is None or started is None:
        return ""
    if now - time_of(started) < timedelta(seconds=longest):
        return ""
    return f"Job {name} has failed because it was active longer than specified deadline"


def time_to_live(job: Object, status: Mapping[str, Any], now: datetime) -> timedelta | None:
    """How long a job that has ended is kept; None if for ever."""
    seconds, ended = policy_of(job).get("ttlSecondsAfterFinished"), status.get("completionTime")
    if seconds is None or ended is None:
        return None
    return time_of(ended) + timedelta(seconds=seconds) - now


def _is_past_retries(
    job: Object, roles: Sequence[Role], status: Mapping[str, Any], pods: Sequence[Object]
) -> bool:
    most = policy_of(job).get("backoffLimit")
    if most is None:
        return False
    counts = (status.get("replicaStatuses") or {}).values()
    failed = sum(phase_of(each) == "Failed" for each in pods)
    is_new = failed > sum(each.get("failed", 0) for each in counts)
    is_short = sum(map(is_active, pods)) != sum(each.replicas for each in roles)
    restarts = sum(
        _restarts(pod)
        for role in roles
        if role.restart_policy != "Never"
        for pod in of_role(pods, role)
        if phase_of(pod) == "Running"
    )
    return bool(is_new and is_short and most < 1) or restarts >= max(most, 1)


def _restarts(pod: Object) -> int:
    return sum(
        each.get("restartCount", 0)
        for field in ("initContainerStatuses", "containerStatuses")
        for each in status_of(pod).get(field) or ()
    )
