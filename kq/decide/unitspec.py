"""What a unit should say by its job, and the patch that makes it say so (spec 2.7, 2.8, 12.10)."""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from kq.core import codec, keys, wire
from kq.core.minresources import least_of
from kq.core.model import JobView, QueueUnit
from kq.core.wire import Wanted
from kq.decide.held import held_pod_sets
from kq.decide.situation import Situation
from kq.decide.standing import names_queue

MAX_NAME = 253
SUFFIXES = {
    "TFJob": "-tf-qu",
    "PyTorchJob": "-py-qu",
    "MPIJob": "-mpi-qu",
    "XGBoostJob": "-xgb-qu",
    "PaddleJob": "-paddle-qu",
    "SparkApplication": "-spark-qu",
    "RayJob": "-ray-qu",
    "RayCluster": "-raycluster-qu",
    "JobSet": "-jobset-qu",
    "TrainJob": "-train-qu",
}
"""What the names of units have after those of their jobs, by kind (spec 8.1)."""


def suffix_of(job: JobView) -> str:
    """What the name of the unit has after the job's (spec 8.1)."""
    return SUFFIXES.get(job.kind.kind, "")


def unit_name(job: JobView, suffix: str = "") -> str:
    """The name of a job's unit (spec 2.5)."""
    name = job.name + suffix
    return name if len(name) <= MAX_NAME else f"{name[:244]}-{_digest(job)}"


def other_unit_name(job: JobView, suffix: str = "") -> str:
    """The name where the first belongs to a unit of another consumer (spec 2.5)."""
    return f"{(job.name + suffix)[:244]}-{_digest(job)}"


def _digest(job: JobView) -> str:
    return hashlib.sha256(job.uid.encode()).hexdigest()[:8]


def wanted(now: Situation) -> Wanted:
    """What the unit should say."""
    job = now.job
    labels = wire.copied_labels(job)
    annotations = wire.copied_annotations(job)
    annotations[keys.JOB_CREATION] = codec.format_time(job.created)
    value = now.priority.value
    annotations[keys.DERIVED_PRIORITY] = "" if value is None else str(value)
    defect = _defect(now)
    if defect is not None:
        annotations[keys.DEFECT] = defect
    if now.quota_label:
        labels[keys.QUOTA_LABEL] = now.quota_label
    elif now.quota:
        annotations[keys.UNIT_QUOTA] = now.quota
    return Wanted(
        labels=labels,
        annotations=annotations,
        queue=now.queue,
        priority=value,
        priority_class=now.priority.class_name or "",
        pod_sets=now.pod_sets,
        least=least_of(job.kind.kind, job.annotations),
    )


def _defect(now: Situation) -> str | None:
    """Why the job's pods cannot be counted (spec 12.7, 22.1); None if they can."""
    return next((each.template.defect for each in now.pod_sets if each.template.defect), None)


def truth(text: str) -> bool | None:
    """True or false in any case; None if it is neither (spec 21.2)."""
    return {"true": True, "false": False}.get(text.lower())


def seconds(text: str) -> int | None:
    """A whole number of seconds, 1 or more; None if it is none."""
    number = int(text) if re.fullmatch(r"[0-9]{1,10}", text, re.ASCII) else 0
    return number if 0 < number < 2**31 else None


READERS: Mapping[str, tuple[Callable[[str], object], str]] = {
    keys.ACTIVE: (truth, "true or false"),
    keys.MAX_EXEC_TIME: (seconds, "a whole number of seconds, 1 or more"),
}
"""Annotations of a job that set a field of its unit: how they are read, and what is wanted."""

UNSAID = (
    keys.DEFECT,
    keys.MAX_EXEC_TIME,
    keys.UNIT_QUOTA,
    *keys.MIN_RESOURCES,
    *keys.QUEUE_NAME,
)
"""Annotations of a unit that decide something, and that go when its job has them no more."""


def creation(now: Situation) -> dict[str, Any]:
    """The unit to be made."""
    name = now.unit_name
    if now.name_taken_by is not None:
        name = other_unit_name(now.job, name.removeprefix(now.job.name))
    active = now.job.annotations.get(keys.ACTIVE, "").lower() != "false"
    longest = seconds(now.job.annotations.get(keys.MAX_EXEC_TIME, ""))
    return wire.new_unit(name, now.job, wanted(now), active, longest)


def difference(now: Situation, unit: QueueUnit) -> dict[str, Any]:
    """A merge patch that carries the job's changes to its unit; empty if there are none."""
    want = wanted(now)
    meta: dict[str, Any] = {}
    labels = _labels(want, unit)
    annotations = _annotations(now, want, unit)
    spec = _priority(want, unit) | _activation(now.job, unit) | _longest(now.job, unit)
    if want.queue and want.queue != unit.queue and not unit.holds_quota:
        spec["queue"] = want.queue
    if not (unit.holds_quota and keys.DEFECT in want.annotations):
        recounted = any(key in annotations for key in keys.MIN_RESOURCES)
        spec |= _pod_sets(now.job, want, unit, recounted=recounted)
    if labels:
        meta["labels"] = labels
    if annotations:
        meta["annotations"] = annotations
    if not unit.owner_uid:
        meta["ownerReferences"] = [wire.owner_reference(now.job)]
        spec["consumerRef"] = {**_consumer(unit), "uid": now.job.uid}
    return {key: part for key, part in (("metadata", meta), ("spec", spec)) if part}


