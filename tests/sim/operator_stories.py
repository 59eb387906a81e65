"""What was seen of an operator's job, without what differs from run to run."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from controller_stage import Happened, Object
from controller_stories import outlines

Step = Any

UIDS = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
RANDOM = re.compile(r"-[a-z0-9]{5}$")
KEYS = re.compile(r"^[0-9a-f]{40}$")
"""Hashes over the namespace."""
COUNTED = re.compile(r"because \d+ \w+ replica")
"""Of two roles that fail at once the real operator tells one, whichever it comes upon."""
WORDS = ("type", "status", "reason", "message")
TIMES = ("startTime", "completionTime")
BY_WEBHOOK = "jobset.sigs.k8s.io/priority"
"""A label that JobSet's webhook for pods writes, which has nothing to do with a queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The states through which the objects of a scene went."""

    jobs: dict[str, list[Step]]
    """What each job, and each that it made, said once and for all."""
    ends: dict[str, Step]
    """What each of them that is still there said last."""
    made: list[Step]
    """The pods as they were made: owner, labels, restart policy, requests."""
    pods: list[list[Step]]
    """Each pod by phase and deletion."""

    @classmethod
    def of(cls, namespace: str, happened: Iterable[Happened]) -> "Story":
        """The story that watch events tell."""
        jobs: dict[str, list[Step]] = {}
        ends: dict[str, Step] = {}
        pods: dict[str, list[Step]] = {}
        made: dict[str, Step] = {}
        for each in happened:
            uid = each.obj["metadata"]["uid"]
            if each.kind == "Pod":
                made.setdefault(uid, _made(each.obj, namespace))
                _add(pods.setdefault(uid, []), _outline(each))
            elif each.kind != "ServiceAccount":
                name = f"{each.kind} {each.name}"
                _add(jobs.setdefault(name, []), _milestone(each, namespace))
                ends[name] = _last(each, namespace)
                if each.type == "DELETED":
                    del ends[name]
        return cls(
            jobs=jobs,
            ends=ends,
            made=sorted(made.values(), key=repr),
            pods=outlines(pods.values()),
        )

    @property
    def last(self) -> list[Step]:
        """How the pods ended."""
        return sorted((steps[-1] for steps in self.pods), key=repr)


def _outline(happened: Happened) -> Step:
    obj = happened.obj
    if happened.type == "DELETED":
        return "gone"
    return {"phase": obj["status"]["phase"], "deleting": "deletionTimestamp" in obj["metadata"]}


def _made(pod: Object, namespace: str) -> Step:
    meta, spec = pod["metadata"], pod["spec"]
    [owner] = meta["ownerReferences"]
    labels = {key: each for key, each in meta["labels"].items() if key != BY_WEBHOOK}
    every = [*(spec.get("initContainers") or ()), *spec["containers"]]
    return plain(
        {
            "name": RANDOM.sub("-?????", meta["name"]) if "generateName" in meta else meta["name"],
            "owner": {key: owner[key] for key in ("apiVersion", "kind", "name", "controller")},
            "labels": labels,
            "annotations": meta.get("annotations"),
            "restarts": spec["restartPolicy"],
            "place": [spec.get("hostname"), spec.get("subdomain")],
            "containers": [[each["name"], each["image"], each["resources"]] for each in every],
        },
        namespace,
    )


def _milestone(happened: Happened, namespace: str) -> Step:
    if happened.type == "DELETED":
        return "gone"
    obj, status = happened.obj, happened.obj.get("status", {})
    spec = obj["spec"]
    owners = obj["metadata"].get("ownerReferences") or ()
    said = [{key: each.get(key) for key in WORDS} for each in status.get("conditions") or ()]
    return plain(
        {
            "suspend": spec.get("runPolicy", spec).get("suspend"),
            "owners": [[each["kind"], each["controller"]] for each in owners],
            "conditions": said,
            **{key: key in status for key in TIMES},
        },
        namespace,
    )


def _last(happened: Happened, namespace: str) -> Step:
    status = happened.obj.get("status", {})
    labels = happened.obj["metadata"].get("labels")
    counts = {key: each for key, each in status.items() if key not in ("conditions", *TIMES)}
    counts.pop("uncountedTerminatedPods", None)
    # After the end it depends on the order of a Go map whether the selector of workers is kept.
    for each in status.get("replicaStatuses", {}).values():
        each.pop("selector", None)
    return plain({"labels": labels, "counts": counts}, namespace)


def plain(value: Any, namespace: str) -> Any:
    """A value without what is random."""
    match value:
        case dict():
            return {key: plain(each, namespace) for key, each in value.items()}
        case list():
            return [plain(each, namespace) for each in value]
        case str():
            text = UIDS.sub("UID", value.replace(namespace, "NAMESPACE"))
            return KEYS.sub("HASH", COUNTED.sub("because N of a role", text))
        case _:
            return value


def _add(steps: list[Step], step: Step) -> None:
    if not steps or steps[-1] != step:
        steps.append(step)


def differing(real: Sequence[Step], ours: Sequence[Step]) -> str:
    """Two lists of states, for people."""
    lines = ["real:", *map(str, real), "simulated:", *map(str, ours)]
    return "\n  ".join(lines) if list(real) != list(ours) else ""
