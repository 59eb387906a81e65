"""Which pods a Job lacks, and which are too many."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any

from kq.core.kinds import Object
from kq.sim.control.objects import (
    condition,
    controller_reference,
    is_ready,
    is_terminating,
    node_of,
    phase_of,
    status_of,
)
from kq.sim.jobs.failures import replaces_failed_only
from kq.sim.jobs.indexes import COMPLETION_INDEX, first_pending, index_among, index_of
from kq.sim.jobs.survey import TRACKING, Survey, is_indexed, is_suspended

MOST_AT_ONCE = 500
"""Pods that are made or deleted in one look at a Job."""

LONGEST_PREFIX = 58
"""Letters of a generated name that come before the random ones."""

_INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The pods to make, or those to delete, or how long to wait before any is made."""

    made: Sequence[dict[str, Any]] = ()
    deleted: Sequence[Object] = ()
    wait: timedelta | None = None


def change_of(survey: Survey) -> Change:
    """What is to be done about the pods of a Job that goes on."""
    active = len(survey.active)
    if is_suspended(survey.job):
        return Change(deleted=_for_removal(survey, active))
    wanted = _wanted(survey)
    surplus = _for_removal(survey, max(0, active - wanted))
    if surplus:
        return Change(deleted=surplus[:MOST_AT_ONCE])
    held = survey.terminating if replaces_failed_only(survey.job) else 0
    lacking = wanted - held - active
    if lacking <= 0:
        return Change()
    wait = survey.backoff.remaining(survey.now)
    if wait > timedelta(0):
        return Change(wait=wait)
    return Change(made=_made(survey, min(lacking, MOST_AT_ONCE)))


def _wanted(survey: Survey) -> int:
    parallelism: int = survey.job["spec"]["parallelism"]
    completions: int | None = survey.job["spec"].get("completions")
    if completions is None:
        return len(survey.active) if survey.succeeded else parallelism
    return max(0, min(completions - survey.succeeded, parallelism))


def _for_removal(survey: Survey, least: int) -> list[Object]:
    """At least so many of the active pods, the least advanced first; beyond that doubles."""
    doubles: list[Object] = []
    left = list(survey.active)
    if is_indexed(survey.job):
        doubles, left = _doubles(left, survey.job["spec"]["completions"])
    lacking = least - len(doubles)
    return [*doubles, *sorted(left, key=_advance)[:lacking]] if lacking > 0 else doubles


def _doubles(pods: Iterable[Object], completions: int) -> tuple[list[Object], list[Object]]:
    """Pods without an index of their own, and the others."""
    surplus: list[Object] = []
    kept: dict[int, Object] = {}
    for pod in sorted(pods, key=_advance, reverse=True):
        index = index_among(pod, completions)
        if index is None or index in kept:
            surplus.append(pod)
        else:
            kept[index] = pod
    return surplus, list(kept.values())


def _advance(pod: Object) -> tuple[bool, int, bool, tuple[int, ...], tuple[int, ...]]:
    """How far a pod has come: bound, phase, ready, and of two alike the older is further."""
    ready = condition(status_of(pod).get("conditions"), "Ready") or {}
    since = ready.get("lastTransitionTime", "") if is_ready(pod) else ""
    made = pod["metadata"].get("creationTimestamp", "")
    return (
        bool(node_of(pod)),
        _PHASES.get(phase_of(pod), 0),
        is_ready(pod),
        _older_first(since),
        _older_first(made),
    )


def _older_first(text: str) -> tuple[int, ...]:
    return tuple(-ord(letter) for letter in text)


def _made(survey: Survey, count: int) -> list[dict[str, Any]]:
    job = survey.job
    if not is_indexed(job):
        return [_pod(job, f"{job['metadata']['name'][: LONGEST_PREFIX - 1]}-")] * count
    held = survey.active
    if replaces_failed_only(job):
        held = [*held, *(pod for pod in survey.pods if is_terminating(pod))]
    taken: set[int | None] = {*survey.done, *(index_of(pod) for pod in held)}
    pending = first_pending(taken, job["spec"]["completions"], count)
    return [_indexed_pod(job, index) for index in pending]


def _pod(job: Object, prefix: str) -> dict[str, Any]:
    template = job["spec"]["template"]
    meta = template.get("metadata") or {}
    finalizers = [each for each in meta.get("finalizers") or () if each != TRACKING]
    kept = {key: dict(meta[key]) for key in ("labels", "annotations") if meta.get(key)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": prefix,
            **kept,
            "ownerReferences": [controller_reference(job)],
            "finalizers": [*finalizers, TRACKING],
        },
        "spec": template["spec"],
    }


def _indexed_pod(job: Object, index: int) -> dict[str, Any]:
    name, end = job["metadata"]["name"], f"-{index}-"
    pod = _pod(job, name[: LONGEST_PREFIX - len(end)] + end)
    meta, spec = pod["metadata"], pod["spec"]
    for field in ("labels", "annotations"):
        meta[field] = {**meta.get(field, {}), COMPLETION_INDEX: str(index)}
    containers = {
        field: [_with_variable(each) for each in spec[field]]
        for field in ("initContainers", "containers")
        if spec.get(field)
    }
    pod["spec"] = {**spec, **containers, "hostname": f"{name}-{index}"}
    return pod


def _with_variable(container: Mapping[str, Any]) -> Mapping[str, Any]:
    variables = container.get("env") or ()
    if any(each["name"] == _INDEX_VARIABLE for each in variables):
        return container
    return {**container, "env": [*variables, _variable()]}


@lru_cache(1)
def _variable() -> Mapping[str, Any]:
    path = f"metadata.labels['{COMPLETION_INDEX}']"
    return {"name": _INDEX_VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": path}}}