def _annotations(now: Situation, want: Wanted, unit: QueueUnit) -> dict[str, str | None]:
    """What differs, and what the job says no more; set again it counts as new (spec 9.18)."""
    annotations: dict[str, str | None] = {**_missing(want.annotations, unit.annotations)}
    # Of one that is held beside its grants the end of the eviction takes it away (spec 5.14).
    active = () if unit.holds_quota and now.job.suspended else (keys.ACTIVE,)
    for key in (*active, *UNSAID):
        if key in unit.annotations and key not in want.annotations:
            annotations[key] = None
    if not unit.owner_uid and names_queue(unit):
        annotations[keys.QUEUE_BY_HAND] = "true"
    return annotations


def _consumer(unit: QueueUnit) -> dict[str, str]:
    """The reference as it stands: it is written as a whole."""
    each = unit.consumer
    if each is None:
        return {}
    return {
        "apiVersion": each.api_version,
        "kind": each.kind,
        "name": each.name,
        "namespace": each.namespace or unit.namespace,
    }


def _labels(want: Wanted, unit: QueueUnit) -> dict[str, str | None]:
    """What differs; a unit that holds quota keeps the one that it has (spec 2.8)."""
    gone = {key for key in keys.PREEMPTIBLE_LABELS if key in unit.labels} - want.labels.keys()
    if unit.holds_quota:
        kept = {k: value for k, value in want.labels.items() if k not in keys.QUOTA_LABELS}
        return {**_missing(kept, unit.labels), **dict.fromkeys(sorted(gone))}
    nameless = keys.QUOTA_LABELS if keys.UNIT_QUOTA in want.annotations else ()
    gone |= {key for key in nameless if key in unit.labels}
    return {**_missing(want.labels, unit.labels), **dict.fromkeys(sorted(gone))}


def _missing(want: Mapping[str, str], have: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in want.items() if have.get(key) != value}


def _priority(want: Wanted, unit: QueueUnit) -> dict[str, Any]:
    """Follow the job unless a person has edited the unit's priority (spec 12.10)."""
    recorded = unit.annotations.get(keys.DERIVED_PRIORITY)
    is_edited = unit.priority is not None and str(unit.priority) != recorded
    patch: dict[str, Any] = {}
    if unit.priority != want.priority and not is_edited:
        patch["priority"] = want.priority
    # The class is that of the pods whoever sets the priority: it says whether they take (13.2).
    if want.priority_class != unit.priority_class:
        patch["priorityClassName"] = want.priority_class or None
    return patch


def _activation(job: JobView, unit: QueueUnit) -> dict[str, Any]:
    """The job's annotation counts when it changes, not for as long as it stands (spec 9.18)."""
    text = job.annotations.get(keys.ACTIVE)
    if text is None or text == unit.annotations.get(keys.ACTIVE):
        return {}
    value = truth(text)
    return {} if value is None or value == unit.active else {"active": value}


def _longest(job: JobView, unit: QueueUnit) -> dict[str, Any]:
    """Likewise; without the annotation there is no limit any more (spec 9.18)."""
    text = job.annotations.get(keys.MAX_EXEC_TIME)
    if text == unit.annotations.get(keys.MAX_EXEC_TIME):
        return {}
    value = None if text is None else seconds(text)
    if value == unit.longest_seconds or (value is None and text is not None):
        return {}
    return {"maximumExecutionTimeSeconds": value}


def _pod_sets(job: JobView, want: Wanted, unit: QueueUnit, *, recounted: bool) -> dict[str, Any]:
    """Counts and templates: all of them while it waits, only counts while it holds quota."""
    sets = held_pod_sets(job, want.pod_sets, unit) if unit.holds_quota else want.pod_sets
    have = [(each.name, each.count, each.template.wire) for each in unit.pod_sets]
    patch: dict[str, Any] = {}
    if [(each.name, each.count, each.template.wire) for each in sets] != have:
        # There may be none, but not an empty list.
        patch["podSet"] = wire.pod_sets_to_wire(sets) or None
    total = wire.total_request(sets, want.least)
    if (patch or recounted) and unit.resource != total:
        patch["resource"] = _replacing(total.to_wire(), unit)
    return patch


def _replacing(total: Mapping[str, str], unit: QueueUnit) -> dict[str, str | None]:
    """A merge patch removes only what it names: resources no longer asked for become null."""
    gone = dict.fromkeys(name for name in unit.resource or () if name not in total)
    return {**total, **gone}
