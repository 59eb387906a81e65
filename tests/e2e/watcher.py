"""Watches a whole namespace: what changed in it, in the order in which it happened."""

import http.client
import json
import socket
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from controlplane.cluster import Cluster
from ground import Object, path
from history import History, Seen

from kq.core.kinds import ELASTIC_QUOTA, JOB, POD, QUEUE_UNIT, ResourceKind

KINDS = (ELASTIC_QUOTA, JOB, QUEUE_UNIT, POD)
SLICE = 600
"""Seconds after which a watch is opened anew."""
WAIT_SECONDS = 60.0


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

    def history(self) -> History:
        """All changes up to now in the order in which they happened."""
        for kind in KINDS:
            listed = self._cluster.api("GET", path(kind, self._namespace))
            versions = {int(each["metadata"]["resourceVersion"]) for each in listed["items"]}
            self._wait(partial(versions.issubset, self._versions), WAIT_SECONDS)
        with self._news:
            return History.of(self._seen)

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
