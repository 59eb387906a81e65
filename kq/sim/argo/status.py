"""What a Workflow says of itself; its status is no subresource, so all of it is written at once."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from datetime import datetime
from typing import Any, Final

from kq.core.codec import format_time
from kq.core.kinds import Object
from kq.sim.argo.locks import Locks
from kq.sim.argo.nodes import BAD, Node, Nodes
from kq.sim.argo.pods import COMPLETED
from kq.sim.control.objects import status_of

PHASE: Final = "workflows.argoproj.io/phase"
FORMAT: Final = "workflows.argoproj.io/pod-name-format"

_WORK: Final = ("container", "script")


def fault_of(spec: Object) -> tuple[str, str]:
    """The phase in which it ends before it begins, and why; empty if it can begin."""
    if reference := spec.get("workflowTemplateRef"):
        return "Error", f'workflowtemplates.argoproj.io "{reference.get("name", "")}" not found'
    names = {each["name"] for each in spec.get("templates") or ()}
    if spec.get("entrypoint") not in names:
        return "Failed", f"invalid spec: template name '{spec.get('entrypoint')}' undefined"
    return "", ""


def begun(workflow: Object, locks: Locks, now: datetime) -> dict[str, Any]:
    """The Workflow with what it has: its locks, or the first that it waits for."""
    status = dict(status_of(workflow))
    status.pop("message", None)
    synchronization = locks.told(workflow)
    if locks.missing:
        phase = status.get("phase") or "Pending"
        status |= {"phase": phase, "message": locks.message, "startedAt": status.get("startedAt")}
    else:
        phase = "Running"
        started = status.get("startedAt") or format_time(now)
        status |= {"phase": phase, "startedAt": started}
    status = {"finishedAt": None, "progress": "0/0", **status}
    if synchronization:
        status["synchronization"] = synchronization
    made = _labelled(workflow, phase, is_over=False)
    if not locks.missing:
        made["metadata"]["annotations"] = {
            **(made["metadata"].get("annotations") or {}),
            FORMAT: "v2",
        }
    return {**made, "status": status}


def refused(workflow: Object, phase: str, message: str, now: datetime) -> dict[str, Any]:
    """One that ends before it begins."""
    at = format_time(now)
    status = {
        "phase": phase,
        "message": message,
        "startedAt": at,
        "finishedAt": at,
        "progress": "0/0",
        "conditions": [{"type": "Completed", "status": "True"}],
    }
    return {**_labelled(workflow, phase, is_over=True), "status": status}


def told(workflow: Object, nodes: Nodes) -> dict[str, Any]:
    """The Workflow with its nodes."""
    status = dict(workflow["status"])
    status["progress"] = nodes.count()
    if nodes.by_id:
        status["nodes"] = nodes.by_id
    if pods := list(nodes.of_type("Pod")):
        runs = any(each["phase"] == "Running" for each in pods)
        running = {"type": "PodRunning", "status": "True" if runs else "False"}
        status["conditions"] = _with(status.get("conditions") or (), running)
    return {**workflow, "status": status}


def ended(workflow: Object, last: Node, now: datetime) -> dict[str, Any]:
    """The Workflow at its end, which is that of its last node."""
    phase, strategy = last["phase"], workflow["spec"].get("shutdown")
    status = dict(workflow["status"])
    if strategy:
        status["message"] = f"Stopped with strategy '{strategy}'"
        phase = phase if phase in BAD else "Failed"
    elif last.get("message"):
        status["message"] = last["message"]
    completed = {"type": "Completed", "status": "True"}
    status |= {"phase": phase, "finishedAt": format_time(now)}
    status["conditions"] = _with(status.get("conditions") or (), completed)
    status.pop("synchronization", None)
    return {**_labelled(workflow, phase, is_over=True), "status": status}


def is_over(workflow: Object) -> bool:
    """Whether Argo has done with it."""
    return bool((workflow["metadata"].get("labels") or {}).get(COMPLETED) == "true")


def as_read(spec: Object) -> dict[str, Any]:
    """The spec as Argo writes it back: with all that its types have though nobody said it."""
    found = deepcopy(dict(spec))
    found.setdefault("arguments", {})
    for template in found.get("templates") or ():
        template |= {key: template.get(key, {}) for key in ("inputs", "outputs", "metadata")}
        for kind in _WORK:
            if template.get(kind):
                template[kind] = {"name": "", "resources": {}, **template[kind]}
        for group in template.get("steps") or ():
            for step in group:
                step.setdefault("arguments", {})
        for task in (template.get("dag") or {}).get("tasks") or ():
            task.setdefault("arguments", {})
    return found


def _labelled(workflow: Object, phase: str, *, is_over: bool) -> dict[str, Any]:
    meta = workflow["metadata"]
    labels = {COMPLETED: "true" if is_over else "false", PHASE: phase}
    return {
        **workflow,
        "metadata": {**meta, "labels": {**(meta.get("labels") or {}), **labels}},
        "spec": as_read(workflow["spec"]),
    }


def _with(
    conditions: Sequence[Mapping[str, Any]], made: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    if any(each["type"] == made["type"] for each in conditions):
        return [made if each["type"] == made["type"] else each for each in conditions]
    return [*conditions, made]
