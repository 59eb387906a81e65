"""What scenarios stand on: a place that keeps objects; here, a real cluster."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Protocol

import yaml
from controlplane.cluster import Cluster
from controlplane.errors import Refused

from kq.core.kinds import ResourceKind

Object = dict[str, Any]
Condition = Callable[[Object], object]

WAIT_SECONDS = 40.0
POLL_SECONDS = 0.03
REPLAY_SECONDS = 1
"""How long a watch that tells what has been goes on; so long, the last of it may take."""
NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one object: as it left the object, or as that was when it went."""

    kind: ResourceKind
    gone: bool
    thing: Object

    @property
    def version(self) -> int:
        return version_of(self.thing)


class Ground(Protocol):
    """Keeps objects, runs pods, and has kq at work on them."""

    def submit(self, manifests: Sequence[Object]) -> str:
        """Creates objects as a person does; what that person reads."""
        ...

    def create(self, kind: ResourceKind, body: Object) -> Object:
        """Creates one object."""
        ...

    def tried(self, kind: ResourceKind, body: Object) -> Object:
        """One object as it would be created."""
        ...

    def read(self, kind: ResourceKind, namespace: str, name: str) -> Object | None:
        """One object; None if there is none of that name."""
        ...

    def items(self, kind: ResourceKind, namespace: str, query: str = "") -> list[Object]:
        """All objects of a kind in a namespace."""
        ...

    def patch(
        self,
        kind: ResourceKind,
        namespace: str,
        name: str,
        patch: Mapping[str, Any],
        subresource: str = "",
    ) -> Object:
        """One object as a merge patch left it."""
        ...

    def delete(
        self, kind: ResourceKind, namespace: str, name: str, policy: str = "Background"
    ) -> None:
        """Deletes one object; its dependents follow by the policy."""
        ...

    def wait(self, kind: ResourceKind, namespace: str, name: str, condition: Condition) -> Object:
        """One object as soon as the condition holds for it."""
        ...

    def until(self, holds: Callable[[], Any], what: str, seconds: float = WAIT_SECONDS) -> Any:
        """What `holds` answers as soon as that counts as true."""
        ...

    def version(self, kind: ResourceKind, namespace: str) -> str:
        """The version of a namespace's objects of a kind as they are now."""
        ...

    def changes(self, namespace: str, since: Mapping[ResourceKind, str]) -> list[Change]:
        """Every change of objects of some kinds after a version, in the order they happened in."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterGround:
    """A real cluster: kubectl for what persons do, plain requests for the rest."""

    cluster: Cluster

    def submit(self, manifests: Sequence[Object]) -> str:
        done = self.cluster.kubectl("create", "-f", "-", input=yaml.safe_dump_all(manifests))
        return done.stdout + done.stderr

    def create(self, kind: ResourceKind, body: Object) -> Object:
        whole = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
        return self.cluster.api("POST", path(kind, body["metadata"].get("namespace", "")), whole)

    def tried(self, kind: ResourceKind, body: Object) -> Object:
        listed = path(kind, body["metadata"].get("namespace", ""))
        return self.cluster.api("POST", f"{listed}?dryRun=All", body)

    def read(self, kind: ResourceKind, namespace: str, name: str) -> Object | None:
        try:
            return self.cluster.api("GET", path(kind, namespace, name))
        except Refused as err:
            if err.status == NOT_FOUND:
                return None
            raise

    def items(self, kind: ResourceKind, namespace: str, query: str = "") -> list[Object]:
        listed = self.cluster.api("GET", f"{path(kind, namespace)}{query}")["items"]
        return [dict(each) for each in listed]

    def patch(
        self,
        kind: ResourceKind,
        namespace: str,
        name: str,
        patch: Mapping[str, Any],
        subresource: str = "",
    ) -> Object:
        tail = f"/{subresource}" if subresource else ""
        return self.cluster.api("PATCH", path(kind, namespace, name) + tail, patch)

    def delete(
        self, kind: ResourceKind, namespace: str, name: str, policy: str = "Background"
    ) -> None:
        self.cluster.api("DELETE", path(kind, namespace, name), {"propagationPolicy": policy})

    def wait(self, kind: ResourceKind, namespace: str, name: str, condition: Condition) -> Object:
        return self.cluster.wait(path(kind, namespace, name), condition, seconds=WAIT_SECONDS)

    def until(self, holds: Callable[[], Any], what: str, seconds: float = WAIT_SECONDS) -> Any:
        deadline = time.monotonic() + seconds
        while not (answer := holds()):
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {seconds:.0f} s: {what}")
            time.sleep(POLL_SECONDS)
        return answer

    def version(self, kind: ResourceKind, namespace: str) -> str:
        return str(self.cluster.api("GET", path(kind, namespace))["metadata"]["resourceVersion"])

    def changes(self, namespace: str, since: Mapping[ResourceKind, str]) -> list[Change]:
        with ThreadPoolExecutor() as pool:
            told = pool.map(partial(self._told, namespace), since, since.values())
        return sorted(chain.from_iterable(told), key=lambda each: each.version)

    def _told(self, namespace: str, kind: ResourceKind, since: str) -> list[Change]:
        there = {version_of(each) for each in self.items(kind, namespace)}
        query = f"?watch=1&resourceVersion={since}&timeoutSeconds={REPLAY_SECONDS}"
        events = self.cluster.lines(path(kind, namespace) + query)
        seen = [Change(kind, each["type"] == "DELETED", each["object"]) for each in events]
        missing = there - {each.version for each in seen}
        assert not missing, f"changes of {kind.plural} that nobody told of: {missing}"
        return seen


def version_of(thing: Object) -> int:
    """Versions of one API server count its writes, whatever they are to."""
    return int(thing["metadata"]["resourceVersion"])


def path(kind: ResourceKind, namespace: str = "", name: str = "") -> str:
    """Where the API server serves objects of a kind, or one of them."""
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    inside = f"/namespaces/{namespace}" if kind.namespaced and namespace else ""
    return f"{root}{inside}/{kind.plural}" + (f"/{name}" if name else "")
