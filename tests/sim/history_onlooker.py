"""Looks at every change of a cluster as it happens, and notes what may not be."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, JOB, POD, QUEUE_UNIT, ResourceKind
from kq.sim.api.storage import Change, Event, Storage

Object = dict[str, Any]

HOLDING = ("Reserved", "Dequeued", "Running")
WATCHED = (ELASTIC_QUOTA, JOB, QUEUE_UNIT, POD)
MAKER = "batch.kubernetes.io/controller-uid"
LIMIT_MEMORY = 400.0
"""Seconds for which a limit that was lowered still counts: so late may whoever decides know it."""


@dataclass(slots=True)
class Share:
    """What one job has in use: its live pods, or those that it may still make, if that is more."""

    quota: str = ""
    cpu: int = 0
    wanted: int = 0
    released: bool = False
    granted: bool = False
    live: set[str] = field(default_factory=set)
    succeeded: set[str] = field(default_factory=set)

    @property
    def used(self) -> int:
        may_make = self.wanted - len(self.succeeded) if self.released or self.granted else 0
        return self.cpu * max(may_make, len(self.live))


class Onlooker:
    """Knows nothing of kq: it adds up what objects say."""

    def __init__(self, storage: Storage, time: Callable[[], float]) -> None:
        self.wrongs: list[str] = []
        self.changes = 0
        self.grants: Counter[str] = Counter()
        self.releases: Counter[str] = Counter()
        self._storage = storage
        self._time = time
        self._shares: dict[str, Share] = defaultdict(Share)
        self._usage: Counter[str] = Counter()
        self._limits: dict[str, list[tuple[float, int]]] = defaultdict(list)
        self._parents: dict[str, str] = {}
        for kind in WATCHED:
            storage.subscribe(key_of(kind), self._waker(key_of(kind)))

    def _waker(self, key: str) -> Callable[[], None]:
        def wake() -> None:
            # This is called at once after each write: what is new is one event.
            for event in self._storage.events_since(key, self._storage.version - 1):
                self.changes += 1
                self._saw(event)

        return wake

    def _saw(self, event: Event) -> None:
        new = event.stored.read()
        gone = event.change is Change.DELETED
        old = event.before.read() if event.before is not None else None
        match new["kind"]:
            case ELASTIC_QUOTA.kind:
                self._set_limit(new)
                return
            case JOB.kind:
                uid, change = new["metadata"]["uid"], self._job
            case QUEUE_UNIT.kind:
                uid, change = new["spec"].get("consumerRef", {}).get("uid", ""), self._unit
            case _:
                # An owner may have let go of it; what the Job controller wrote on it stays.
                uid, change = new["metadata"]["labels"][MAKER], self._pod
        share = self._shares[uid]
        before, quota = share.used, share.quota
        change(share, None if gone else new, old or new)
        self._count(quota, -before, event)
        self._count(share.quota, share.used, event)

    def _set_limit(self, quota: Object) -> None:
        name = quota["metadata"]["name"]
        self._limits[name].append((self._time(), int(quota["spec"]["max"]["cpu"])))
        self._parents[name] = quota["metadata"].get("labels", {}).get(keys.PARENT_LABEL, "")

    def _job(self, share: Share, job: Object | None, before: Object) -> None:
        said = job or before
        share.wanted, share.cpu = said["spec"]["parallelism"], cpu_of(said["spec"]["template"])
        if not share.granted and not share.released:
            share.quota = said["metadata"]["labels"][keys.QUOTA_LABEL]
        was_released = share.released
        share.released = job is not None and not job["spec"].get("suspend") and not has_ended(job)
        if share.released and not was_released:
            name = said["metadata"]["name"]
            self.releases[name] += 1
            if self.releases[name] > self.grants[name]:
                self._wrong(f"job {name} was released without a grant of its own")

    def _unit(self, share: Share, unit: Object | None, before: Object) -> None:
        was_granted = share.granted
        share.granted = unit is not None and is_granted(unit)
        if share.granted and not was_granted and unit is not None:
            self.grants[unit["metadata"]["name"]] += 1
            share.quota = unit["metadata"]["labels"][keys.QUOTA_LABEL]

    def _pod(self, share: Share, pod: Object | None, before: Object) -> None:
        name = before["metadata"]["name"]
        phase = "" if pod is None else pod["status"].get("phase")
        share.live.discard(name)
        if phase == "Succeeded":
            share.succeeded.add(name)
        elif pod is not None and phase != "Failed":
            share.live.add(name)

    def _count(self, quota: str, delta: int, event: Event) -> None:
        level = quota
        while level and delta:
            self._usage[level] += delta
            limit = self._limit(level)
            if delta > 0 and self._usage[level] > limit:
                what = f"{event.change.value} {event.stored.place}"
                self._wrong(f"{self._usage[level]} of {limit} cpu used of {level} with {what}")
            level = self._parents.get(level, "")

    def _limit(self, quota: str) -> int:
        said = self._limits[quota]
        now = self._time()
        recent = [cpu for time, cpu in said if time > now - LIMIT_MEMORY]
        return max([*recent, said[-1][1]])

    def _wrong(self, text: str) -> None:
        self.wrongs.append(f"{self._time():.3f} s, version {self._storage.version}: {text}")


def key_of(kind: ResourceKind) -> str:
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


def is_granted(unit: Object) -> bool:
    return unit.get("status", {}).get("phase") in HOLDING


def has_ended(job: Object) -> bool:
    conditions = job.get("status", {}).get("conditions") or ()
    ends = ("Complete", "Failed")
    return any(each["type"] in ends and each["status"] == "True" for each in conditions)


def cpu_of(template: Object) -> int:
    """What the containers of a pod request together."""
    return sum(int(each["resources"]["requests"]["cpu"]) for each in template["spec"]["containers"])
