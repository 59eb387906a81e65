"""The OpenAPI documents of a server: one a group and version, enough for kubectl to go by."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from kq.sim.api.kinds import Kind, Registry
from kq.sim.schemas.definitions import definition_of, names, published

_PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
)
_STRATEGIC = "application/strategic-merge-patch+json"
_WRITE_QUERY = ("dryRun", "fieldManager", "fieldValidation")
_META = "meta.v1.ObjectMeta"
Document = dict[str, Any]


def root(registry: Registry) -> Document:
    """The list of documents; the hash in each place changes with what is served there."""
    return {
        "paths": {
            place: {"serverRelativeURL": f"/openapi/v3/{place}?hash={_hash(kinds)}"}
            for place, kinds in _places(registry).items()
        }
    }


def document(registry: Registry, place: str) -> Document | None:
    """The document of one group and version, such as `apis/batch/v1`."""
    kinds = _places(registry).get(place)
    if kinds is None:
        return None
    table = published()
    schemas: dict[str, Any] = {}
    for kind in kinds:
        name, schema = _schema(kind, table)
        schemas[name] = schema
    _add_referred(schemas, table)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1"},
        "paths": {path: item for kind in kinds for path, item in _paths(kind).items()},
        "components": {"schemas": schemas},
    }


def _places(registry: Registry) -> dict[str, list[Kind]]:
    found: dict[str, list[Kind]] = {}
    for kind in registry:
        place = f"apis/{kind.api_version}" if kind.group else f"api/{kind.version}"
        found.setdefault(place, []).append(kind)
    return found


def _hash(kinds: Iterable[Kind]) -> str:
    parts = [
        msgspec.json.encode([kind.kind, kind.plural, kind.namespaced, kind.openapi])
        for kind in kinds
    ]
    return hashlib.sha256(b"\n".join(parts)).hexdigest().upper()


def _schema(kind: Kind, table: Mapping[str, Any]) -> tuple[str, Document]:
    name = _name(kind)
    if not kind.custom and definition_of(kind.api_version, kind.kind) is not None:
        return name, _published(table[name])
    schema = dict(kind.openapi or {"type": "object"})
    properties = dict(schema.get("properties", {}))
    properties |= {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": _published({"$ref": _META}),
    }
    gvk = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    return name, {
        **schema,
        "properties": properties,
        "x-kubernetes-group-version-kind": [gvk],
    }


def _name(kind: Kind) -> str:
    known = None if kind.custom else names().get((kind.api_version, kind.kind))
    domain = ".".join(reversed(kind.group.split(".")))
    return known or f"{domain}.{kind.version}.{kind.kind}"


def _published(value: Any) -> Any:
    """A schema of the table with references as documents have them."""
    match value:
        case dict():
            kept = {key: _published(each) for key, each in value.items() if key != "$ref"}
            reference = value.get("$ref")
            if isinstance(reference, str):
                kept["allOf"] = [{"$ref": f"#/components/schemas/{reference}"}]
            elif reference is not None:
                kept["$ref"] = _published(reference)
            return kept
        case list():
            return [_published(each) for each in value]
        case _:
            return value


def _add_referred(schemas: dict[str, Any], table: Mapping[str, Any]) -> None:
    waiting = list(_referred(schemas))
    while waiting:
        name = waiting.pop()
        if name not in schemas:
            schemas[name] = _published(table[name])
            waiting += _referred(schemas[name])


def _referred(value: Any) -> Iterator[str]:
    match value:
        case dict():
            reference = value.get("$ref")
            if isinstance(reference, str):
                yield reference.rpartition("/")[2]
            for each in value.values():
                yield from _referred(each)
        case list():
            for each in value:
                yield from _referred(each)


def _paths(kind: Kind) -> dict[str, Document]:
    base = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    scope = f"{base}/namespaces/{{namespace}}" if kind.namespaced else base
    whole = {"get": _operation(kind, "list"), "post": _write(kind, "post")}
    one = {
        "get": _operation(kind, "get"),
        "put": _write(kind, "put"),
        "patch": _patch(kind),
        "delete": _operation(kind, "delete"),
    }
    paths = {f"{scope}/{kind.plural}": whole, f"{scope}/{kind.plural}/{{name}}": one}
    if kind.status:
        status = {"get": one["get"], "put": one["put"], "patch": one["patch"]}
        paths[f"{scope}/{kind.plural}/{{name}}/status"] = status
    return paths


def _operation(kind: Kind, action: str, *, query: Iterable[str] = ()) -> Document:
    gvk = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    return {
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": gvk,
        "parameters": [
            {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
            for name in query
        ],
        "responses": {"200": {"description": "OK"}},
    }


def _write(kind: Kind, action: str) -> Document:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{_name(kind)}"}}}
    body = {"requestBody": {"content": content, "required": True}}
    return _operation(kind, action, query=_WRITE_QUERY) | body


def _patch(kind: Kind) -> Document:
    types = _PATCHES if kind.custom else (*_PATCHES, _STRATEGIC)
    content: Document = {each: {"schema": {}} for each in types}
    body = {"requestBody": {"content": content}}
    return _operation(kind, "patch", query=(*_WRITE_QUERY, "force")) | body
