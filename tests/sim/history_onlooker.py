"""Looks at every change of a cluster as it happens, and notes what may not be."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from history_kinds import ONE_JOB, served_by
from kind_cases import KindCase, has

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, POD, QUEUE, QUEUE_UNIT, ResourceKind
from kq.sim.api.storage import Change, Event, Storage

Object = dict[str, Any]

HOLDING = ("Reserved", "Dequeued", "Running")
WATCHED = (ELASTIC_QUOTA, QUEUE, QUEUE_UNIT, POD)
LIMIT_MEMORY = 400.0
"""Seconds for which a limit that was lowered still counts: so late may whoever decides know it."""
THOUSANDTHS = 1000


@dataclass(slots=True)
class Share:
    """What one job has in use: its live pods, or those that it may still make, if that is more.

    All in thousandths of a cpu.
    """

    quota: str = ""
    named: str = ""
    """The quota that its job names now."""
    wanted: int = 0
    released: bool = False
    granted: bool = False
    leaving: bool = False
    kept: bool = False
    """Its grants were to be taken back, and were left to it."""
    inactive_since: float | None = None
    grants: int = 0
    releases: int = 0
    live: dict[str, int] = field(default_factory=dict)
    succeeded: dict[str, int] = field(default_factory=dict)
    running: dict[str, int] = field(default_factory=dict)
    unit: Object | None = None
    job: Object | None = None
    case: KindCase = ONE_JOB
    changed: float = 0.0
    """When anything of it was written last."""

    @property
    def used(self) -> int:
        holds = self.released or self.granted
        may_make = self.wanted - sum(self.succeeded.values()) if holds else 0
        return max(may_make, sum(self.live.values()))

    def follow(self) -> None:
        """It draws on another quota from its next run on, not while anything of this one lives."""
        if not (self.granted or self.released or self.live):
            self.quota = self.named


class Onlooker:
    """Knows nothing of kq: it adds up what objects say."""

    def __init__(
        self, storage: Storage, time: Callable[[], float], operators: Iterable[str] = ()
    ) -> None:
        self.wrongs: list[str] = []
        self.changes = 0
        self.grants: Counter[str] = Counter()
        """How often each unit was granted, by its name."""
        self.releases: Counter[str] = Counter()
        """How often each job was let go, by its name."""
        self.shares: dict[str, Share] = defaultdict(Share)
        """By the UID of the job."""
        self.usage: Counter[str] = Counter()
        self.quotas: dict[str, Object] = {}
        """Those that are there."""
        self.ruled: dict[str, float] = {}
        """When each quota was written last, or its Queue was stopped or opened."""
        self.stops: dict[str, str] = {}
        """How each Queue is stopped, by the name that it has in common with its quota."""
        self.changed = 0.0
        self.on_grant: Callable[[Share], None] = lambda share: None
        self._storage = storage
        self._time = time
        self._cases = {case.kind.kind: case for case in (ONE_JOB, *served_by(operators))}
        self._tops: dict[str, str] = {}
        self._barred: set[str] = set()
        self._limits: dict[str, list[tuple[float, int]]] = defaultdict(list)
        self.parents: dict[str, str] = {}
        for kind in (*WATCHED, *(case.kind for case in self._cases.values())):
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
        if new["kind"] == QUEUE.kind:
            self._set_stop(new["metadata"]["name"], None if gone else new)
            return
        self.changed = self._time()
        if new["kind"] == ELASTIC_QUOTA.kind:
            self._set_limit(new, gone)
            return
        top = self._top(new)
        share = self.shares[top]
        share.changed = self.changed
        before, quota, grants = self._counted(share), share.quota, share.grants
        self._change(share, top, None if gone else new, old or new)
        after = self._counted(share)
        rises = share.quota != quota or after > before
        self._count(quota, -before)
        self._count(share.quota, after, event if rises else None)
        if share.grants > grants:
            self.on_grant(share)

    def _change(self, share: Share, top: str, new: Object | None, old: Object) -> None:
        match old["kind"]:
            case QUEUE_UNIT.kind:
                self._unit(share, new, old)
            case POD.kind:
                self._pod(share, new, old)
            case kind if top == old["metadata"]["uid"]:
                self._job(self._cases[kind], share, new, old)

    def _top(self, obj: Object) -> str:
        """The job to which an object belongs, by what it said of its owner at first."""
        if obj["kind"] == QUEUE_UNIT.kind:
            return str(obj["spec"].get("consumerRef", {}).get("uid", ""))
        uid: str = obj["metadata"]["uid"]
        if uid not in self._tops:
            owners = [each["uid"] for each in obj["metadata"].get("ownerReferences") or ()]
            self._tops[uid] = self._tops.get(owners[0], owners[0]) if owners else uid
        return self._tops[uid]

    def _set_stop(self, name: str, queue: Object | None) -> None:
        stop = (queue or {"spec": {}})["spec"].get("stopPolicy", "None")
        if self.stops.get(name, "None") != stop:
            self.stops[name] = stop
            self.changed = self.ruled[name] = self._time()

    def _counted(self, share: Share) -> int:
        """What it uses of its quota.

        Pods whose job and unit are gone count by their label alone, where their namespace may use
        that quota: a manager that begins then knows no more of them (spec 11.9).
        """
        is_left_behind = share.job is None and share.unit is None
        return 0 if is_left_behind and share.quota in self._barred else share.used

    def _set_limit(self, quota: Object, gone: bool) -> None:
        name = quota["metadata"]["name"]
        mine = [share for share in self.shares.values() if share.quota == name]
        before = sum(map(self._counted, mine))
        marks = quota["metadata"].get("annotations") or {}
        self._barred.discard(name)
        if keys.ALLOWED_NAMESPACES in marks and not gone:
            self._barred.add(name)
        self._count(name, sum(map(self._counted, mine)) - before)
        limit = thousandths(quota["spec"]["max"]["cpu"])
        self.quotas[name], self.ruled[name] = quota, self._time()
        if gone:
            del self.quotas[name]
        self._limits[name].append((self._time(), limit))
        # Nobody knows any more what one that is gone was below; its jobs run on.
        labels = {} if gone else quota["metadata"].get("labels", {})
        self._set_parent(name, labels.get(keys.PARENT_LABEL, ""))

    def _set_parent(self, name: str, parent: str) -> None:
        before = self.parents.get(name, "")
        self.parents[name] = parent
        used = sum(self._counted(each) for each in self.shares.values() if each.quota == name)
        for level, sign in ((before, -1), (parent, 1)):
            while level:
                self.usage[level] += sign * used
                level = self.parents.get(level, "")

    def _job(self, case: KindCase, share: Share, job: Object | None, before: Object) -> None:
        said = job or before
        share.job, share.case = job, case
        share.wanted = wanted(case, said)
        share.named = said["metadata"]["labels"][keys.QUOTA_LABEL]
        share.follow()
        was_released = share.released
        share.released = job is not None and not case.is_held(job) and not is_over(case, job)
        if share.released and not was_released:
            self.releases[said["metadata"]["name"]] += 1
            share.releases += 1
            if share.releases > share.grants:
                name = said["metadata"]["name"]
                self.wrong(f"job {name} was released without a grant of its own")

    def _unit(self, share: Share, unit: Object | None, before: Object) -> None:
        was_granted, was_leaving = share.granted, share.leaving
        share.unit = unit
        share.granted = unit is not None and is_granted(unit)
        share.leaving = unit is not None and share.granted and bool(has("Evicted")(unit))
        # An eviction may be taken back (spec 13.15): then it starts anew on what it still holds.
        is_kept = was_leaving and not share.leaving
        is_active = unit is None or unit["spec"].get("active", True)
        if is_active:
            share.inactive_since = None
        elif share.inactive_since is None:
            share.inactive_since = self._time()
        if unit is not None and share.granted and (is_kept or not was_granted):
            self.grants[unit["metadata"]["name"]] += 1
            share.grants += 1
            share.kept = is_kept
            share.quota = unit["metadata"]["labels"][keys.QUOTA_LABEL]

    def _pod(self, share: Share, pod: Object | None, before: Object) -> None:
        name = before["metadata"]["uid"]
        phase = "" if pod is None else pod["status"].get("phase")
        share.live.pop(name, None)
        share.running.pop(name, None)
        if phase == "Succeeded":
            share.succeeded[name] = cpu_of(before)
        elif pod is not None and phase != "Failed":
            share.live[name] = cpu_of(before)
            if phase == "Running":
                share.running[name] = cpu_of(before)
        share.follow()

    def _count(self, quota: str, delta: int, event: Event | None = None) -> None:
        """So much more is used, which is wrong above a limit; but not what was used before.

        A quota that comes back may find the one above it full (spec 11.8, 11.10).
        """
        level = quota
        while level and delta:
            self.usage[level] += delta
            used, limit = self.usage[level], self._limit(level)
            if event is not None and used > limit:
                what = f"{event.change.value} {event.stored.place}"
                of = f"{used / THOUSANDTHS:g} of {limit / THOUSANDTHS:g}"
                self.wrong(f"{of} cpu used of {level} with {what}")
            level = self.parents.get(level, "")

    def _limit(self, quota: str) -> int:
        said = self._limits[quota]
        now = self._time()
        recent = [cpu for time, cpu in said if time > now - LIMIT_MEMORY]
        return max([*recent, said[-1][1]])

    def wrong(self, text: str) -> None:
        self.wrongs.append(f"{self._time():.3f} s, version {self._storage.version}: {text}")


def key_of(kind: ResourceKind) -> str:
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


def is_granted(unit: Object) -> bool:
    return unit.get("status", {}).get("phase") in HOLDING


def is_over(case: KindCase, job: Object) -> bool:
    return case.is_ended is not None and bool(case.is_ended(job))


def wanted(case: KindCase, job: Object) -> int:
    """What all pods of a job ask for together."""
    if case is not ONE_JOB:
        return case.cpu * THOUSANDTHS
    count: int = job["spec"]["parallelism"]
    return count * cpu_of(job["spec"]["template"])


def cpu_of(template: Object) -> int:
    """What the containers of a pod request together."""
    containers = template["spec"]["containers"]
    asked = (each.get("resources", {}).get("requests", {}) for each in containers)
    return sum(thousandths(each.get("cpu", "0")) for each in asked)


def thousandths(cpu: str) -> int:
    text = str(cpu)
    return int(text[:-1]) if text.endswith("m") else int(text) * THOUSANDTHS
