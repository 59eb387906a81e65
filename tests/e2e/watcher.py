"""Watches a whole namespace, and proves afterwards that no quota was exceeded at any instant.

Versions of one API server's objects count its writes, whatever their kind. So what separate watches
showed is put into the one order in which it happened, and usage is added up after each step.
"""

import http.client
import json
import socket
import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from controlplane.cluster import Cluster
from ground import Object, path

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, JOB, POD, QUEUE_UNIT, ResourceKind

KINDS = (ELASTIC_QUOTA, JOB, QUEUE_UNIT, POD)
HOLDING = ("Reserved", "Dequeued", "Running")
WATCH_SECONDS = 600
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
        self._streams: list[tuple[http.client.HTTPSConnection, threading.Thread]] = []

    def __enter__(self) -> Self:
        for kind in KINDS:
            listed = self._cluster.api("GET", path(kind, self._namespace))
            for each in listed["items"]:
                self._note(kind, "ADDED", each)
            self._follow(kind, listed["metadata"]["resourceVersion"])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for connection, thread in self._streams:
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)
            thread.join()
            connection.close()

    def wait(self, holds: Callable[[list[Seen]], bool], seconds: float = WAIT_SECONDS) -> None:
        """Returns as soon as something holds of all that was seen so far."""
        with self._news:
            if not self._news.wait_for(lambda: holds(self._seen), seconds):
                raise AssertionError(f"not within {seconds} s, {len(self._seen)} changes seen")

    def history(self) -> "History":
        """All changes up to now in the order in which they happened."""
        for kind in KINDS:
            listed = self._cluster.api("GET", path(kind, self._namespace))
            versions = {int(each["metadata"]["resourceVersion"]) for each in listed["items"]}
            self.wait(lambda seen, v=versions: v <= {each.version for each in seen})  # type: ignore[misc]
        with self._news:
            return History.of(sorted(self._seen, key=lambda each: each.version))

    def _follow(self, kind: ResourceKind, version: str) -> None:
        server = urlsplit(self._cluster.access.server)
        connection = http.client.HTTPSConnection(
            server.netloc, context=self._cluster.access.tls, timeout=WATCH_SECONDS
        )
        query = f"?watch=1&resourceVersion={version}&timeoutSeconds={WATCH_SECONDS}"
        connection.request("GET", path(kind, self._namespace) + query)
        response = connection.getresponse()
        thread = threading.Thread(target=self._read, args=(kind, response), daemon=True)
        thread.start()
        self._streams.append((connection, thread))

    def _read(self, kind: ResourceKind, response: http.client.HTTPResponse) -> None:
        with suppress(OSError, ValueError, http.client.HTTPException):
            while line := response.readline():
                event = json.loads(line)
                self._note(kind, event["type"], event["object"])

    def _note(self, kind: ResourceKind, type_: str, thing: Object) -> None:
        version = int(thing["metadata"]["resourceVersion"])
        with self._news:
            self._seen.append(Seen(version, kind.kind, type_ == "DELETED", thing))
            self._news.notify_all()


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
