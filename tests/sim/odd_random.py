"""Random walks: writes and reads of a few objects in any order, with much that is odd in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from odd_requests import GROUP, JSON_PATCH, WIDGETS, Ask, Group

NEWEST = "the newest version"
KINDS = {
    "widgets": (f"{GROUP}/v1", "Widget"),
    "plains": (f"{GROUP}/v1", "Plain"),
    "secrets": ("v1", "Secret"),
    "leases": ("coordination.k8s.io/v1", "Lease"),
}
METADATA: Mapping[str, Sequence[Any]] = {
    "labels": [{"x": "1"}, {"x": "2", "y": "1"}, {}, None],
    "annotations": [{"n": "m"}, None, {}],
    "finalizers": [["kq.example/a"], ["kq.example/a", "kq.example/b"], [], None],
    "generation": [5, None],
    "deletionTimestamp": [None],
    "creationTimestamp": ["2001-01-01T00:00:00Z", None],
    "uid": ["other", None, None],
    "generateName": ["g-"],
    "resourceVersion": ["1", NEWEST, NEWEST, NEWEST, None],
}
ANYTHING = [{"a": 1}, {"a": True}, {"a": {"b": [1, 2]}}, {}, {"a": None}]
CONTENT: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "widgets": {"spec": ANYTHING, "status": ANYTHING, "extra": [1]},
    "plains": {"spec": ANYTHING, "status": ANYTHING, "extra": [1]},
    "secrets": {"data": [{"a": "YWJj"}, {}], "stringData": [{"s": "t"}], "type": ["Opaque"]},
    "leases": {"spec": [{"holderIdentity": "a"}, {"leaseDurationSeconds": 5}, {}]},
}
OPERATIONS = [
    [{"op": "add", "path": "/metadata/labels", "value": {"j": "1"}}],
    [{"op": "remove", "path": "/metadata/labels"}],
    [{"op": "replace", "path": "/metadata/finalizers", "value": []}],
]
DELETIONS = [
    None,
    None,
    {"propagationPolicy": "Background"},
    {"gracePeriodSeconds": 0},
    {"preconditions": {"uid": "other"}},
]
READS = ["DELETE", "SOME", "LIST", "GET"]
SELECTIONS = [{}, {"labelSelector": "x"}, {"labelSelector": "x!=1"}, {"limit": "1"}]


@dataclass(frozen=True)
class Walk:
    """One walk: the choices of its seed, whatever is answered."""

    random: Random
    namespace: str
    versions: dict[str, str]
    """The newest version that was told of each object."""

    def step(self) -> tuple[str, Ask]:
        """The path of an object, and the next request about it."""
        plural = self.random.choice(list(KINDS))
        root = WIDGETS
        if plural not in ("widgets", "plains"):
            version = KINDS[plural][0]
            root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        base = f"{root}/namespaces/{self.namespace}/{plural}"
        path = f"{base}/{self.random.choice('ab')}"
        query = {"dryRun": "All"} if self.random.random() < 0.08 else {}
        return path, self._ask(plural, base, path, query)

    def _ask(self, plural: str, base: str, path: str, query: dict[str, str]) -> Ask:
        chosen = self.random
        method = chosen.choice(["POST", "POST", "PUT", "PATCH", "PATCH", "STATUS", "JSON", *READS])
        match method:
            case "POST" | "PUT":
                where = base if method == "POST" else path
                body = self._whole(plural, path)
                return Ask(what=method, method=method, path=where, body=body, query=query)
            case "PATCH" | "STATUS":
                body = self._part(plural, path)
                where = f"{path}/status" if method == "STATUS" else path
                return Ask(what=method, method="PATCH", path=where, body=body, query=query)
            case "JSON":
                body = chosen.choice(OPERATIONS)
                return Ask(what=method, method="PATCH", path=path, body=body, type=JSON_PATCH)
            case "DELETE":
                body = chosen.choice(DELETIONS)
                return Ask(what=method, method=method, path=path, body=body, query=query)
            case "SOME":
                selected = {"labelSelector": "x=1"}
                return Ask(what=method, method="DELETE", path=base, query=selected)
            case "LIST":
                return Ask(what=method, method="GET", path=base, query=chosen.choice(SELECTIONS))
        return Ask(what=method, method="GET", path=path)

    def _whole(self, plural: str, path: str) -> dict[str, Any]:
        version, kind = KINDS[plural]
        part = self._part(plural, path)
        name = self.random.choice([path[-1], path[-1], path[-1], "z"])
        return (
            {"apiVersion": version, "kind": kind}
            | part
            | {"metadata": part["metadata"] | {"name": name}}
        )

    def _part(self, plural: str, path: str) -> dict[str, Any]:
        metadata = self._some(METADATA, 0.22)
        if metadata.get("resourceVersion") == NEWEST:
            metadata["resourceVersion"] = self.versions.get(path, "1")
        return self._some(CONTENT[plural], 0.5) | {"metadata": metadata}

    def _some(self, fields: Mapping[str, Sequence[Any]], share: float) -> dict[str, Any]:
        return {
            field: self.random.choice(values)
            for field, values in fields.items()
            if self.random.random() < share
        }


def walking(namespace: str, *, seed: int, steps: int) -> Group:
    """A random walk that leaves nothing behind that is held."""
    walk = Walk(Random(seed), namespace, {})
    paths: set[str] = set()
    for _ in range(steps):
        path, ask = walk.step()
        paths.add(path)
        told = yield ask
        body = told.body if isinstance(told.body, dict) else {}
        if body.get("kind") in {kind for _, kind in KINDS.values()}:
            walk.versions[path] = str(body["metadata"].get("resourceVersion", "1"))
    for path in sorted(paths):
        free = {"metadata": {"finalizers": None}}
        yield Ask(what="let go", method="PATCH", path=path, body=free, loose=True)
