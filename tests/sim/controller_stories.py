"""What was seen of a scene, without what differs from run to run, and how two runs are compared."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from controller_stage import Happened

Step = Any

NAMES = re.compile(r"\b(a(?:-\d)?|c-\d+)-[a-z0-9]{5,6}\b")
NODES = re.compile(r"\bnode-\d+\b")
CRON_CHILDREN = re.compile(r"\bc-\d+\b")
TIMES = frozenset(
    {"lastProbeTime", "lastTransitionTime", "lastScheduleTime", "resourceVersion", "uid"}
)
WORD_CONDITIONS = ("type", "status", "reason", "message")


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The states through which the objects of a scene went."""

    jobs: dict[str, list[Step]]
    """Each job's states, and those of CronJobs."""
    pods: list[list[Step]]
    """Each pod's states, pods as they were made."""
    events: frozenset[tuple[str, ...]]
    quotas: list[Step]

    @classmethod
    def of(cls, namespace: str, happened: Iterable[Happened]) -> "Story":
        """The story that watch events tell."""
        jobs: dict[str, list[Step]] = {}
        pods: dict[str, list[Step]] = {}
        quotas: list[Step] = []
        events = set()
        for each in happened:
            match each.kind:
                case "Job" | "CronJob":
                    name = f"{each.kind} {CRON_CHILDREN.sub('c-N', each.name)}"
                    _add(jobs.setdefault(name, []), job_state(each, namespace))
                case "Pod":
                    _add(pods.setdefault(each.name, []), pod_state(each, namespace))
                case "Event":
                    events.add(event_of(each.obj, namespace))
                case "ResourceQuota":
                    _add(quotas, each.obj.get("status"))
        return cls(
            jobs=jobs,
            pods=list(pods.values()),
            events=frozenset(events),
            quotas=quotas,
        )


def job_state(happened: Happened, namespace: str) -> Step:
    """A job without times and names."""
    if happened.type == "DELETED":
        return "gone"
    obj = happened.obj
    return {
        "suspend": obj["spec"].get("suspend"),
        "deleting": "deletionTimestamp" in obj["metadata"],
        "finalizers": obj["metadata"].get("finalizers", []),
        "status": _plain(obj.get("status", {}), namespace),
    }


def pod_state(happened: Happened, namespace: str) -> Step:
    """A pod by its phase, its conditions, and what keeps it."""
    if happened.type == "DELETED":
        return "gone"
    obj, meta = happened.obj, happened.obj["metadata"]
    conditions = obj["status"].get("conditions") or ()
    return {
        "phase": obj["status"]["phase"],
        "bound": bool(obj["spec"].get("nodeName")),
        "deleting": "deletionTimestamp" in meta,
        "grace": meta.get("deletionGracePeriodSeconds"),
        "tracked": bool(meta.get("finalizers")),
        "owned": bool(meta.get("ownerReferences")),
        "conditions": {
            each["type"]: [each["status"], each.get("reason"), each.get("message")]
            for each in conditions
        },
    }


def event_of(obj: Any, namespace: str) -> tuple[str, ...]:
    """An event's words."""
    about = obj["involvedObject"]["kind"]
    return about, obj["reason"], obj["type"], _text(obj["message"], namespace)


def milestones(steps: Sequence[Step]) -> list[Step]:
    """A job's states by what is said once and for all: suspension, conditions, deletion."""
    found: list[Step] = []
    for step in steps:
        _add(found, step if step == "gone" else _milestone(step))
    return found


def outlines(pods: Iterable[Sequence[Step]]) -> list[list[Step]]:
    """Pods' states by phase and deletion alone."""
    found = []
    for steps in pods:
        outline: list[Step] = []
        for step in steps:
            _add(outline, step if step == "gone" else [step["phase"], step["deleting"]])
        found.append(outline)
    return sorted(found, key=repr)


def is_coalesced(seen: Sequence[Step], whole: Sequence[Step]) -> bool:
    """Whether a sequence is another one with steps left out."""
    steps = iter(whole)
    return all(any(step == each for each in steps) for step in seen)


def _milestone(step: Step) -> Step:
    status = step["status"]
    return {
        "suspend": step["suspend"],
        "deleting": step["deleting"],
        "finalizers": step["finalizers"],
        "conditions": status.get("conditions", []),
        "started": "startTime" in status,
        "completed": "completionTime" in status,
    }


def _add(steps: list[Step], step: Step) -> None:
    if not steps or steps[-1] != step:
        steps.append(step)


def _plain(value: Any, namespace: str) -> Any:
    match value:
        case dict():
            return {
                key: "some" if key in TIMES or key.endswith("Time") else _plain(each, namespace)
                for key, each in value.items()
                if key not in ("lastProbeTime", "lastTransitionTime")
            }
        case [str(), *_]:
            return len(value)
        case list():
            return [_plain(each, namespace) for each in value]
        case str():
            return _text(value, namespace)
        case _:
            return value


def _text(text: str, namespace: str) -> str:
    text = NODES.sub("node-N", text.replace(namespace, "NAMESPACE"))
    return CRON_CHILDREN.sub("c-N", NAMES.sub(r"\1-?????", text))
