"""How a Workflow is held and let run: what else has to be moved and put back (spec 8.14-8.15a)."""

import math
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Any, Final

import msgspec

from kq.core import codec
from kq.core.keys import ENQUEUE_TIMESTAMP, INJECTED, SYNCHRONIZATION
from kq.core.kinds import Object
from kq.core.patch import Patch
from kq.core.plaintext import read_plain
from kq.errors import DecodeError
from kq.jobs.argonodes import SUSPEND_TEMPLATE, has_used, may_refer_to_ours

ENQUEUE_TIMESTAMPS: Final = (ENQUEUE_TIMESTAMP, "kube-queue/job-enqueue-timestamp")
MARKER: Final = {"name": SUSPEND_TEMPLATE, "suspend": {}}
COMPLETED: Final = "workflows.argoproj.io/completed"
FINAL: Final = frozenset({"Succeeded", "Failed", "Error"})
MOST: Final = 2**63 - 1


class Shutdown(Enum):
    """What `spec.shutdown` of a held Workflow means for the queue (spec 8.15a)."""

    NONE = "none"
    AT_ONCE = "at once"
    """No pod can start: the hold is taken off without a grant, and the unit is Failed."""
    IN_TURN = "in turn"
    """Its exit handler needs pods, so it waits its turn."""


def shutdown_of(job: Object) -> Shutdown:
    """How the Workflow is being shut down."""
    spec = codec.mapping(job, "spec")
    match spec.get("shutdown"):
        case None | "":
            return Shutdown.NONE
        case "Terminate":
            return Shutdown.AT_ONCE
        case "Stop" if is_inline(spec) and not (spec.get("onExit") or spec.get("hooks")):
            return Shutdown.AT_ONCE
        case _:
            return Shutdown.IN_TURN


def is_inline(spec: Object) -> bool:
    """Whether it has templates of its own; Argo refuses them beside a workflowTemplateRef."""
    return bool(codec.listed(spec, "templates")) and not spec.get("workflowTemplateRef")


def marker_of(spec: Object) -> Object | None:
    """The template that has our name, whoever wrote it."""
    return next(
        (
            each
            for each in codec.listed(spec, "templates")
            if isinstance(each, Mapping) and each.get("name") == SUSPEND_TEMPLATE
        ),
        None,
    )


def held(job: Object) -> Patch:
    """Suspends it, with all that a Workflow needs at its submit."""
    meta, spec, status = (codec.mapping(job, part) for part in ("metadata", "spec", "status"))
    body: dict[str, Any] = {"spec": {"suspend": True}}
    if is_inline(spec) and marker_of(spec) is None:
        body["spec"]["templates"] = [*spec["templates"], MARKER]
    locks = _written(spec.get("synchronization"))
    if locks is not None:
        body["spec"]["synchronization"] = None
        body["metadata"] = {"annotations": {SYNCHRONIZATION: locks}}
    is_restored = codec.strings(meta.get("labels")).get(COMPLETED) == "true"
    if codec.strings(status).get("phase") in FINAL and not is_restored:
        body["status"] = None
    return Patch(body)


def let_run(job: Object, now: datetime) -> Patch:
    """Takes the hold off and puts back what was moved.

    `suspend` is removed, not set to false: so Argo's own resume does it.
    """
    meta, spec = codec.mapping(job, "metadata"), codec.mapping(job, "spec")
    annotations = codec.strings(meta.get("annotations"))
    change: dict[str, Any] = {"suspend": None}
    body: dict[str, Any] = {"spec": change}
    deadline = codec.integer(spec.get("activeDeadlineSeconds")) or 0
    if spec.get("suspend") is True and deadline > 0:
        seconds = _seconds_held(meta, annotations, now)
        change |= {"activeDeadlineSeconds": min(deadline + seconds, MOST)} if seconds else {}
    if "template" in annotations.get(INJECTED, "").split(",") and _is_removable(job):
        marker = marker_of(spec)
        change["templates"] = [each for each in spec["templates"] if each is not marker]
    locks = _read(annotations.get(SYNCHRONIZATION))
    if locks is not None:
        change |= {} if spec.get("synchronization") else {"synchronization": locks}
        body["metadata"] = {"annotations": {SYNCHRONIZATION: None}}
    return Patch(body)


def holds_lock(job: Object) -> bool:
    """Whether it waits in our queue and has a lock that others wait for (event `HoldsLock`)."""
    spec, status = codec.mapping(job, "spec"), codec.mapping(job, "status")
    if spec.get("suspend") is not True or codec.strings(status).get("phase") in FINAL:
        return False
    locks = codec.mapping(status, "synchronization")
    return any(codec.mapping(locks, kind).get("holding") for kind in ("mutex", "semaphore"))


def _is_removable(job: Object) -> bool:
    """Whether our template is as we wrote it, nothing refers to it, and it never ran."""
    spec, status = codec.mapping(job, "spec"), codec.mapping(job, "status")
    marker = marker_of(spec) or {}
    # Argo's first update gives each template empty inputs, outputs and metadata.
    said = {key: each for key, each in marker.items() if each or key in MARKER}
    return said == MARKER and not may_refer_to_ours(spec) and not has_used(status, SUSPEND_TEMPLATE)


def _seconds_held(meta: Object, annotations: Mapping[str, str], now: datetime) -> int:
    """Whole seconds since it came to us; none for one that we let run before.

    Argo counts from the start of this object: an older time in an annotation is one of another
    Workflow, of which this is a copy.
    """
    if codec.released_at(annotations) is not None:
        return 0
    came = (codec.parse_time(annotations.get(key)) for key in ENQUEUE_TIMESTAMPS)
    times = [*filter(None, came), codec.parse_time(meta.get("creationTimestamp"))]
    known = [each for each in times if each is not None]
    return max(0, math.ceil((now - max(known)).total_seconds())) if known else 0


def _written(locks: object) -> str | None:
    """The locks as the annotation says them; None if there are none, or too many to be read."""
    if not isinstance(locks, Mapping):
        return None
    try:
        text = msgspec.json.encode(locks).decode()
    except (TypeError, ValueError, RecursionError):
        return None
    return text if _read(text) is not None else None


def _read(text: str | None) -> dict[str, Any] | None:
    """The locks that the annotation says; None if it says none that could be."""
    try:
        read_plain(text or "")
        locks = msgspec.json.decode(text or "")
    except (DecodeError, msgspec.DecodeError, RecursionError):
        return None
    return locks if isinstance(locks, dict) and locks else None
