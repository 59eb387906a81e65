"""A cluster around a whole manager: its Jobs run, its network is bad, and somebody looks on."""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from api import Api, Asked, Change, Happened, Json, Weather

from kq.core import codec
from kq.core.kinds import EVENT, JOB, POD, QUEUE_UNIT, ResourceKind
from kq.kube.errors import Gone, Indeterminate, ServerError, TooManyRequests

HOLDING = ("Reserved", "Dequeued", "Running")
TOUCHED = (JOB, QUEUE_UNIT)


class Jobs:
    """Kubernetes' part: a Job that is not suspended gets its pod, which runs for a while."""

    def __init__(self, api: Api, chance: random.Random, *, seconds: tuple[float, float]) -> None:
        self._api = api
        self._chance = chance
        self._seconds = seconds
        api.listeners.append(self._on_change)

    def _on_change(self, change: Change) -> None:
        if change.kind is JOB and change.new is not None:
            self._later(self._chance.uniform(0.0, 0.2), self._look, change.key)

    def _later(self, seconds: float, act: Any, key: str) -> None:
        asyncio.get_running_loop().call_later(seconds, act, key)

    def _look(self, key: str) -> None:
        job = self._api.all(JOB).get(key)
        if job is None or is_complete(job):
            return
        has_pod = key in self._api.all(POD)
        if job["spec"]["suspend"] and has_pod:
            self._api.remove(POD, key)
            self._api.edit(JOB, key, {"status": {"active": 0}})
        elif not job["spec"]["suspend"] and not has_pod:
            self._api.put(POD, pod_of(job))
            started = codec.format_time(self._api.clock())
            self._api.edit(JOB, key, {"status": {"active": 1, "startTime": started}})
            self._later(self._chance.uniform(0.0, 0.5), self._run, key)

    def _run(self, key: str) -> None:
        if key in self._api.all(POD):
            self._api.edit(POD, key, {"status": {"phase": "Running"}})
            self._later(self._chance.uniform(*self._seconds), self._end, key)

    def _end(self, key: str) -> None:
        if key in self._api.all(POD):
            self._api.edit(POD, key, {"status": {"phase": "Succeeded"}})
            done = {"type": "Complete", "status": "True"}
            status = {"active": 0, "succeeded": 1, "conditions": [done]}
            self._api.edit(JOB, key, {"status": status})


class Storm(Weather):
    """Requests are slow, refused or not answered, others write in between, watches lag.

    `edits` is how often, per request, somebody gives a unit another priority.
    """

    edits = 0.05

    def __init__(self, api: Api, chance: random.Random) -> None:
        self._api = api
        self._chance = chance
        self._touches = 0
        self.met: Counter[str] = Counter()

    async def before(self, asked: Asked) -> None:
        await asyncio.sleep(self._chance.uniform(0.0, 0.05))
        if asked.kind is EVENT:
            return
        match self._chance.random():
            case luck if luck < 0.03:
                self._raise(ServerError("etcdserver: request timed out", code=500))
            case luck if luck < 0.05:
                self._raise(TooManyRequests("the server is busy", code=429))
            case luck if luck < 0.08 and asked.is_write:
                self._raise(Indeterminate("the connection broke"))
            case luck if luck < 0.16 and asked.verb == "patch" and asked.kind in TOUCHED:
                self._touch(asked)

        self._reorder()

    async def after(self, asked: Asked) -> None:
        await asyncio.sleep(self._chance.uniform(0.0, 0.05))
        if asked.is_write and asked.kind is not EVENT and self._chance.random() < 0.08:
            self.met["answer lost"] += 1
            raise Indeterminate("no answer came")

    async def on_watch(self, kind: ResourceKind, happened: Happened) -> int:
        luck = self._chance.random()
        due = happened.time + self._chance.uniform(0.0, 0.6)
        await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))
        if luck < 0.01:
            self._raise(Indeterminate("the watch broke"))
        if luck < 0.015:
            self._raise(Gone("too old resource version", code=410))
        self.met["shown twice"] += luck > 0.95
        return 2 if luck > 0.95 else 1

    def _touch(self, asked: Asked) -> None:
        """Somebody else writes the object just before we do."""
        if asked.key in self._api.all(asked.kind):
            self.met["touched"] += 1
            self._touches += 1
            mark = {"example.com/touch": str(self._touches)}
            self._api.edit(asked.kind, asked.key, {"metadata": {"annotations": mark}})

    def _reorder(self) -> None:
        """Now and then somebody edits the priority of a unit."""
        units = self._api.all(QUEUE_UNIT)
        if units and self._chance.random() < self.edits:
            self.met["priority"] += 1
            priority = {"spec": {"priority": self._chance.randint(0, 9)}}
            self._api.edit(QUEUE_UNIT, self._chance.choice(list(units)), priority)

    def _raise(self, error: Exception) -> None:
        self.met[type(error).__name__] += 1
        raise error


@dataclass
class Onlooker:
    """Sees every change as it happens; what may never be is noted with its moment."""

    api: Api
    limit: int
    released: Counter[str] = field(default_factory=Counter)
    granted: list[str] = field(default_factory=list)
    wrongs: list[str] = field(default_factory=list)
    most: int = 0

    def __post_init__(self) -> None:
        self._holding: dict[str, set[str]] = {"units": set(), "jobs": set(), "pods": set()}
        self.api.listeners.append(self._on_change)

    def _on_change(self, change: Change) -> None:
        if change.kind is QUEUE_UNIT:
            self._note("units", change.key, change.new is not None and holds(change.new))
            if change.new and holds(change.new) and not (change.old and holds(change.old)):
                self.granted.append(change.key)
        elif change.kind is POD:
            self._note("pods", change.key, change.new is not None and is_live(change.new))
        elif change.kind is JOB:
            self._note("jobs", change.key, change.new is not None and runs(change.new))
            self._look_at_release(change)

    def _note(self, what: str, key: str, holding: bool) -> None:
        (self._holding[what].add if holding else self._holding[what].discard)(key)
        using = set().union(*self._holding.values())
        used = sum(cpu_of(self.api.find(JOB, each)) for each in using)
        self.most = max(self.most, used)
        if used > self.limit:
            self.wrongs.append(f"{self.api.version}: {used} at once: {sorted(using)}")

    def _look_at_release(self, change: Change) -> None:
        if not (change.old and change.new and runs(change.new) and not runs(change.old)):
            return
        self.released[change.key] += 1
        if change.key not in self._holding["units"]:
            self.wrongs.append(f"{self.api.version}: {change.key} was released without a grant")


def holds(unit: Json) -> bool:
    return unit.get("status", {}).get("phase") in HOLDING


def cpu_of(job: Json) -> int:
    container = job["spec"]["template"]["spec"]["containers"][0]
    return int(container["resources"]["requests"]["cpu"])


def is_live(pod: Json) -> bool:
    return pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")


def runs(job: Json) -> bool:
    return not job["spec"]["suspend"] and not is_complete(job)


def is_complete(job: Json) -> bool:
    conditions = job.get("status", {}).get("conditions", ())
    return any(each["type"] == "Complete" for each in conditions)


def pod_of(job: Json) -> Json:
    meta = job["metadata"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": meta["name"], "uid": meta["uid"]}
    return {
        "metadata": {
            "namespace": meta["namespace"],
            "name": meta["name"],
            "labels": dict(meta["labels"]),
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": job["spec"]["template"]["spec"],
        "status": {"phase": "Pending"},
    }
