"""Proves of what a watcher saw that no quota was exceeded at any instant.

Versions of one API server's objects count its writes, whatever their kind. So what separate watches
showed can be put into the one order in which it happened, and usage is added up after each step.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from ground import Object

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, JOB, QUEUE_UNIT

HOLDING = ("Reserved", "Dequeued", "Running")


@dataclass(frozen=True, slots=True)
class Seen:
    """One change of one object: the version that it made, and the object as of then."""

    version: int
    kind: str
    gone: bool
    thing: Object


@dataclass(slots=True)
class Share:
    """What one job has in use, by each of the three that tell of it; in thousandths of a cpu."""

    quota: str = ""
    released: int = 0
    granted: int = 0
    pods: dict[str, int] = field(default_factory=dict)

    @property
    def used(self) -> int:
        return max(self.released, self.granted, sum(self.pods.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Usage of each quota at its highest, and every instant at which it was above its max."""

    peaks: dict[str, int]
    excesses: list[str]
    changes: int

    @classmethod
    def of(cls, seen: Sequence[Seen]) -> "History":
        """Goes through the changes one by one."""
        books = _Books()
        for each in sorted(seen, key=lambda each: each.version):
            books.apply(each)
        return cls(peaks=dict(books.peaks), excesses=books.excesses, changes=len(seen))


class _Books:
    def __init__(self) -> None:
        self.peaks: dict[str, int] = defaultdict(int)
        self.excesses: list[str] = []
        self._limits: dict[str, int] = {}
        self._parents: dict[str, str] = {}
        self._shares: dict[str, Share] = defaultdict(Share)
        self._usage: dict[str, int] = defaultdict(int)

    def apply(self, seen: Seen) -> None:
        meta = seen.thing["metadata"]
        match seen.kind:
            case ELASTIC_QUOTA.kind:
                self._set_quota(meta["name"], seen.thing)
                return
            case JOB.kind:
                uid, change = meta["uid"], self._job
            case QUEUE_UNIT.kind:
                uid, change = seen.thing["spec"].get("consumerRef", {}).get("uid", ""), self._unit
            case _:
                uid, change = meta["ownerReferences"][0]["uid"], self._pod
        share = self._shares[uid]
        before = share.used
        change(share, seen)
        self._count(share.quota, share.used - before, seen)

    def _set_quota(self, name: str, quota: Object) -> None:
        limits = quota["spec"].get("max", {})
        if "cpu" in limits:
            self._limits[name] = thousandths(limits["cpu"])
        self._parents[name] = quota["metadata"].get("labels", {}).get(keys.PARENT_LABEL, "")

    def _job(self, share: Share, seen: Seen) -> None:
        job = seen.thing
        share.quota = job["metadata"]["labels"][keys.QUOTA_LABEL]
        conditions = job.get("status", {}).get("conditions") or ()
        ended = any(
            c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in conditions
        )
        free = seen.gone or ended or job["spec"].get("suspend")
        share.released = 0 if free else job["spec"]["parallelism"] * cpu_of(job["spec"]["template"])

    def _unit(self, share: Share, seen: Seen) -> None:
        status = seen.thing.get("status", {})
        free = seen.gone or status.get("phase") not in HOLDING
        templates = {each["name"]: each["template"] for each in seen.thing["spec"]["podSet"]}
        share.granted = (
            0
            if free
            else sum(
                grant["replicas"] * cpu_of(templates[grant["name"]])
                for grant in status.get("admissions") or ()
            )
        )

    def _pod(self, share: Share, seen: Seen) -> None:
        name = seen.thing["metadata"]["name"]
        if seen.gone or seen.thing["status"].get("phase") in ("Succeeded", "Failed"):
            share.pods.pop(name, None)
        else:
            share.pods[name] = cpu_of(seen.thing)

    def _count(self, quota: str, delta: int, seen: Seen) -> None:
        level = quota
        while level and delta:
            self._usage[level] += delta
            used, limit = self._usage[level], self._limits.get(level)
            self.peaks[level] = max(self.peaks[level], used)
            if limit is not None and delta > 0 and used > limit:
                name = seen.thing["metadata"]["name"]
                what = f"{used} of {limit} used of {level} by {seen.kind} {name}"
                self.excesses.append(f"{what} at version {seen.version}")
            level = self._parents.get(level, "")


def cpu_of(template: Object) -> int:
    """What the containers of a pod request together."""
    containers = template["spec"]["containers"]
    return sum(
        thousandths(each.get("resources", {}).get("requests", {}).get("cpu", "0"))
        for each in containers
    )


def thousandths(cpu: str) -> int:
    """A quantity of cpu as scenarios write it: `2` or `500m`."""
    return int(cpu[:-1]) if cpu.endswith("m") else int(cpu) * 1000
