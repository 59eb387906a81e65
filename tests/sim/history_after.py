"""What is there when a history is over, and whether a history without mishaps ends the same.

Left out is what time alone decides: who started first, how often one was evicted, names drawn by
operators, moments. An edit of a job does what it does at its moment: whether it found a job that
waits, runs or is over may differ, so of such a job only its end and what it holds is compared.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from history_kinds import case_of
from history_onlooker import is_over
from history_steps import (
    EDITS,
    Delete,
    DeleteUnit,
    Drop,
    Govern,
    History,
    LosePods,
    LoseWebhook,
    Stop,
    Submit,
)

from kq.core import keys
from kq.core.kinds import JOB, QUEUE, QUEUE_UNIT
from kq.sim.api.storage import Storage

Object = dict[str, Any]
State = Mapping[str, Object]
"""What is left, by kind and name."""

COUNTS = ("pendingUnits", "reservingUnits", "admittedUnits")
WEBHOOK_SECONDS = 20.0
"""So long a webhook may take to come up when all goes wrong."""
DRAWN = re.compile(r"(-[bcdfghjklmnpqrstvwxz2456789]{5})+$")
"""Letters by which API server and operators make names their own."""
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
OF_NOBODY = ("Event", "Lease", "Pod", "ControllerRevision")
"""Pods of ended jobs stay or go as their operators like; live ones are told of."""


def state_of(storage: Storage, namespace: str) -> State:
    """All that is left in a namespace, and what its Queues say."""
    found: dict[str, Object] = {}
    for obj in objects_in(storage):
        meta, kind = obj["metadata"], obj["kind"]
        if kind == QUEUE.kind:
            found[f"{kind} {meta['name']}"] = _queue(obj)
        if meta.get("namespace") != namespace:
            continue
        name = f"{kind} {DRAWN.sub('-*', meta['name'])}"
        if kind == "Pod":
            if obj["status"].get("phase") not in ("Succeeded", "Failed"):
                found[f"live {name}"] = {}
        elif kind not in OF_NOBODY:
            found[name] = _left(obj)
    return found


def objects_in(storage: Storage) -> Iterator[Object]:
    """Everything that is stored."""
    for shelf in storage._shelves.values():
        for stored in shelf.objects.values():
            yield stored.read()


def _left(obj: Object) -> Object:
    if obj["kind"] == QUEUE_UNIT.kind:
        return _unit(obj)
    if obj["metadata"].get("ownerReferences"):
        return {}
    case = case_of(obj["kind"])
    if case.kind.kind != obj["kind"]:
        return {}
    return {
        "over": is_over(case, obj),
        "held": case.is_held(obj),
        "succeeded": obj.get("status", {}).get("succeeded"),
        **_marks(obj),
    }


def _unit(unit: Object) -> Object:
    spec, status = unit["spec"], unit.get("status", {})
    conditions = {each["type"]: each["status"] for each in status.get("conditions", ())}
    return {
        "phase": status.get("phase"),
        "message": status.get("message"),
        "grants": status.get("admissions") or [],
        "attempts": status.get("attempts"),
        "finished": conditions.get("Finished"),
        "active": spec.get("active", True),
        "queue": spec.get("queue"),
        "priority": spec.get("priority"),
        "request": spec.get("request"),
        **_marks(unit, without=(keys.SUSPEND,)),
    }


def _marks(obj: Object, without: Collection[str] = ()) -> Object:
    """Labels and annotations, without their moments, and without those that moments decide."""
    meta = obj["metadata"]
    marks = meta.get("annotations") or {}
    said = {key: MOMENT.sub("T", text) for key, text in marks.items() if key not in without}
    return {"labels": meta.get("labels") or {}, "annotations": said}


def _queue(queue: Object) -> Object:
    spec, status = queue["spec"], queue.get("status", {})
    active = status.get("queueItemDetails", {}).get("active") or []
    return {
        "policy": spec.get("queuePolicy"),
        "counts": [status.get(each, 0) for each in COUNTS],
        "line": [each["name"] for each in active],
        "usage": status.get("usage"),
        "conditions": {each["type"]: each["status"] for each in status.get("conditions", ())},
        **_marks(queue),
    }


def differences(history: History, one: State, other: State) -> list[str]:
    """Where the end of a history differs from what it is when nothing goes wrong."""
    settled = Settled(history, (one, other))
    told: list[str] = []
    for name in sorted({*one, *other}):
        if settled.is_left_to_time(name):
            continue
        if name not in one or name not in other:
            where = "undisturbed" if name in other else "after mishaps"
            told.append(f"{name} is left only {where}")
            continue
        told += [
            f"{name}: {key} is {one[name][key]!r}, undisturbed {other[name][key]!r}"
            for key in settled.told(name, one[name])
            if one[name][key] != other[name][key]
        ]
    return told


class Settled:
    """What of an end does not depend on moments."""

    def __init__(self, history: History, states: Iterable[State]) -> None:
        steps = history.steps
        submits = [each for each in steps if isinstance(each, Submit)]
        self._jobs = sorted({each.name for each in submits}, key=len, reverse=True)
        self._edited = {each.name for each in steps if isinstance(each, EDITS)}
        self._unnamed = {each.name for each in steps if isinstance(each, DeleteUnit)}
        losses = [each for each in steps if isinstance(each, LoseWebhook)]
        self._late = {
            each.name
            for each in submits
            for loss in losses
            if loss.at <= each.at <= loss.at + loss.seconds + WEBHOOK_SECONDS
        }
        rules = [each for each in steps if isinstance(each, Govern)]
        self._evicts = any(isinstance(each, (Stop, Drop)) for each in steps) or any(
            each.preempts or each.waits_for_pods or each.reclaims != "Never" for each in rules
        )
        waiting = {
            self._job_of(name)
            for state in states
            for name, left in state.items()
            if name.startswith(QUEUE_UNIT.kind) and left["phase"] in (None, "Enqueued")
        }
        self._has_waiters = bool(waiting)
        # One that may wait for ever (Ends knows) has started if its limit came later than its turn.
        self._left_to_time = waiting
        # Most operators take it for an end, if they have pods at that moment.
        lost = {each.name for each in steps if isinstance(each, LosePods)}
        self._left_to_time |= lost & {each.name for each in submits if each.kind != JOB.kind}
        # Some are submitted when the webhook is up again, whatever was done to them before.
        touched = {each.name for each in steps if isinstance(each, (*EDITS, Delete))}
        self._left_to_time |= self._late & touched

    def is_left_to_time(self, name: str) -> bool:
        """Whether nothing of it can be compared, not even whether it is there."""
        job = self._job_of(name)
        is_unit = name.startswith(QUEUE_UNIT.kind)
        return job in self._left_to_time or (is_unit and job in self._unnamed)

    def told(self, name: str, left: Object) -> Iterator[str]:
        """What is compared of one thing."""
        yield from (key for key in left if not self._is_dropped(name, key))

    def _is_dropped(self, name: str, key: str) -> bool:
        if name.startswith(f"{QUEUE.kind} "):
            return self._has_waiters and key in ("counts", "line", "conditions")
        job = self._job_of(name)
        is_edited = job in self._edited
        match key:
            # One that is stopped as it ends has ended all the same.
            case "attempts" | "held":
                return self._evicts or is_edited
            case "annotations":
                return self._evicts or is_edited or job in self._late
            case "labels":
                return is_edited or job in self._late
            case "request":
                # What it asked for when its unit was made: was its JobSet there already?
                return name.endswith("-train-qu")
            case _:
                return is_edited and key in ("active", "queue", "priority")

    def _job_of(self, name: str) -> str:
        """The job that a thing belongs to: its name begins with that."""
        own = name.rpartition(" ")[2]
        return next((job for job in self._jobs if f"{own}-".startswith(f"{job}-")), "")
