"""The scheduler: pods go to nodes that have room for them, the most urgent first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kq.core.codec import format_time
from kq.core.kinds import Object
from kq.core.resources import parse_resources
from kq.sim.cluster.nodes import Amounts, Room, asked_by, choose, name_of
from kq.sim.control.controller import Due, Key, Pace
from kq.sim.control.objects import (
    NODES,
    PODS,
    condition,
    is_deleted,
    is_ended,
    node_of,
    place_of,
    status_of,
    uid_of,
)
from kq.sim.control.view import Happened, View
from kq.sim.control.writes import Create, Patch, Plan, Record, Write, is_written, taken

SCHEDULER = "default-scheduler"
_CYCLE = Key("", "", "cycle")


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A pod that wants a node."""

    priority: int
    asked: Amounts
    shape: str
    """What decides which nodes it fits on: pods with the same fit together or not at all."""


class Scheduler:
    """Binds pods; looks at new ones when they come, and at all that wait when room is made."""

    name = "kube-scheduler"
    pace = Pace(first=1.0, longest=10.0)
    kinds: tuple[str, ...] = (NODES, PODS)

    def __init__(self) -> None:
        self._rooms: dict[str, Room] = {}
        self._charged: dict[str, tuple[str, Amounts]] = {}
        self._waiting: dict[str, Waiting] = {}
        self._to_try: dict[str, None] = {}

    def concerns(self, happened: Happened, view: View, now: datetime) -> Iterable[Due]:
        """Pods that come to wait, and room that is made for those that do."""
        saw = self._saw_node if happened.kind == NODES else self._saw_pod
        if saw(happened):
            self._to_try = dict.fromkeys(self._waiting)
        if self._to_try:
            yield Due(_CYCLE)

    def sync(self, key: Key, view: View, now: datetime) -> Plan:
        """Binds the pods that fit, the most urgent first, and the oldest of those."""
        tried, self._to_try = self._to_try, {}
        waiting = [uid for uid in tried if uid in self._waiting]
        hopeless: dict[str, str] = {}
        for uid in sorted(waiting, key=lambda uid: -self._waiting[uid].priority):
            known, wanted = view.known(uid), self._waiting.get(uid)
            if known is None or wanted is None:
                continue
            message = hopeless.get(wanted.shape)
            node, why = (None, {}) if message else choose(self._rooms, known.obj, wanted.asked)
            if node is None:
                hopeless[wanted.shape] = message or _message(self._nodes(), why)
                yield _told(known.obj, hopeless[wanted.shape], now)
                continue
            outcomes = yield _bound(known.obj, node)
            if not is_written(outcomes[0]):
                self._to_try = tried
                taken(outcomes)
        return None

    def _nodes(self) -> int:
        return sum(room.node is not None for room in self._rooms.values())

    def _saw_node(self, happened: Happened) -> bool:
        name = name_of(happened.newest)
        room = self._rooms.setdefault(name, Room())
        room.node = happened.after
        if happened.after is None:
            return False
        has = parse_resources(status_of(happened.after).get("allocatable"), f"node {name}")
        room.has = dict(has.items())
        return True

    def _saw_pod(self, happened: Happened) -> bool:
        """Takes in a pod; whether that makes room."""
        pod, uid = happened.newest, uid_of(happened.newest)
        is_over = happened.after is None or is_ended(pod)
        if not is_over and waits(pod):
            if uid not in self._waiting:
                self._waiting[uid] = _waiting(pod)
                self._to_try[uid] = None
            return False
        self._waiting.pop(uid, None)
        if is_over:
            return self._release(uid)
        if node_of(pod) and uid not in self._charged:
            self._take(uid, node_of(pod), asked_by(pod))
        return False

    def _take(self, uid: str, node: str, asked: Amounts) -> None:
        self._charged[uid] = node, asked
        self._rooms.setdefault(node, Room()).charge(asked, 1)

    def _release(self, uid: str) -> bool:
        if uid not in self._charged:
            return False
        node, asked = self._charged.pop(uid)
        self._rooms[node].charge(asked, -1)
        return True


def waits(pod: Object) -> bool:
    """Whether a pod is this scheduler's to bind."""
    spec = pod["spec"]
    return (
        not node_of(pod)
        and not is_deleted(pod)
        and spec.get("schedulerName", SCHEDULER) == SCHEDULER
        and not spec.get("schedulingGates")
    )


def _waiting(pod: Object) -> Waiting:
    spec, asked = pod["spec"], asked_by(pod)
    shape = f"{sorted(asked.items())}{spec.get('nodeSelector')}{spec.get('tolerations')}"
    return Waiting(priority=spec.get("priority") or 0, asked=asked, shape=shape)


def _bound(pod: Object, node: str) -> list[Write]:
    namespace, name = place_of(pod)
    binding: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": namespace, "uid": uid_of(pod)},
        "target": {"kind": "Node", "name": node},
    }
    text = f"Successfully assigned {namespace}/{name} to {node}"
    return [
        Create(kind=PODS, namespace=namespace, name=name, subresource="binding", body=binding),
        Record(about=pod, reason="Scheduled", message=text),
    ]


def _told(pod: Object, message: str, now: datetime) -> Sequence[Write]:
    conditions = list(status_of(pod).get("conditions") or ())
    said = condition(conditions, "PodScheduled")
    if said is not None and said.get("message") == message:
        return []
    told = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "lastProbeTime": None,
        "lastTransitionTime": format_time(now),
    }
    namespace, name = place_of(pod)
    kept = [each for each in conditions if each is not said]
    body = {"status": {"conditions": [*kept, told]}}
    return [
        Patch(kind=PODS, namespace=namespace, name=name, body=body, subresource="status"),
        Record(about=pod, reason="FailedScheduling", message=message, is_warning=True),
    ]


def _message(nodes: int, why: Mapping[str, int]) -> str:
    if not why:
        return "no nodes available to schedule pods"
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in why.items()))
    return (
        f"0/{nodes} nodes are available: {reasons}. no new claims to deallocate, preemption:"
        f" 0/{nodes} nodes are available: {nodes} Preemption is not helpful for scheduling."
    )
