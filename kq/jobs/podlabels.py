"""The quota label of pods, put where a job's pods get their labels from when it is let go (6.6)."""

from collections.abc import Mapping
from typing import Any

from kq.core import codec, keys
from kq.core.kinds import Object
from kq.core.model import JobView
from kq.core.patch import Patch
from kq.jobs.podupdates import difference, edited_at

MANAGER = "koord-queue/manager"
"""Whose entry among the patches of a runtime is ours."""


def label_patch(job: JobView, whole: Object, label: str) -> Patch | None:
    """The patch after which all its pods will bear that label; None if it is so already."""
    wanted = _patched_runtime(job, whole, label) if job.pods_of else _labelled(job, whole, label)
    changed = difference(codec.mapping(whole, "spec"), codec.mapping(wanted, "spec"))
    return Patch({"spec": changed}) if changed else None


def is_still_active(job: JobView, whole: Object) -> bool:
    """Whether Trainer would refuse the patch, as its JobSet has not said that it has stopped."""
    listed = codec.listed(codec.mapping(whole, "status"), "jobsStatus") if job.pods_of else []
    return any(isinstance(each, Mapping) and each.get("active") for each in listed)


def _labelled(job: JobView, whole: Object, label: str) -> Object:
    """The job with the label in its own pod templates."""

    def add(labels: Any) -> dict[str, Any]:
        there = labels if isinstance(labels, Mapping) else {}
        return {**there, keys.QUOTA_LABEL: label}

    for each in job.pod_sets:
        if each.path:
            whole = edited_at(whole, (*each.path, "labels"), add)
    return whole


def _patched_runtime(job: JobView, whole: Object, label: str) -> Object:
    """The TrainJob with a patch of its runtime that labels the pods of each replicated job.

    Trainer takes such patches from 2.2 on; older ones do not keep the field.
    """
    template = {"spec": {"template": {"metadata": {"labels": {keys.QUOTA_LABEL: label}}}}}
    jobs = [{"name": each.name, "template": template} for each in job.pod_sets]
    ours = {
        "manager": MANAGER,
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}},
    }
    spec = codec.mapping(whole, "spec")
    there = codec.listed(spec, "runtimePatches")
    if any(_without_time(each) == ours for each in there):
        return whole
    others = [each for each in there if _manager(each) != MANAGER]
    return {**whole, "spec": {**spec, "runtimePatches": [*others, ours]}}


def _manager(patch: object) -> object:
    return patch.get("manager") if isinstance(patch, Mapping) else None


def _without_time(patch: object) -> object:
    """As it was written: Trainer adds when that was."""
    if not isinstance(patch, Mapping):
        return patch
    return {key: value for key, value in patch.items() if key != "time"}
