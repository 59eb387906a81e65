"""What kubelets do, on nodes that have none: pods start, run, end, and go when they are deleted."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from kq.core.codec import format_time
from kq.core.kinds import Object
from kq.sim.cluster.plays import Play, Plays, by_annotation
from kq.sim.control.controller import Due, Key, Pace
from kq.sim.control.objects import (
    PODS,
    is_deleted,
    node_of,
    phase_of,
    place_of,
    status_of,
    uid_of,
)
from kq.sim.control.view import Happened, View
from kq.sim.control.writes import Delete, Patch, Plan, is_written, taken


class Stage(StrEnum):
    """What a pod on a node will do next."""

    START = "start"
    END = "end"
    GO = "go"


class Kubelets:
    """Plays all pods that are bound to nodes."""

    name = "kubelets"
    pace = Pace(first=1.0, longest=60.0)
    kinds: tuple[str, ...] = (PODS,)

    def __init__(self, plays: Plays = by_annotation) -> None:
        self._plays = plays
        self._next: dict[str, tuple[Stage, Play, datetime]] = {}
        self._started = 0

    def concerns(self, happened: Happened, view: View, now: datetime) -> Iterable[Due]:
        """A pod that comes to its next stage, when that is due."""
        pod = happened.newest
        stage = None if happened.after is None else stage_of(pod)
        if stage is None:
            self._next.pop(uid_of(pod), None)
            return
        known = self._next.get(uid_of(pod))
        if known is not None and known[0] is stage:
            return
        play = self._plays(pod)
        wait = _wait(stage, play)
        if wait is None:
            self._next.pop(uid_of(pod), None)
            return
        self._next[uid_of(pod)] = stage, play, now + timedelta(seconds=wait)
        yield Due(Key(*place_of(pod), uid_of(pod)), wait)

    def sync(self, key: Key, view: View, now: datetime) -> Plan:
        """The pod's next stage, if it is due."""
        pod = view.get(PODS, key.namespace, key.name)
        if pod is None or uid_of(pod) != key.about or key.about not in self._next:
            return None
        stage, play, due = self._next[key.about]
        if now < due:
            return due - now
        outcomes = yield [self._write(pod, stage, play, now)]
        if not all(map(is_written, outcomes)):
            taken(outcomes)
        return None

    def _write(self, pod: Object, stage: Stage, play: Play, now: datetime) -> Patch | Delete:
        namespace, name = place_of(pod)
        if stage is Stage.GO:
            return Delete(
                kind=PODS,
                namespace=namespace,
                name=name,
                uid=uid_of(pod),
                grace=0,
                propagation=None,
            )
        status = (
            _running(pod, self._address(), now) if stage is Stage.START else _over(pod, play, now)
        )
        return Patch(
            kind=PODS, namespace=namespace, name=name, body={"status": status}, subresource="status"
        )

    def _address(self) -> str:
        self._started += 1
        number = self._started % 2**24
        return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"


def stage_of(pod: Object) -> Stage | None:
    """What a pod will do next; None if it does nothing by itself."""
    if not node_of(pod):
        return None
    if is_deleted(pod):
        return Stage.GO
    match phase_of(pod):
        case "Pending":
            return Stage.START
        case "Running":
            return Stage.END
        case _:
            return None


def _wait(stage: Stage, play: Play) -> float | None:
    match stage:
        case Stage.START:
            return play.start_after
        case Stage.END:
            return play.run_for
        case Stage.GO:
            return play.linger


def _running(pod: Object, address: str, now: datetime) -> dict[str, Any]:
    at = format_time(now)
    true = [_condition(each, "True", at) for each in ("Initialized", "Ready", "ContainersReady")]
    status: dict[str, Any] = {
        "conditions": [*true, *_others(pod, true)],
        "containerStatuses": [
            _container(each, {"running": {"startedAt": at}}) for each in pod["spec"]["containers"]
        ],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "phase": "Running",
        "startTime": at,
    }
    if initial := [_initial(each, at) for each in pod["spec"].get("initContainers") or ()]:
        status["initContainerStatuses"] = initial
    return status


def _over(pod: Object, play: Play, now: datetime) -> dict[str, Any]:
    at = format_time(now)
    reason = "PodFailed" if play.fails else "PodCompleted"
    false = [
        {**_condition(each, "False", at), "reason": reason} for each in ("Ready", "ContainersReady")
    ]
    end = {
        "exitCode": int(play.fails),
        "reason": "Error" if play.fails else "Completed",
        "startedAt": status_of(pod).get("startTime", at),
        "finishedAt": at,
    }
    return {
        "conditions": [*_others(pod, false), *false],
        "containerStatuses": [
            _container(each, {"terminated": end}) for each in pod["spec"]["containers"]
        ],
        "phase": "Failed" if play.fails else "Succeeded",
    }


def _others(pod: Object, replaced: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    types = {each["type"] for each in replaced}
    conditions = status_of(pod).get("conditions") or ()
    return (each for each in conditions if each["type"] not in types)


def _condition(type_: str, status: str, at: str) -> dict[str, Any]:
    return {"type": type_, "status": status, "lastProbeTime": None, "lastTransitionTime": at}


def _initial(container: Object, at: str) -> dict[str, Any]:
    if container.get("restartPolicy") == "Always":
        return _container(container, {"running": {"startedAt": at}})
    end = {"exitCode": 0, "reason": "Completed", "startedAt": at, "finishedAt": at}
    return {**_container(container, {"terminated": end}), "ready": True}


def _container(container: Object, state: Object) -> dict[str, Any]:
    runs = "running" in state
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": runs,
        "started": runs,
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }
