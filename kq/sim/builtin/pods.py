"""Pods as the server's own admission makes them, and what it finds wrong with them."""

from typing import Any

from kq.core.kinds import Object
from kq.core.quantity import parse_quantity
from kq.sim.api.status import Cause
from kq.sim.builtin.podrules import spec_faults

Amounts = dict[str, int]
"""Nano units by resource."""

_COUNTED = ("cpu", "memory")
"""Resources that make the quality of service."""
_NODE_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def prepare(pod: dict[str, Any], old: Object | None) -> None:
    """Gives a new pod its first status, an account, and the tolerations that all pods have."""
    if old is not None:
        return
    spec = pod.setdefault("spec", {})
    account = spec.get("serviceAccountName") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = account
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    tolerated = {each.get("key") for each in spec.get("tolerations") or ()}
    spec["tolerations"] = [
        *(spec.get("tolerations") or ()),
        *(_tolerates(taint) for taint in _NODE_TAINTS if taint not in tolerated),
    ]
    pod["status"] = {"phase": "Pending", "qosClass": quality(spec)}


def _tolerates(taint: str) -> dict[str, Any]:
    return {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}


def quality(spec: Object) -> str:
    """The quality of service that a pod's requests and limits earn it.

    Resources of the pod level decide alone, where there are any.
    """
    requests: Amounts = {}
    limits: Amounts = {}
    is_guaranteed = True
    for resources in _resources(spec):
        _add(requests, resources.get("requests"))
        limited = _add(limits, resources.get("limits"))
        is_guaranteed &= len(limited) == len(_COUNTED)
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if is_guaranteed and requests == limits else "Burstable"


def _resources(spec: Object) -> list[Object]:
    level = spec.get("resources")
    if level is not None:
        return [level]
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    return [each.get("resources") or {} for each in containers]


def _add(total: Amounts, amounts: Object | None) -> list[str]:
    """Adds what counts, and says of which there is any."""
    found = []
    for name in _COUNTED:
        nano = parse_quantity(str((amounts or {}).get(name, 0))).nano
        if nano > 0:
            total[name] = total.get(name, 0) + nano
            found.append(name)
    return found


def faults(pod: Object) -> list[Cause]:
    """What is wrong with a pod."""
    return list(spec_faults(pod.get("spec") or {}, "spec"))
