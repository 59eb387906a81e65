"""Requests that a real API server and the simulated one must answer alike, group by group.

Each group is a generator: it yields requests and is sent the answers, so that one request can use
what an earlier one was told (a resourceVersion, a uid, a continue token).
"""

import json
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

JSON = "application/json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

GROUP = "sim.kq.example"
WIDGETS = f"/apis/{GROUP}/v1"
CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One request, named by what is odd about it."""

    what: str
    method: str
    path: str
    body: Any = None
    type: str = ""
    lines: int = 0
    """How many lines of a watch to read."""
    query: dict[str, str] = field(default_factory=dict)
    loose: bool = False
    """Whether only code and reason are compared, because the rest is Go's own parser speaking."""
    managers: bool = False
    """Whether managedFields are compared too."""

    @property
    def target(self) -> str:
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path

    @property
    def data(self) -> bytes | None:
        match self.body:
            case None | bytes():
                return self.body
            case body:
                return json.dumps(body).encode()

    @property
    def content_type(self) -> str:
        return self.type or (MERGE if self.method == "PATCH" else JSON)


@dataclass(frozen=True, kw_only=True)
class Told:
    """What was answered: a body, or the lines of a watch; and what was warned of."""

    code: int
    body: Any
    warnings: tuple[str, ...] = ()

    def __getitem__(self, key: str) -> Any:
        return self.body[key]

    @property
    def version(self) -> str:
        return str(self.body["metadata"]["resourceVersion"])

    @property
    def uid(self) -> str:
        return str(self.body["metadata"]["uid"])


Group = Generator[Ask, Told, None]


def crd(plural: str, kind: str, *, status: bool) -> dict[str, Any]:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version: dict[str, Any] = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": anything, "status": anything},
            }
        },
    }
    if status:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "plural": plural,
                "singular": kind.lower(),
                "kind": kind,
                "listKind": f"{kind}List",
            },
            "versions": [version],
        },
    }


CRDS = [crd("widgets", "Widget", status=True), crd("plains", "Plain", status=False)]


def widget(name: str = "w", **more: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name}, **more}


def config_map(name: str = "c", **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **more}
