"""What a RayCluster's status says."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from kq.core.codec import format_time
from kq.core.kinds import Object
from kq.core.podrequests import pod_request
from kq.core.resources import ZERO
from kq.sim.control.objects import (
    holds,
    is_deleted,
    is_ended,
    is_ready,
    phase_of,
    place_of,
    status_of,
)
from kq.sim.ray.parts import with_told
from kq.sim.ray.pods import group_of, wanted

HEAD: Final = "HeadPodReady"
PROVISIONED: Final = "RayClusterProvisioned"
SUSPENDED: Final = "RayClusterSuspended"
SUSPENDING: Final = "RayClusterSuspending"

_FIRST = (
    False,
    "RayClusterPodsProvisioning",
    "RayCluster Pods are being provisioned for first time",
)
_ALL = (True, "AllPodRunningAndReadyFirstTime", "All Ray Pods are ready for the first time")
_STOPPED = (False, "RayClusterPodsProvisioning", "RayCluster has been suspended")


def status_after(cluster: Object, pods: Sequence[Object], now: datetime) -> Mapping[str, Any]:
    """The status of a cluster with these pods, after the one that it has."""
    old = status_of(cluster)
    workers = [pod for pod in pods if group_of(pod) != "headgroup"]
    ready = sum(is_ready(pod) and not is_ended(pod) for pod in workers)
    head = next((pod for pod in pods if group_of(pod) == "headgroup"), None)
    status = {
        **_sizes(cluster["spec"]),
        **({"availableWorkerReplicas": ready, "readyWorkerReplicas": ready} if ready else {}),
        "head": _head(cluster, head),
        "observedGeneration": cluster["metadata"]["generation"],
        "conditions": _conditions(cluster, pods, head, now),
        **{key: old[key] for key in ("state", "stateTransitionTimes") if key in old},
    }
    if state := _state(cluster, pods):
        since = (old.get("stateTransitionTimes") or {}).get(state)
        is_new = old.get("state") != state or since is None
        times = old.get("stateTransitionTimes") or {}
        status["state"] = state
        status["stateTransitionTimes"] = {**times, state: format_time(now) if is_new else since}
    if status == {key: each for key, each in old.items() if key != "lastUpdateTime"}:
        return old
    return {**status, "lastUpdateTime": format_time(now)}


def _conditions(
    cluster: Object, pods: Sequence[Object], head: Object | None, now: datetime
) -> list[dict[str, Any]]:
    found: Sequence[Object] = status_of(cluster).get("conditions") or ()
    told: dict[str, tuple[bool, str, str]] = {HEAD: _head_condition(head)}
    if holds(found, SUSPENDING):
        if not pods:
            told |= {PROVISIONED: _STOPPED, SUSPENDED: _is(SUSPENDED), SUSPENDING: _not(SUSPENDING)}
    elif holds(found, SUSPENDED):
        if not cluster["spec"].get("suspend"):
            told |= {SUSPENDED: _not(SUSPENDED)}
    else:
        goes = bool(cluster["spec"].get("suspend"))
        if _is_whole(cluster, pods):
            told |= {PROVISIONED: _ALL}
        elif not holds(found, PROVISIONED):
            told |= {PROVISIONED: _FIRST}
        told |= {SUSPENDED: _not(SUSPENDED)}
        told |= {SUSPENDING: _is(SUSPENDING) if goes else _not(SUSPENDING)}
    for type_, each in told.items():
        found = with_told(found, type_, each, now)
    return [dict(each) for each in found]


def _state(cluster: Object, pods: Sequence[Object]) -> str:
    """The state that it comes into; none if it keeps the one that it has."""
    if cluster["spec"].get("suspend"):
        return "" if pods else "suspended"
    return "ready" if _is_whole(cluster, pods) else ""


def _is_whole(cluster: Object, pods: Sequence[Object]) -> bool:
    """Whether each pod that it wants is there and ready."""
    groups = cluster["spec"].get("workerGroupSpecs") or ()
    kept = [pod for pod in pods if not is_deleted(pod)]
    return len(kept) == 1 + sum(map(wanted, groups)) and all(map(is_ready, kept))


def _is(type_: str) -> tuple[bool, str, str]:
    return True, type_, ""


def _not(type_: str) -> tuple[bool, str, str]:
    return False, type_, ""


def _head_condition(head: Object | None) -> tuple[bool, str, str]:
    if head is None:
        return False, "HeadPodNotFound", "Head Pod not found"
    if is_ready(head) and phase_of(head) == "Running":
        return True, "HeadPodRunningAndReady", ""
    return False, "Unknown", ""


def _head(cluster: Object, head: Object | None) -> dict[str, Any]:
    known = {"serviceName": f"{place_of(cluster)[1]}-head-svc"}
    if head is None:
        return known
    address = status_of(head).get("podIP")
    known |= {"podName": place_of(head)[1]}
    return {**known, "podIP": address, "serviceIP": address} if address else known


def _sizes(spec: Object) -> dict[str, Any]:
    groups = spec.get("workerGroupSpecs") or ()
    asked = pod_request(spec["headGroupSpec"]["template"]["spec"])
    for group in groups:
        asked += pod_request(group["template"]["spec"]).times(wanted(group))
    wire = (asked or ZERO).to_wire()
    return {
        "desiredWorkerReplicas": sum(map(wanted, groups)),
        "minWorkerReplicas": sum(_of(each, "minReplicas", 0) for each in groups),
        "maxWorkerReplicas": sum(_of(each, "maxReplicas", 2**31 - 1) for each in groups),
        "desiredCPU": wire.get("cpu", "0"),
        "desiredMemory": wire.get("memory", "0"),
        "desiredGPU": wire.get("nvidia.com/gpu", "0"),
        "desiredTPU": wire.get("google.com/tpu", "0"),
    }


def _of(group: Object, field: str, default: int) -> int:
    number: int = group.get(field, default)
    hosts: int = group.get("numOfHosts", 1)
    return number * hosts
