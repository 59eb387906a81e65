"""Watches a whole namespace, and proves afterwards that no quota was exceeded at any instant.

Versions of one API server's objects count its writes, whatever their kind. So what separate watches
showed is put into the one order in which it happened, and usage is added up after each step.
"""

import http.client
import json
import socket
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from controlplane.cluster import Cluster
from ground import Object, path

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, JOB, POD, QUEUE_UNIT, ResourceKind

KINDS = (ELASTIC_QUOTA, JOB, QUEUE_UNIT, POD)
HOLDING = ("Reserved", "Dequeued", "Running")
SLICE = 600
"""Seconds after which a watch is opened anew."""
WAIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Seen:
    """One change of one object: the version that it made, and the object as of then."""

    version: int
    kind: str
    gone: bool
    thing: Object


class Watcher:
    """Follows quotas, jobs, units and pods of a namespace from its start to its end."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._seen: list[Seen] = []
        self._news = threading.Condition()
        self._streams: list[_Stream] = []
        self._versions: set[int] = set()
        self._phase_of: dict[str, str] = {}
        self._phases: Counter[str] = Counter()
        self._steps = 0

    def __enter__(self) -> Self:
        for kind in KINDS:
            listed = self._cluster.api("GET", path(kind, self._namespace))
            for each in listed["items"]:
                self._note(kind, "ADDED", each)
            stream = _Stream(
                cluster=self._cluster,
                path=path(kind, self._namespace),
                version=listed["metadata"]["resourceVersion"],
                heard=partial(self._note, kind),
            )
            self._streams.append(stream)
            stream.thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for stream in self._streams:
            stream.stop()

    def wait_steps(self, steps: int) -> None:
        """Returns when units have changed their phase so many times in all."""
        self._wait(lambda: self._steps >= steps, WAIT_SECONDS)

    def wait_succeeded(self, units: int, seconds: float) -> None:
        """Returns when so many units are in their last phase."""
        self._wait(lambda: self._phases.get("Succeed", 0) >= units, seconds)

    def history(self) -> "History":
        """All changes up to now in the order in which they happened."""
        for kind in KINDS:
            listed = self._cluster.api("GET", path(kind, self._namespace))
            versions = {int(each["metadata"]["resourceVersion"]) for each in listed["items"]}
            self._wait(partial(versions.issubset, self._versions), WAIT_SECONDS)
        with self._news:
            return History.of(sorted(self._seen, key=lambda each: each.version))

    def _wait(self, holds: Callable[[], bool], seconds: float) -> None:
        with self._news:
            if not self._news.wait_for(holds, seconds):
                raise AssertionError(f"not within {seconds} s, {len(self._seen)} changes seen")

    def _note(self, kind: ResourceKind, type_: str, thing: Object) -> None:
        version = int(thing["metadata"]["resourceVersion"])
        with self._news:
            self._seen.append(Seen(version, kind.kind, type_ == "DELETED", thing))
            self._versions.add(version)
            if kind is QUEUE_UNIT:
                self._note_phase(thing["metadata"]["uid"], thing.get("status", {}).get("phase", ""))
            self._news.notify_all()

    def _note_phase(self, unit: str, phase: str) -> None:
        before = self._phase_of.get(unit, "")
        if phase and phase != before:
            self._phase_of[unit] = phase
            self._phases[phase] += 1
            self._phases[before] -= 1
            self._steps += 1


class _Stream:
    """One watch, opened again from where it was whenever the server ends it (we may be slow)."""

    def __init__(
        self, *, cluster: Cluster, path: str, version: str, heard: Callable[[str, Object], None]
    ) -> None:
        self.thread = threading.Thread(target=self._run, name=f"watch {path}", daemon=True)
        self._cluster = cluster
        self._path = path
        self._version = version
        self._heard = heard
        self._stopped = False
        self._connection: http.client.HTTPSConnection | None = None

    def stop(self) -> None:
        """Ends the watch and its thread."""
        self._stopped = True
        with suppress(OSError, AttributeError):
            self._connection.sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]
        self.thread.join()

    def _run(self) -> None:
        while not self._stopped:
            with suppress(OSError, ValueError, http.client.HTTPException):
                self._read()

    def _read(self) -> None:
        server = urlsplit(self._cluster.access.server)
        tls = self._cluster.access.tls
        self._connection = http.client.HTTPSConnection(server.netloc, context=tls, timeout=SLICE)
        query = f"?watch=1&resourceVersion={self._version}&timeoutSeconds={SLICE}"
        self._connection.request("GET", self._path + query)
        with closing(self._connection), self._connection.getresponse() as response:
            while line := response.readline():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise AssertionError(f"{self._path}: {event['object']}")
                self._version = event["object"]["metadata"]["resourceVersion"]
                self._heard(event["type"], event["object"])


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
    def of(cls, seen: list[Seen]) -> "History":
        """Goes through the changes one by one."""
        books = _Books()
        for each in seen:
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
