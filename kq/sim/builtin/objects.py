"""The small kinds of the core group: namespaces, nodes, events, configuration."""

import re
from collections.abc import Iterator
from typing import Any

from kq.core.kinds import Object
from kq.sim.api import names
from kq.sim.api.status import Cause, forbidden_field, invalid_value, required
from kq.sim.builtin.faults import (
    NOT_NEGATIVE,
    fixed_when_immutable,
    immutable,
    labels,
    not_negative,
    word,
)
from kq.sim.schemas.amounts import amount_of

_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',"
    "  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
HIGHEST_PRIORITY = 10**9
_SYSTEM_CLASSES = ("system-node-critical", "system-cluster-critical")


def prepare_namespace(namespace: dict[str, Any], old: Object | None) -> None:
    """Gives a new namespace the finalizer that holds it until it is empty."""
    if old is None:
        spec = namespace.setdefault("spec", {})
        spec["finalizers"] = [*dict.fromkeys([*spec.get("finalizers", []), "kubernetes"])]
        namespace["status"] = {"phase": "Active"}


def config_map_faults(obj: Object) -> list[Cause]:
    """What is wrong with a ConfigMap."""
    return [*_keys(obj, "data"), *_keys(obj, "binaryData")]


def config_map_changes(new: Object, old: Object) -> list[Cause]:
    """What of a ConfigMap may not change."""
    return list(fixed_when_immutable(new, old, ("data", "binaryData")))


def secret_faults(obj: Object) -> list[Cause]:
    """What is wrong with a Secret."""
    return list(_keys(obj, "data"))


def secret_changes(new: Object, old: Object) -> list[Cause]:
    """What of a Secret may not change."""
    found = list(immutable(new.get("type"), old.get("type"), "type"))
    return found + list(fixed_when_immutable(new, old, ("data",)))


def _keys(obj: Object, field: str) -> Iterator[Cause]:
    for key in obj.get(field) or {}:
        if not _KEY.fullmatch(key):
            yield invalid_value(f"{field}[{key}]", key, _KEY_RULE)


def event_faults(event: Object) -> list[Cause]:
    """What is wrong with an Event; those with an eventTime have to say more."""
    namespace = event["metadata"].get("namespace", "")
    about = (event.get("involvedObject") or {}).get("namespace", "")
    found = []
    if namespace != about and not (namespace == "default" and not about):
        text = "does not match event.namespace"
        found.append(invalid_value("involvedObject.namespace", about, text))
    if event.get("eventTime"):
        found += _series_event(event)
    return found


def _series_event(event: Object) -> Iterator[Cause]:
    reporter = event.get("reportingComponent", "")
    if not reporter:
        yield required("reportingComponent")
    for why in names.qualified_faults(reporter):
        yield invalid_value("reportingComponent", reporter, why)
    for field in ("reportingInstance", "action", "reason"):
        if not event.get(field):
            yield required(field)
    yield from word(event, "type", ("Normal", "Warning"), "")
    note = event.get("message", "")
    if len(note) > 1024:
        yield invalid_value("message", "", "can have at most 1024 characters")


def node_faults(node: Object) -> list[Cause]:
    """What is wrong with a Node."""
    found: list[Cause] = []
    for index, taint in enumerate((node.get("spec") or {}).get("taints") or ()):
        path = f"metadata.taints[{index}]"
        found += labels({taint.get("key", ""): taint.get("value", "")}, path)
        found += word(taint, "effect", _EFFECTS, path)
    for field in ("capacity", "allocatable"):
        for name, text in ((node.get("status") or {}).get(field) or {}).items():
            if amount_of(text).nano < 0:
                found.append(invalid_value(f"status.{field}.{name}", text, NOT_NEGATIVE))
    return found


def lease_faults(lease: Object) -> list[Cause]:
    """What is wrong with a Lease."""
    spec = lease.get("spec") or {}
    found = []
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        text = "must be greater than 0"
        found.append(invalid_value("spec.leaseDurationSeconds", seconds, text))
    return found + list(not_negative(spec, ("leaseTransitions",), "spec"))


def priority_class_faults(obj: Object) -> list[Cause]:
    """What is wrong with a PriorityClass."""
    name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
    found = []
    if name.startswith("system-") and name not in _SYSTEM_CLASSES:
        text = (
            "priority class names with 'system-' prefix are reserved for system use only."
            f" error: {name} is not a known system priority class"
        )
        found.append(forbidden_field("metadata.name", text))
    elif value > HIGHEST_PRIORITY and name not in _SYSTEM_CLASSES:
        text = f"maximum allowed value of a user defined priority is {HIGHEST_PRIORITY}"
        found.append(forbidden_field("value", text))
    return found + list(word(obj, "preemptionPolicy", ("PreemptLowerPriority", "Never"), ""))


def priority_class_changes(new: Object, old: Object) -> list[Cause]:
    """What of a PriorityClass may not change."""
    found = []
    if new.get("value", 0) != old.get("value", 0):
        found.append(forbidden_field("value", "may not be changed in an update."))
    policies = new.get("preemptionPolicy"), old.get("preemptionPolicy")
    return found + list(immutable(*policies, "preemptionPolicy"))


def runtime_class_faults(obj: Object) -> list[Cause]:
    """What is wrong with a RuntimeClass."""
    return [] if obj.get("handler") else [required("handler")]


def runtime_class_changes(new: Object, old: Object) -> list[Cause]:
    """What of a RuntimeClass may not change."""
    return list(immutable(new.get("handler"), old.get("handler"), "handler"))
