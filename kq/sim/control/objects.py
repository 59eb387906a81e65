"""How controllers read and make objects: owners, conditions, and what state a pod is in."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from kq.core.codec import EPOCH, format_time, parse_time
from kq.core.kinds import Object

PODS = "pods"
NODES = "nodes"
NAMESPACES = "namespaces"
SERVICE_ACCOUNTS = "serviceaccounts"
RESOURCE_QUOTAS = "resourcequotas"
EVENTS = "events"
JOBS = "jobs.batch"
CRON_JOBS = "cronjobs.batch"

Place = tuple[str, str]
"""Namespace and name."""

_NOTHING: Mapping[str, Any] = {}


def place_of(obj: Object) -> Place:
    """Where an object stands among its kind."""
    meta = obj["metadata"]
    return meta.get("namespace", ""), meta["name"]


def uid_of(obj: Object) -> str:
    """What tells an object from others of its name."""
    uid: str = obj["metadata"]["uid"]
    return uid


def status_of(obj: Object) -> Mapping[str, Any]:
    """The status, empty if there is none yet."""
    return obj.get("status") or _NOTHING


def annotations_of(obj: Object) -> Mapping[str, str]:
    """The annotations."""
    return obj["metadata"].get("annotations") or _NOTHING


def finalizers_of(obj: Object) -> Sequence[str]:
    """What keeps a deleted object."""
    return obj["metadata"].get("finalizers") or ()


def owners_of(obj: Object) -> Sequence[Mapping[str, Any]]:
    """The owner references."""
    return obj["metadata"].get("ownerReferences") or ()


def controller_of(obj: Object) -> Mapping[str, Any] | None:
    """The reference to the one owner that manages it."""
    return next((each for each in owners_of(obj) if each.get("controller")), None)


def controller_reference(owner: Object) -> dict[str, Any]:
    """A reference to an owner that manages its dependent."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_deleted(obj: Object) -> bool:
    """Whether its deletion was asked for."""
    return "deletionTimestamp" in obj["metadata"]


def time_of(text: object) -> datetime:
    """The time that a text says; the epoch if it says none."""
    return parse_time(text) or EPOCH


def condition(conditions: Iterable[Object] | None, type_: str) -> Mapping[str, Any] | None:
    """The condition of that type."""
    return next((each for each in conditions or () if each["type"] == type_), None)


def holds(conditions: Iterable[Object] | None, type_: str) -> bool:
    """Whether the condition of that type is True."""
    found = condition(conditions, type_)
    return found is not None and found["status"] == "True"


def with_condition(
    conditions: Iterable[Object] | None, wanted: Object, now: datetime
) -> list[dict[str, Any]] | None:
    """The conditions with that one in place of its like; None if nothing changes.

    What was never so is not said to be False.
    """
    listed = [dict(each) for each in conditions or ()]
    made = {**wanted, "lastProbeTime": format_time(now), "lastTransitionTime": format_time(now)}
    for index, each in enumerate(listed):
        if each["type"] == wanted["type"]:
            if all(each.get(field) == wanted[field] for field in wanted):
                return None
            return [*listed[:index], made, *listed[index + 1 :]]
    return None if wanted["status"] == "False" else [*listed, made]


def phase_of(pod: Object) -> str:
    """The phase of a pod."""
    phase: str = status_of(pod).get("phase", "Pending")
    return phase


def node_of(pod: Object) -> str:
    """The node that a pod is bound to; empty if none."""
    node: str = pod["spec"].get("nodeName", "")
    return node


def is_ended(pod: Object) -> bool:
    """Whether a pod ran to its end."""
    return phase_of(pod) in ("Succeeded", "Failed")


def is_active(pod: Object) -> bool:
    """Whether a pod runs or will run."""
    return not is_ended(pod) and not is_deleted(pod)


def is_terminating(pod: Object) -> bool:
    """Whether a pod is being ended before its time."""
    return not is_ended(pod) and is_deleted(pod)


def is_ready(pod: Object) -> bool:
    """Whether a pod says that it is ready."""
    return holds(status_of(pod).get("conditions"), "Ready")
