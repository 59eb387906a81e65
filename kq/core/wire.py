"""What kq writes: a unit for a job, and patches of a unit's spec and status.

Patches name owned fields only; every one is sent with the resourceVersion it was decided on.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from kq.core import codec, keys
from kq.core.kinds import QUEUE_UNIT
from kq.core.messages import cut
from kq.core.model import Condition, Grant, JobView, Phase, PodSet, QueueUnit, Requeue
from kq.core.resources import ZERO, Resources

DEPLOYMENT_TOOLS = ("argocd.argoproj.io/", "helm.sh/", "applyset.kubernetes.io/")
DEPLOYMENT_LABELS = frozenset({"app.kubernetes.io/managed-by", "app.kubernetes.io/instance"})


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a unit's spec and metadata should say by its job."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    queue: str
    priority: int | None
    priority_class: str
    pod_sets: tuple[PodSet, ...]
    least: Resources = ZERO
    """What it asks for at least (spec 8.16)."""


def total_request(pod_sets: Sequence[PodSet], least: Resources = ZERO) -> Resources:
    """Σ count × request of one pod (spec 12.4), of each resource at least so much."""
    total = ZERO
    for each in pod_sets:
        total = total + each.template.request.times(each.count)
    return Resources.of(dict(total.maximum(least).items()))


def copied_labels(job: JobView) -> dict[str, str]:
    """The job's labels, but those by which deployment tools know their own objects (spec 2.7)."""
    return {
        key: value
        for key, value in job.labels.items()
        if key not in DEPLOYMENT_LABELS
        and not key.startswith(DEPLOYMENT_TOOLS)
        and not key.partition("/")[0].endswith(".toolkit.fluxcd.io")
    }


def copied_annotations(job: JobView) -> dict[str, str]:
    """The job's annotations in our domains, but those that only the manager writes."""
    return {key: text for key, text in job.annotations.items() if key not in keys.MANAGER_ONLY}


def new_unit(
    name: str, job: JobView, wanted: Wanted, active: bool, longest_seconds: int | None = None
) -> dict[str, Any]:
    """The unit of a job, as it is created; the API server drops a status."""
    total = total_request(wanted.pod_sets, wanted.least).to_wire()
    spec: dict[str, Any] = {
        "consumerRef": {
            "apiVersion": job.kind.api_version,
            "kind": job.kind.kind,
            "name": job.name,
            "namespace": job.namespace,
            "uid": job.uid,
        },
        "queue": wanted.queue,
        "resource": total,
        "request": total,
    }
    if wanted.pod_sets:
        spec["podSet"] = pod_sets_to_wire(wanted.pod_sets)
    if wanted.priority is not None:
        spec["priority"] = wanted.priority
    if wanted.priority_class:
        spec["priorityClassName"] = wanted.priority_class
    if not active:
        spec["active"] = False
    if longest_seconds is not None:
        spec["maximumExecutionTimeSeconds"] = longest_seconds
    return {
        "apiVersion": QUEUE_UNIT.api_version,
        "kind": QUEUE_UNIT.kind,
        "metadata": {
            "name": name,
            "namespace": job.namespace,
            "labels": dict(wanted.labels),
            "annotations": dict(wanted.annotations),
            "ownerReferences": [owner_reference(job)],
        },
        "spec": spec,
    }


def owner_reference(job: JobView) -> dict[str, Any]:
    """By which garbage collection removes the unit with its job (spec 2.7)."""
    return {
        "apiVersion": job.kind.api_version,
        "kind": job.kind.kind,
        "name": job.name,
        "uid": job.uid,
        "controller": False,
    }


def pod_sets_to_wire(pod_sets: Sequence[PodSet]) -> list[dict[str, Any]]:
    """The list of spec.podSet."""
    sets = []
    for each in pod_sets:
        entry: dict[str, Any] = {
            "name": each.name,
            "count": each.count,
            "template": msgspec.json.decode(each.template.wire),
        }
        if each.min_count is not None:
            entry["minCount"] = each.min_count
        sets.append(entry)
    return sets


def reclaimable_pods(pod_sets: Sequence[PodSet]) -> dict[str, Any]:
    """What a status patch says of pods that have ended for good (spec 2.2)."""
    ended = [
        {"name": each.name, "count": each.wanted - each.count}
        for each in pod_sets
        if each.wanted > each.count
    ]
    return {"reclaimablePods": ended or None}


def grants_for(pod_sets: Sequence[PodSet]) -> tuple[Grant, ...]:
    """All replicas of all pod sets."""
    return tuple(
        Grant(each.name, each.count, 0, each.template.request.times(each.count))
        for each in pod_sets
    )


def grants_to_wire(grants: Sequence[Grant]) -> list[dict[str, Any]]:
    """The list of status.admissions."""
    return [
        {
            "name": each.name,
            "replicas": each.replicas,
            "running": each.running,
            "resources": (each.resources or ZERO).to_wire(),
            **({"reclaimState": {"replicas": each.reclaim}} if each.reclaim else {}),
        }
        for each in grants
    ]


def status_patch(
    unit: QueueUnit,
    now: datetime,
    *,
    phase: Phase | None = None,
    message: str | None = None,
    conditions: Sequence[Condition] = (),
    grants: Sequence[Grant] | None = None,
    granted: bool = False,
    pods: tuple[int, int] | None = None,
    requeue: Requeue | None = None,
    past_seconds: int | None = None,
) -> dict[str, Any]:
    """A merge patch of the unit's status; what is None stays. `granted` counts an attempt.

    A back-off of no failures is none, and one is forgotten once the unit runs (spec 9.7).
    """
    merged = unit.conditions
    for each in conditions:
        merged = codec.with_condition(merged, each, now)
    status: dict[str, Any] = {"lastUpdateTime": codec.format_time(now)}
    if phase is not None:
        status["phase"] = phase.value
    if message is not None:
        status["message"] = cut(message)
    if merged != unit.conditions:
        status["conditions"] = codec.conditions_to_wire(merged)
    if grants is not None:
        status["admissions"] = grants_to_wire(grants)
    if granted:
        status["attempts"] = unit.attempts + 1
        status["lastAllocateTime"] = codec.format_time(now)
    if pods is not None:
        status["podState"] = {"running": pods[0], "pending": pods[1]}
    status |= _requeue_state(unit, Requeue() if phase is Phase.RUNNING else requeue)
    return {"status": status | _past(past_seconds)}


def _past(seconds: int | None) -> dict[str, Any]:
    """For how long it was admitted."""
    return {} if seconds is None else {"accumulatedPastExecutionTimeSeconds": seconds}


def _requeue_state(unit: QueueUnit, new: Requeue | None) -> dict[str, Any]:
    """What is to be written of its back-off; nothing where there is none and there was none."""
    if new is None or (new == Requeue() and unit.requeue is None):
        return {}
    if new == Requeue():
        return {"requeueState": None}
    at = None if new.at is None else codec.format_time(new.at)
    return {"requeueState": {"count": new.count, "requeueAt": at}}
