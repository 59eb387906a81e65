"""What the real server finds wrong with pod templates and pod specs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kq.core.kinds import Object
from kq.core.quantity import parse_quantity
from kq.sim.api import names
from kq.sim.api.status import Cause, forbidden_field, invalid_value, required
from kq.sim.builtin.faults import (
    amounts,
    duplicate,
    is_extended,
    label_name,
    labels,
    not_supported,
    word,
)

RESTART_POLICIES = ("Always", "OnFailure", "Never")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_CONTAINER_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_STANDARD_RESOURCES = (*_CONTAINER_RESOURCES, "pods", "storage", "services", "secrets")
_NOT_OVERCOMMITTED = "Limit must be set for non overcommitable resources"


def template_faults(template: Object, path: str) -> Iterator[Cause]:
    """What is wrong with the template that a job or a deployment makes pods from."""
    meta = template.get("metadata") or {}
    yield from labels(meta.get("labels"), f"{path}.labels")
    for key in meta.get("annotations") or {}:
        for why in names.qualified_faults(key.lower()):
            yield invalid_value(f"{path}.annotations", key, why)
    yield from spec_faults(template.get("spec") or {}, f"{path}.spec")


def spec_faults(spec: Object, path: str) -> Iterator[Cause]:
    """What is wrong with a pod spec."""
    yield from _containers(spec, path)
    yield from word(spec, "restartPolicy", RESTART_POLICIES, path)
    yield from labels(spec.get("nodeSelector"), f"{path}.nodeSelector")
    seconds = spec.get("activeDeadlineSeconds")
    if seconds is not None and not 1 <= seconds < 2**31:
        text = "must be between 1 and 2147483647, inclusive"
        yield invalid_value(f"{path}.activeDeadlineSeconds", seconds, text)
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        yield from _toleration(toleration, f"{path}.tolerations[{index}]")
    for field in ("priorityClassName", "runtimeClassName", "serviceAccountName"):
        for why in names.subdomain_faults(spec[field]) if spec.get(field) else ():
            yield invalid_value(f"{path}.{field}", spec[field], why)
    yield from word(spec, "preemptionPolicy", ("PreemptLowerPriority", "Never"), path)
    yield from amounts(spec.get("overhead"), f"{path}.overhead")


def _containers(spec: Object, path: str) -> Iterator[Cause]:
    containers = spec.get("containers") or ()
    if not containers:
        yield required(f"{path}.containers")
    taken: set[str] = set()
    for field, each in (("containers", containers), ("initContainers", spec.get("initContainers"))):
        for index, container in enumerate(each or ()):
            yield from _container(container, f"{path}.{field}[{index}]", taken)


def _container(container: Object, path: str, taken: set[str]) -> Iterator[Cause]:
    name = container.get("name", "")
    if not name:
        yield required(f"{path}.name")
    else:
        yield from label_name(name, f"{path}.name")
    if not container.get("image"):
        yield required(f"{path}.image")
    yield from word(container, "imagePullPolicy", ("Always", "IfNotPresent", "Never"), path)
    yield from _resources(container.get("resources") or {}, f"{path}.resources")
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe in container:
            yield from _probe(container[probe], f"{path}.{probe}")
    if name and name in taken:
        yield duplicate(f"{path}.name", name)
    taken.add(name)


def _probe(probe: Object, path: str) -> Iterator[Cause]:
    if not any(handler in probe for handler in ("exec", "httpGet", "tcpSocket", "grpc")):
        yield required(path, "must specify a handler type")
    if "exec" in probe and not probe["exec"].get("command"):
        yield required(f"{path}.exec.command")


def _resources(resources: Object, path: str) -> Iterator[Cause]:
    limits: Mapping[str, str] = resources.get("limits") or {}
    requests: Mapping[str, str] = resources.get("requests") or {}
    yield from _named_amounts(limits, f"{path}.limits")
    yield from _named_amounts(requests, f"{path}.requests")
    for name, text in requests.items():
        strict = is_extended(name)
        if name not in limits:
            if strict:
                yield required(f"{path}.limits", _NOT_OVERCOMMITTED)
            continue
        asked, most = parse_quantity(text), parse_quantity(limits[name])
        if strict and asked != most:
            why = f"must be equal to {name} limit of {limits[name]}"
            yield invalid_value(f"{path}.requests", text, why)
        elif asked.nano > most.nano:
            why = f"must be less than or equal to {name} limit of {limits[name]}"
            yield invalid_value(f"{path}.requests", text, why)


def _named_amounts(values: Mapping[str, str], path: str) -> Iterator[Cause]:
    for name in values:
        yield from _resource_name(name, f"{path}[{name}]")
    yield from amounts(values, path)


def _resource_name(name: str, path: str) -> Iterator[Cause]:
    found = names.qualified_faults(name)
    for why in found:
        yield invalid_value(path, name, why)
    if found or "/" in name or name.startswith("hugepages-"):
        return
    if name not in _STANDARD_RESOURCES:
        yield invalid_value(path, name, "must be a standard resource type or fully qualified")
    if name not in _CONTAINER_RESOURCES:
        yield invalid_value(path, name, "must be a standard resource for containers")


def _toleration(toleration: Object, path: str) -> Iterator[Cause]:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    for why in names.qualified_faults(key) if key else ():
        yield invalid_value(f"{path}.key", key, why)
    if not key and operator != "Exists":
        why = (
            'operator must be Exists when `key` is empty, which means "match all values and all'
            ' keys"'
        )
        yield invalid_value(f"{path}.operator", operator, why)
    if toleration.get("tolerationSeconds") is not None and toleration.get("effect") != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid_value(f"{path}.effect", toleration.get("effect", ""), why)
    if operator not in ("", "Equal", "Exists"):
        yield not_supported(f"{path}.operator", operator, ("Equal", "Exists"))
    if toleration.get("effect"):
        yield from word(toleration, "effect", _EFFECTS, path)


def pod_changes(new: Object, old: Object) -> list[Cause]:
    """What of a pod's spec may not change."""
    before, after = dict(old.get("spec") or {}), dict(new.get("spec") or {})
    for field in ("containers", "initContainers"):
        was, now = before.get(field) or (), after.get(field) or ()
        if len(was) != len(now):
            return [
                forbidden_field(f"spec.{field}", "pod updates may not add or remove containers")
            ]
        after[field] = [
            each | {"image": seen.get("image")} for each, seen in zip(now, was, strict=True)
        ]
        before[field] = list(was)
    found = [*_kept_tolerations(after, before), *_removed_gates(after, before)]
    # The server gives a node to a pod through its binding, and takes part in that itself.
    for field in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        after.pop(field, None)
        before.pop(field, None)
    if old.get("spec", {}).get("schedulingGates"):
        after["nodeSelector"] = before.get("nodeSelector")
        before.setdefault("nodeSelector", None)
    if after != before:
        found.append(forbidden_field("spec", f"{_FIXED}\n{_difference(before, after)}"))
    return found


_FIXED = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions"
    " to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it"
    " was previously negative)"
)


def _difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    names_of = sorted(set(before) | set(after))
    changed = [name for name in names_of if before.get(name) != after.get(name)]
    return "\n".join(f"-{name}: {before.get(name)}\n+{name}: {after.get(name)}" for name in changed)


def _kept_tolerations(after: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[Cause]:
    now = [_timeless(each) for each in after.get("tolerations") or ()]
    if any(_timeless(each) not in now for each in before.get("tolerations") or ()):
        text = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden_field("spec.tolerations", text)


def _timeless(toleration: Object) -> Object:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _removed_gates(after: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[Cause]:
    was: Sequence[Object] = before.get("schedulingGates") or ()
    for index, gate in enumerate(after.get("schedulingGates") or ()):
        if gate not in was:
            text = "only deletion is allowed, but found new scheduling gate '" + gate["name"] + "'"
            yield forbidden_field(f"spec.schedulingGates[{index}]", text)
