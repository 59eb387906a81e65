"""What of an object one write may change, and on which version of it."""

from typing import Any

from kq.sim.api.call import Call
from kq.sim.api.kinds import Kind
from kq.sim.api.status import conflict, invalid_as, invalid_value
from kq.sim.api.storage import Stored
from kq.sim.request.options import version_number
from kq.sim.schemas.definitions import definition_of
from kq.sim.schemas.zeros import zero

_KEEPS_STATUS = frozenset({"Node", "CustomResourceDefinition.apiextensions.k8s.io"})
"""Kinds with a status subresource whose status can be given at creation."""


def reset_status(kind: Kind, obj: dict[str, Any]) -> None:
    """Takes away the status that came with a new object, where it is a subresource."""
    if not kind.status or kind.kind_key in _KEEPS_STATUS:
        return
    obj.pop("status", None)
    definition = None if kind.custom else definition_of(kind.api_version, kind.kind)
    if definition is not None:
        obj["status"] = zero(definition).get("status", {})


def merged(call: Call, obj: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """What a write through this path may change of the object, on top of the rest."""
    kind = call.kind
    match call.subresource:
        case "status" if kind.custom:
            kept = {**old, "metadata": dict(old["metadata"])}
            if managers := obj["metadata"].get("managedFields"):
                kept["metadata"]["managedFields"] = managers
            return _with_status(kept, obj)
        case "status":
            kept = {**old, "metadata": obj["metadata"]}
            return _with_status(kept, obj)
        case "finalize":
            spec = {**old.get("spec", {}), "finalizers": obj.get("spec", {}).get("finalizers")}
            return {**old, "metadata": obj["metadata"], "spec": spec}
    return _with_status(obj, old) if kind.status else obj


def check_version(call: Call, given: str, stored: Stored) -> None:
    """Refuses a write that was decided on another version."""
    version = version_number(given)
    if version == stored.version or (not version and call.kind.unconditional_update):
        return
    if version:
        raise conflict(call.kind, call.name)
    cause = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
    raise invalid_as(call.kind.plural, call.kind.group, call.name, [cause])


def check_uid(call: Call, sent: dict[str, Any], old: dict[str, Any] | None) -> None:
    """Refuses a replacement that is meant for another object of that name."""
    uid = sent["metadata"].get("uid")
    there = old["metadata"]["uid"] if old is not None else ""
    if not uid or uid == there:
        return
    place = "/".join(each for each in (call.namespace, call.name) if each)
    root = "" if call.is_dry_run else "/registry"
    group = f"{call.kind.group}/" if call.kind.custom else ""
    raise conflict(
        call.kind,
        call.name,
        f"StorageError: invalid object, Code: 4, Key: {root}/{group}{call.kind.plural}/{place},"
        " ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition:"
        f" {uid}, UID in object meta: {there}",
    )


def _with_status(obj: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    merged = {key: value for key, value in obj.items() if key != "status"}
    return {**merged, "status": other["status"]} if "status" in other else merged
