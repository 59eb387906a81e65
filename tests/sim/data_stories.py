"""What was seen of a job of Ray, Spark or Argo, without what differs from run to run."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from controller_stage import Happened, Object

Step = Any

RANDOM = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b")
"""Ends of generated names; they have no vowels."""
HEXES = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{32}\b")
SUBMISSIONS = re.compile(r"-[0-9a-f]{8}-exec-")
UNTOLD = ("startTime", "endTime", "jobId", "rayClusterName", "rayClusterStatus", "rayJobInfo")
NODE = ("name", "displayName", "type", "phase", "message", "templateName", "children")
NODES = (*NODE, "boundaryID", "outboundNodes", "outputs", "progress")


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The states through which the objects of a scene went."""

    jobs: dict[str, list[list[Step]]]
    """Of each kind, what the objects said one after the other; in the order of their making."""
    ends: list[Step]
    """What each job said last."""
    made: list[Step]
    """The pods as they were made: owner, labels, requests."""
    pods: list[list[Step]]
    """Each pod by phase and deletion."""

    @classmethod
    def of(cls, namespace: str, happened: Iterable[Happened]) -> "Story":
        """The story that watch events tell."""
        jobs: dict[str, dict[str, list[Step]]] = {}
        ends: dict[str, Step] = {}
        pods: dict[str, list[Step]] = {}
        made: dict[str, Step] = {}
        for each in happened:
            uid = each.obj["metadata"]["uid"]
            if each.kind == "Pod":
                made.setdefault(uid, plain(_made(each.obj), namespace))
                _add(pods.setdefault(uid, []), _outline(each))
            elif each.kind != "ServiceAccount":
                steps = jobs.setdefault(each.kind, {}).setdefault(uid, [])
                said = "gone" if each.type == "DELETED" else _said(each.obj)
                _add(steps, plain(said, namespace))
                ends[uid] = plain(_last(each.obj), namespace)
        return cls(
            jobs={kind: list(found.values()) for kind, found in jobs.items()},
            ends=sorted(ends.values(), key=repr),
            made=sorted(made.values(), key=repr),
            pods=sorted(pods.values(), key=repr),
        )


def _outline(happened: Happened) -> Step:
    obj = happened.obj
    if happened.type == "DELETED":
        return "gone"
    return [obj["status"]["phase"], "deletionTimestamp" in obj["metadata"]]


def _made(pod: Object) -> Step:
    meta, spec = pod["metadata"], pod["spec"]
    every = [*(spec.get("initContainers") or ()), *spec["containers"]]
    [owner] = meta["ownerReferences"]
    return {
        "name": meta["name"],
        "owner": [owner[key] for key in ("apiVersion", "kind", "name", "controller")],
        "labels": meta["labels"],
        "run-for": meta["annotations"].get("run-for"),
        "restarts": spec["restartPolicy"],
        "containers": [[each["name"], each["resources"].get("requests")] for each in every],
    }


def _said(obj: Object) -> Step:
    """The words in which an object tells its state."""
    spec, status = obj["spec"], obj.get("status", {})
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    match obj["kind"]:
        case "RayJob":
            return [bool(spec.get("suspend")), status.get("jobDeploymentStatus")]
        case "RayCluster":
            types = ("Suspending", "Suspended", "Provisioned")
            return [status.get("state"), *(conditions.get(f"RayCluster{each}") for each in types)]
        case "SparkApplication":
            attempts = [status.get(f"{each}Attempts") for each in ("submission", "execution")]
            return [spec.get("suspend"), status.get("applicationState", {}).get("state"), *attempts]
        case "Workflow":
            return [spec.get("suspend"), status.get("phase"), status.get("message")]
        case _:
            return sorted(each for each, held in conditions.items() if held == "True")


def _last(obj: Object) -> Step:
    """What is to be the same of what an object said last."""
    status = obj.get("status", {})
    match obj["kind"]:
        case "RayJob":
            known = {key: each for key, each in status.items() if key not in UNTOLD}
            if status.get("jobDeploymentStatus") == "Failed":
                # Of the Job that submits and the dashboard KubeRay believes whom it asks first.
                return {key: known[key] for key in ("jobDeploymentStatus", "failed", "succeeded")}
            return known
        case "RayCluster":
            fields = ("desiredWorkerReplicas", "readyWorkerReplicas", "desiredCPU", "desiredMemory")
            labels = obj["metadata"].get("labels")
            words = ("type", "status", "reason", "message")
            return {
                **{key: status.get(key) for key in (*fields, "state")},
                "labels": labels,
                "conditions": [
                    [each[word] for word in words] for each in status.get("conditions") or ()
                ],
            }
        case "SparkApplication":
            return [
                status.get("applicationState"),
                sorted(status.get("executorState", {}).values()),
            ]
        case "Workflow":
            return _workflow(obj, status)
        case _:
            return [obj["kind"], obj["metadata"]["labels"], obj["spec"]["backoffLimit"]]


def _workflow(obj: Object, status: Object) -> Step:
    nodes = {
        id_: {key: each.get(key) for key in NODES} for id_, each in status.get("nodes", {}).items()
    }
    said = {key: status.get(key) for key in ("phase", "message", "progress", "synchronization")}
    return {**said, "labels": obj["metadata"]["labels"], "nodes": nodes, "spec": obj["spec"]}


def plain(value: Any, namespace: str) -> Any:
    """A value without what is random."""
    match value:
        case dict():
            return {key: plain(each, namespace) for key, each in sorted(value.items())}
        case list():
            return [plain(each, namespace) for each in value]
        case str():
            text = HEXES.sub("HEX", value.replace(namespace, "NAMESPACE"))
            text = re.sub(r"StartTime: .*? UTC", "StartTime: TIME", text)
            return RANDOM.sub("-?????", SUBMISSIONS.sub("-HEX-exec-", text))
        case _:
            return value


def _add(steps: list[Step], step: Step) -> None:
    if not steps or steps[-1] != step:
        steps.append(step)


def differing(real: Sequence[Step], ours: Sequence[Step]) -> str:
    """Two lists of states, for people; empty if they are the same."""
    lines = ["real:", *map(str, real), "simulated:", *map(str, ours)]
    return "\n  ".join(lines) if list(real) != list(ours) else ""
