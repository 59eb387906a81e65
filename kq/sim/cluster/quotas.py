"""What an object counts for in ResourceQuotas, and which of them it would exceed."""

from collections.abc import Iterable, Mapping
from typing import Any

from kq.core.demand import sort_of
from kq.core.kinds import Object
from kq.core.podrequests import pod_limits, pod_request
from kq.core.resources import format_amount, parse_resources
from kq.sim.builtin.pods import quality
from kq.sim.control.objects import PODS, is_ended, place_of, status_of

Usage = Mapping[str, int]
"""Amounts by the names that quotas have for them."""

_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_DEMANDED = _COMPUTE[:2]
"""What every container has to set where a quota limits it; nothing where the pod level sets any."""
_COUNTED = (
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
)
"""Kinds that quotas may name without `count/`."""
_CLAIMS, _SERVICES = "persistentvolumeclaims", "services"
_OF_CLASS = ".storageclass.storage.k8s.io/"
_HUGE_PAGES = "hugepages-"


def usage_of(kind: str, obj: Object) -> Usage:
    """What one object uses; a pod that has ended only counts as an object."""
    used = {f"count/{kind}": 1}
    if kind in _COUNTED:
        used[kind] = 1
    if kind == PODS and not is_ended(obj):
        used |= {PODS: 1, **_requests(obj), **_limits(obj)}
    if kind == _SERVICES:
        used |= _ways_in(obj["spec"])
    if kind == _CLAIMS:
        used |= _storage(obj["spec"])
    return used


def total_used(quota: Object, objects: Iterable[tuple[str, Object]]) -> dict[str, str]:
    """What of a quota these objects use together, as its status says it."""
    hard = hard_of(quota)
    total = dict.fromkeys(hard, 0)
    for kind, obj in objects:
        if is_in_scope(quota, kind, obj):
            for name, amount in usage_of(kind, obj).items():
                if name in total:
                    total[name] += amount
    return {name: _written(name, amount) for name, amount in sorted(total.items())}


def refusal(quota: Object, kind: str, obj: Object) -> str:
    """Why a quota forbids a new object, in the words of the server; empty if it does not."""
    if not is_in_scope(quota, kind, obj):
        return ""
    name, hard, asked = place_of(quota)[1], counted_limits(quota), usage_of(kind, obj)
    if kind == PODS and (missing := _unsaid(hard, obj)):
        return f"failed quota: {name}: must specify {'; '.join(missing)}"
    used = parse_resources(status_of(quota).get("used"), f"use of quota {name}")
    if unknown := [each for each in sorted(hard) if each in asked and each not in used]:
        return f"status unknown for quota: {name}, resources: {','.join(unknown)}"
    over = [each for each in sorted(hard) if used.get(each) + asked.get(each, 0) > hard[each]]
    over = [each for each in over if asked.get(each)]
    if not over:
        return ""
    requested = _spelled({each: asked[each] for each in over})
    present = _spelled({each: used.get(each) for each in over})
    limited = _spelled({each: hard[each] for each in over})
    return f"exceeded quota: {name}, requested: {requested}, used: {present}, limited: {limited}"


def charged(quota: Object, kind: str, obj: Object) -> dict[str, Any] | None:
    """The quota's status once a new object counts in it; None if it does not."""
    asked = usage_of(kind, obj)
    used = parse_resources(status_of(quota).get("used"), "use of a quota")
    counted = [name for name in counted_limits(quota) if asked.get(name)]
    if not counted or not is_in_scope(quota, kind, obj):
        return None
    told = dict(status_of(quota).get("used") or {})
    told |= {name: _written(name, used.get(name) + asked[name]) for name in counted}
    return {**status_of(quota), "used": told}


def hard_of(quota: Object) -> Usage:
    """The limits of a quota."""
    hard = (quota.get("spec") or {}).get("hard")
    return dict(parse_resources(hard, f"quota {place_of(quota)[1]}").items())


def counted_limits(quota: Object) -> Usage:
    """The limits that the status speaks of: those of a quota that nobody counted yet are none."""
    hard = status_of(quota).get("hard")
    return dict(parse_resources(hard, f"quota {place_of(quota)[1]}").items())


