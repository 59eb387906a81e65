"""A custom kind with every sort of list, and patches of it and of built-in kinds."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from kq.sim.api import builtin
from kq.sim.api.kinds import Kind, kinds_of_crd
from kq.sim.api.patching import patch
from kq.sim.api.schema import rules_for
from kq.sim.api.status import ApiStatus

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REGISTRY = builtin.registry()
LIST_MAP = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "v": {"type": "integer"},
            "d": {"type": "integer", "default": 3},
        },
    },
}
SPEC = {
    "type": "object",
    "properties": {
        "must": {"type": "string"},
        "map": LIST_MAP,
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "list": {"type": "array", "items": {"type": "string"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
STATUS = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
CRD: dict[str, Any] = {
    "spec": {
        "group": "try.io",
        "scope": "Namespaced",
        "names": {"kind": "Thing", "plural": "things"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": SPEC, "status": STATUS},
                    }
                },
            }
        ],
    }
}
[THING] = kinds_of_crd(CRD)


def kind_of(version: str, name: str) -> Kind:
    """A built-in kind."""
    found = REGISTRY.of(version, name)
    assert found is not None
    return found


CONFIG_MAP = kind_of("v1", "ConfigMap")


def patched(
    current: Any, body: Any, media: str, *, kind: Kind = CONFIG_MAP, **more: Any
) -> dict[str, Any]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    options = {"rules": rules_for(kind), "manager": "me", "force": False, "now": NOW, **more}
    return patch(media, current, raw, kind=kind, **options).object


def refusal(current: Any, body: Any, media: str, **more: Any) -> ApiStatus:
    with pytest.raises(ApiStatus) as caught:
        patched(current, body, media, **more)
    return caught.value
