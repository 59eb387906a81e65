"""Pods as the server's own admission makes them, and what it finds wrong with them."""

from typing import Any

from kq.core.kinds import Object
from kq.sim.api.status import Cause
from kq.sim.builtin.podrules import spec_faults

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
    """The quality of service that a pod's requests and limits earn it."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    resources = [each.get("resources") or {} for each in containers]
    asked = [_of_nodes(each.get("requests")) for each in resources]
    capped = [_of_nodes(each.get("limits")) for each in resources]
    if not any(asked) and not any(capped):
        return "BestEffort"
    full = all(set(each) == {"cpu", "memory"} for each in capped)
    return "Guaranteed" if full and asked == capped else "Burstable"


def _of_nodes(amounts: Object | None) -> dict[str, str]:
    kept = {name: (amounts or {}).get(name) for name in ("cpu", "memory")}
    return {name: amount for name, amount in kept.items() if amount}


def faults(pod: Object) -> list[Cause]:
    """What is wrong with a pod."""
    return list(spec_faults(pod.get("spec") or {}, "spec"))