def is_in_scope(quota: Object, kind: str, obj: Object) -> bool:
    """Whether a quota is about such objects at all: those with scopes are about pods alone."""
    spec = quota.get("spec") or {}
    scopes = [{"scopeName": each, "operator": "Exists"} for each in spec.get("scopes") or ()]
    scopes += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    return not scopes or (kind == PODS and all(_is_met(each, obj) for each in scopes))


def _is_met(scope: Object, pod: Object) -> bool:
    match scope["scopeName"]:
        case "BestEffort":
            return _is_best_effort(pod)
        case "NotBestEffort":
            return not _is_best_effort(pod)
        case "Terminating":
            return pod["spec"].get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return pod["spec"].get("activeDeadlineSeconds") is None
        case "PriorityClass":
            return _is_selected(scope, pod["spec"].get("priorityClassName", ""))
        case "CrossNamespacePodAffinity":
            return sort_of(pod["spec"]).crosses_namespaces
    return False


def _is_selected(expression: Object, value: str) -> bool:
    match expression["operator"]:
        case "In":
            return value in expression["values"]
        case "NotIn":
            return value not in expression["values"]
        case "Exists":
            return bool(value)
        case _:
            return not value


def _is_best_effort(pod: Object) -> bool:
    return quality(pod["spec"]) == "BestEffort"


def _requests(pod: Object) -> dict[str, int]:
    asked = pod_request(pod["spec"])
    plain = {
        name: amount
        for name, amount in asked.items()
        if name in _COMPUTE or name.startswith(_HUGE_PAGES)
    }
    return plain | {f"requests.{name}": amount for name, amount in asked.items()}


def _limits(pod: Object) -> dict[str, int]:
    limits = pod_limits(pod["spec"])
    return {f"limits.{name}": amount for name, amount in limits.items() if name in _COMPUTE}


def _ways_in(service: Object) -> dict[str, int]:
    """What a service opens to the outside: ports of nodes, and balancers."""
    ports = service.get("ports") or ()
    match service.get("type"):
        case "NodePort":
            return {"services.nodeports": len(ports)}
        case "LoadBalancer":
            is_given = service.get("allocateLoadBalancerNodePorts", True)
            opened = len(ports) if is_given else sum(bool(each.get("nodePort")) for each in ports)
            return {"services.nodeports": opened, "services.loadbalancers": 1}
        case _:
            return {}


def _storage(claim: Object) -> dict[str, int]:
    """What a claim asks for, once more under the name of its class."""
    asked = parse_resources((claim.get("resources") or {}).get("requests"), "requests of a claim")
    used = {"requests.storage": asked.get("storage")}
    if name := claim.get("storageClassName"):
        used |= {f"{name}{_OF_CLASS}{each}": amount for each, amount in used.items()}
        used[f"{name}{_OF_CLASS}{_CLAIMS}"] = 1
    return used


def _unsaid(hard: Usage, pod: Object) -> list[str]:
    """What each container has to say because a quota limits it, and which do not."""
    spec, missing = pod["spec"], []
    if _said(spec, "requests") or _said(spec, "limits"):
        return []
    containers = [*spec["containers"], *(spec.get("initContainers") or ())]
    for name in sorted(hard):
        part, _, resource = name.rpartition(".")
        if resource not in _DEMANDED or part not in ("", "requests", "limits"):
            continue
        lacking = [
            each["name"] for each in containers if resource not in _said(each, part or "requests")
        ]
        if lacking:
            missing.append(f"{name} for: {','.join(sorted(lacking))}")
    return missing


def _said(part_of_pod: Object, part: str) -> Mapping[str, Any]:
    said: Mapping[str, Any] = (part_of_pod.get("resources") or {}).get(part) or {}
    return said


def _spelled(amounts: Usage) -> str:
    return ",".join(f"{name}={_written(name, amounts[name])}" for name in amounts)


def _written(name: str, amount: int) -> str:
    """An amount as the server writes it; what is of a class is written as what it is."""
    return format_amount(name.rpartition(_OF_CLASS)[2], amount)
