"""batch/v1 Job (spec 8.2, 8.3, 8.6)."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kq.core import codec
from kq.core.kinds import JOB, Object
from kq.core.model import Grant, JobState, JobView, PodSet, Template
from kq.core.patch import Patch
from kq.jobs.options import JobOptions
from kq.jobs.roles import POD_SPEC, no_maps

POD_SET_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
OWN_CONTROLLER = "kubernetes.io/job-controller"
MOST = {"parallelism": 1_000_000, "completions": 2**31 - 1}
"""Completions cost nothing, as at most parallelism pods run at once, and cannot be corrected."""
MAX_INDEXES = 64 * 1024
LABELLED = ("spec", "template", "metadata")
HOLD = Patch({"spec": {"suspend": True}})


class BatchJob:
    """Jobs of the cluster's own controller."""

    kinds = (JOB,)

    def __init__(self, options: JobOptions) -> None:
        """Nothing of the options concerns it."""

    def view(self, job: Object, *, templates: bool = True) -> JobView:
        """The Job as decisions see it; without templates its pod set has an empty one."""
        meta, spec, status = (codec.mapping(job, part) for part in ("metadata", "spec", "status"))
        template = codec.template_of(codec.mapping(spec, "template") if templates else {})
        pod_set, defect = _pod_set(meta.get("name") or "", spec, status, template)
        defect = no_maps(spec, "spec", *POD_SPEC) or defect
        active = _count(status, "active")
        return JobView(
            **codec.job_metadata(meta),
            kind=JOB,
            suspended=spec.get("suspend") is True,
            managed_by_other=(spec.get("managedBy") or OWN_CONTROLLER) != OWN_CONTROLLER,
            state=_state(status),
            counts_pods=True,
            pods_active=active,
            pods_terminating=_count(status, "terminating"),
            has_run=bool(
                status.get("startTime")
                or active
                or _count(status, "succeeded")
                or _count(status, "failed")
            ),
            started=codec.parse_time(status.get("startTime")),
            released_at=codec.released_at(meta.get("annotations")),
            pod_sets=(pod_set,),
            defect=defect,
        )

    def hold(self, job: Object) -> Patch:
        """`spec.suspend: true`."""
        return HOLD

    def suspend(self, job: Object) -> Patch:
        """`spec.suspend: true`."""
        return HOLD

    def resume(self, job: Object, grants: Sequence[Grant], now: datetime) -> Patch:
        """`spec.suspend: false`."""
        return Patch({"spec": {"suspend": False}})


def _pod_set(
    job: str, spec: Mapping[str, Any], status: Mapping[str, Any], template: Template
) -> tuple[PodSet, str | None]:
    """Its one pod set (spec 2.10, 8.2), and what is wrong with its counts in the words of M16."""
    wanted, count, defect = _counts(spec, status)
    name = job if len(job) <= 63 and POD_SET_NAME.fullmatch(job) else "main"
    return (
        PodSet(name=name, count=count, wanted=wanted, template=template, path=LABELLED),
        defect or template.defect,
    )


def _counts(spec: Mapping[str, Any], status: Mapping[str, Any]) -> tuple[int, int, str | None]:
    """Pods by the spec alone; pods still to run; what is wrong."""
    for field, most in MOST.items():
        value = spec.get(field)
        if value is not None and not _is_count(value, most):
            return 0, 0, f"spec.{field} is {value!r}, not a number from 0 to {most}"
    parallelism = 1 if spec.get("parallelism") is None else int(spec["parallelism"])
    if spec.get("completions") is None:
        return parallelism, parallelism, None
    completions = int(spec["completions"])
    left = completions - _count(status, "succeeded") - _indexes(status.get("failedIndexes"))
    return min(parallelism, completions), max(0, min(parallelism, left)), None


def _indexes(text: object) -> int:
    """How many indexes `1,3-5` names; unreadable ones count as none (spec 8.2)."""
    if not isinstance(text, str) or not text or len(text) > MAX_INDEXES:
        return 0
    total = 0
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,10})(?:-(\d{1,10}))?", part, re.ASCII)
        if match is None:
            return 0
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            return 0
        total += last - first + 1
    return total


def _state(status: Mapping[str, Any]) -> JobState:
    """Complete and Failed by condition; Running once a pod of it is ready or seen running.

    Whether a pod runs is the pods' word (spec 8.6); the reconciler adds it from what it sees.
    """
    for condition in codec.listed(status, "conditions"):
        if not isinstance(condition, Mapping) or condition.get("status") != "True":
            continue
        if condition.get("type") == "Complete":
            return JobState.SUCCEEDED
        if condition.get("type") == "Failed":
            return JobState.FAILED
    return JobState.PENDING


def _is_count(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _count(status: Mapping[str, Any], key: str) -> int:
    value = status.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
