"""The cells of a Pod, and those that other kinds have of their pods' containers."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kq.core.kinds import Object
from kq.sim.printing.ages import age

NONE = "<none>"
_OVER = ("Succeeded", "Failed")


def containers(spec: Object) -> list[str]:
    """The names and the images of a pod spec's containers."""
    each = spec.get("containers") or ()
    return [",".join(one.get(field, "") for one in each) for field in ("name", "image")]


def pod_cells(pod: Object, now: datetime) -> list[Any]:
    """How many containers are ready, what the pod is doing, and where."""
    meta, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    statuses: Sequence[Object] = status.get("containerStatuses") or ()
    ready = sum(bool(each.get("ready")) and "running" in _state(each) for each in statuses)
    addresses = status.get("podIPs") or ()
    return [
        meta.get("name", ""),
        f"{ready}/{len(spec.get('containers') or ())}",
        _reason(pod),
        _restarts(statuses, now),
        age(meta.get("creationTimestamp"), now),
        addresses[0]["ip"] if addresses else NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    ]


def _state(container: Object) -> Mapping[str, Any]:
    return container.get("state") or {}


def _restarts(statuses: Sequence[Object], now: datetime) -> str:
    count = sum(each.get("restartCount", 0) for each in statuses)
    ends = [
        (each.get("lastState") or {}).get("terminated", {}).get("finishedAt") for each in statuses
    ]
    last = max((end for end in ends if end), default="")
    return f"{count} ({age(last, now)} ago)" if count and last else str(count)


def _reason(pod: Object) -> str:
    status = pod.get("status") or {}
    phase = status.get("phase", "")
    reason = status.get("reason") or phase
    conditions = status.get("conditions") or ()
    if any(each.get("reason") == "SchedulingGated" for each in conditions):
        reason = "SchedulingGated"
    reason = _initializing(pod) or _of_containers(status, reason)
    if pod["metadata"].get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            return "Unknown"
        if phase not in _OVER:
            return "Terminating"
    return str(reason)


def _initializing(pod: Object) -> str:
    """What an init container that is not done yet is about; empty if there is none."""
    status = pod.get("status") or {}
    statuses = status.get("initContainerStatuses") or ()
    total = len((pod.get("spec") or {}).get("initContainers") or ())
    for index, each in enumerate(statuses):
        state = _state(each)
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if ended is not None and not ended.get("exitCode"):
            continue
        if ended is not None:
            return f"Init:{ended.get('reason') or _exit(ended)}"
        if waiting.get("reason", "PodInitializing") != "PodInitializing":
            return f"Init:{waiting['reason']}"
        return f"Init:{index}/{total}"
    return ""


def _of_containers(status: Object, reason: str) -> str:
    running, error = False, ""
    for each in reversed(status.get("containerStatuses") or ()):
        state = _state(each)
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if waiting.get("reason"):
            reason = waiting["reason"]
        elif ended is not None:
            reason = ended.get("reason") or _exit(ended)
            error = reason if ended.get("exitCode") else error
        elif each.get("ready") and "running" in state:
            running = True
    if reason != "Completed":
        return reason
    return _completed(status, running=running, error=error)


def _completed(status: Object, *, running: bool, error: str) -> str:
    is_ready = any(
        each["type"] == "Ready" and each["status"] == "True"
        for each in status.get("conditions") or ()
    )
    if running and is_ready:
        return "Running"
    return error or ("NotReady" if running else "Completed")


def _exit(ended: Object) -> str:
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _gates(spec: Object, status: Object) -> str:
    wanted = [each["conditionType"] for each in spec.get("readinessGates") or ()]
    if not wanted:
        return NONE
    true = {each["type"] for each in status.get("conditions") or () if each.get("status") == "True"}
    return f"{sum(each in true for each in wanted)}/{len(wanted)}"
