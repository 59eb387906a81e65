"""The pods of a Workflow's nodes, and what these nodes are by them."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from kq.core.kinds import Object
from kq.sim.argo.nodes import Node, hash_of
from kq.sim.control.objects import (
    PODS,
    controller_reference,
    is_ended,
    node_of,
    phase_of,
    place_of,
    status_of,
    time_of,
)
from kq.sim.control.writes import Create

COMPLETED: Final = "workflows.argoproj.io/completed"
WORKFLOW: Final = "workflows.argoproj.io/workflow"
NODE_ID: Final = "workflows.argoproj.io/node-id"
NODE_NAME: Final = "workflows.argoproj.io/node-name"
ON_EXIT: Final = "workflows.argoproj.io/on-exit"
EXECUTOR: Final = "argoexec"

MISSED_AFTER: Final = timedelta(seconds=10)
"""A pod that is not there so long after its node began was deleted; before that it is made."""
FROM_SPEC: Final = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "serviceAccountName",
    "schedulerName",
    "priority",
)

_KINDS = ("container", "script")


def is_of_pod(template: Object) -> bool:
    """Whether a template is played by a pod."""
    return any(template.get(kind) for kind in (*_KINDS, "containerSet"))


def pod_name(workflow: str, name: str, template: str) -> str:
    """The name of a node's pod."""
    return workflow if name == workflow else f"{workflow}-{template}-{hash_of(name)}"


def is_of_end(workflow: str, node: Node) -> bool:
    """Whether a node runs when all else is over."""
    return bool(node["name"].startswith(f"{workflow}.onExit"))


def pod_of(workflow: Object, node: Node, template: Object) -> Create:
    """The pod of a node: its container between those of the executor."""
    namespace, name = place_of(workflow)
    spec = workflow["spec"]
    shared: Mapping[str, Any] = spec.get("podMetadata") or {}
    own: Mapping[str, Any] = template.get("metadata") or {}
    annotations = {
        "kubectl.kubernetes.io/default-container": "main",
        NODE_ID: node["id"],
        NODE_NAME: node["name"],
    }
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pod_name(name, node["name"], template["name"]),
            "labels": {
                **(shared.get("labels") or {}),
                **(own.get("labels") or {}),
                WORKFLOW: name,
                COMPLETED: "false",
                **({ON_EXIT: "true"} if is_of_end(name, node) else {}),
            },
            "annotations": {
                **(shared.get("annotations") or {}),
                **(own.get("annotations") or {}),
                **annotations,
            },
            "ownerReferences": [controller_reference(workflow)],
        },
        "spec": {**_placement(spec, template), **_containers(template)},
    }
    return Create(kind=PODS, namespace=namespace, body=body)


def told_by(node: Node, pod: Object | None, now: datetime) -> Mapping[str, Any]:
    """What its pod says of a node: phase, message, and where it runs."""
    if pod is None:
        is_missed = now >= time_of(node["startedAt"]) + MISSED_AFTER
        return {"phase": "Error", "message": "pod deleted"} if is_missed else {}
    where = {"hostNodeName": node_of(pod)} if node_of(pod) else {}
    match phase_of(pod):
        case "Running":
            return {"phase": "Running", **where}
        case "Succeeded":
            return {"phase": "Succeeded", "outputs": {"exitCode": "0"}, **where}
        case "Failed":
            message, code = _failure(pod)
            return {"phase": "Failed", "message": message, "outputs": {"exitCode": code}, **where}
        case _:
            return {}


def is_counted(pod: Object) -> bool:
    """Whether its Workflow has done with a pod."""
    return bool((pod["metadata"].get("labels") or {}).get(COMPLETED) == "true")


def is_over(pod: Object) -> bool:
    """Whether a pod runs no more."""
    return is_ended(pod)


def _failure(pod: Object) -> tuple[str, str]:
    for each in status_of(pod).get("containerStatuses") or ():
        end = (each.get("state") or {}).get("terminated") or {}
        if each["name"] != "wait" and end.get("exitCode"):
            reason = end.get("reason", "Error")
            return f"{each['name']}: {reason} (exit code {end['exitCode']})", str(end["exitCode"])
    return status_of(pod).get("message", "pod failed"), "1"


def _containers(template: Object) -> dict[str, Any]:
    listed = [{**template[kind], "name": "main"} for kind in _KINDS if template.get(kind)]
    listed += (template.get("containerSet") or {}).get("containers") or ()
    mains = [{key: each for key, each in main.items() if key in _POD_FIELDS} for main in listed]
    wait = {"name": "wait", "image": EXECUTOR, "command": [EXECUTOR, "wait"]}
    init = {"name": "init", "image": EXECUTOR, "command": [EXECUTOR, "init"]}
    return {
        "containers": [wait, *mains, *(template.get("sidecars") or ())],
        "initContainers": [init, *(template.get("initContainers") or ())],
        "restartPolicy": "Never",
    }


def _placement(spec: Object, template: Object) -> dict[str, Any]:
    placed = {
        field: template.get(field) or spec[field] if spec.get(field) else template.get(field)
        for field in FROM_SPEC
    }
    named = template.get("priorityClassName") or spec.get("podPriorityClassName")
    placed["priorityClassName"] = named
    return {field: each for field, each in placed.items() if each}


_POD_FIELDS = frozenset(
    {
        "name",
        "image",
        "imagePullPolicy",
        "command",
        "args",
        "env",
        "envFrom",
        "workingDir",
        "ports",
        "resources",
        "volumeMounts",
        "securityContext",
    }
)
