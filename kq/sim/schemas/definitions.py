"""The types of the built-in kinds, as a real API server publishes them."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

Schema = Mapping[str, Any]
"""One OpenAPI schema whose references are resolved; a type that holds itself is a cycle."""

KINDS = "x-kubernetes-group-version-kind"
OMITS_ZERO = "omitsZero"
"""On a property that Go's encoder leaves out when it is empty, false or zero."""
WRITTEN = "isWritten"
"""On a property that Go's encoder always writes, whatever its value; that is its zero."""
TIME, MICRO_TIME = "meta.v1.Time", "meta.v1.MicroTime"
QUANTITY, INT_OR_STRING = "api.resource.Quantity", "util.intstr.IntOrString"
RAW = "pkg.runtime.RawExtension"
_SCALARS = ("string", "integer", "boolean", "number")
_STRUCTS = (TIME, MICRO_TIME, QUANTITY, INT_OR_STRING, RAW)
"""Types that are structs in Go, whatever they are in JSON: only a pointer to one is left out."""
_OMITTED_STRUCTS = ("creationTimestamp",)
"""Struct fields that are left out when they are zero, as their tags say `omitzero`."""


def published() -> dict[str, dict[str, Any]]:
    """All types by name as they are published: a `$ref` is the name of another one."""
    table: dict[str, dict[str, Any]] = msgspec.json.decode(_file("openapi.json"))
    return table


@cache
def definitions() -> Mapping[str, Schema]:
    """All types by name, such as `v1.PodSpec` or `batch.v1.JobSpec`."""
    table = published()
    for name, definition in table.items():
        properties = definition.get("properties", {})
        fields = wire_fields().get(name)
        _mark(properties, _tags(definition) if fields is None else fields)
    for definition in table.values():
        _link(definition, table)
    return table


@cache
def wire_fields() -> Mapping[str, Mapping[str, str]]:
    """The fields of each Go type by their numbers in protobuf.

    `*` after a name is a pointer, `?` a field whose zero is left out; `+` is before a type whose
    fields stand in the object itself.
    """
    table: dict[str, dict[str, str]] = msgspec.json.decode(_file("wire.json"))
    return table


@cache
def names() -> Mapping[tuple[str, str], str]:
    """The name of each kind's definition, by apiVersion and kind."""
    found: dict[tuple[str, str], str] = {}
    for name, definition in definitions().items():
        for each in definition.get(KINDS, ()):
            version = f"{each['group']}/{each['version']}" if each["group"] else each["version"]
            found[version, each["kind"]] = name
    return found


@cache
def definition_of(api_version: str, kind: str) -> Schema | None:
    """The type of a built-in kind's objects."""
    name = names().get((api_version, kind))
    return {"title": name, **definitions()[name]} if name else None


@cache
def object_meta() -> Schema:
    """The type of `metadata`."""
    return {"title": "meta.v1.ObjectMeta", **definitions()["meta.v1.ObjectMeta"]}


def _link(schema: dict[str, Any], table: Mapping[str, Any]) -> None:
    # Properties are replaced inside the dict that all copies of a definition share.
    properties = schema.get("properties", {})
    for name in properties:
        properties[name] = _resolved(properties[name], table)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            schema[key] = _resolved(schema[key], table)


def _resolved(schema: dict[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        _link(schema, table)
        return schema
    name = schema["$ref"]
    beside = {key: value for key, value in schema.items() if key != "$ref"}
    return {"title": name, **table[name], **beside}


def _file(name: str) -> bytes:
    return files("kq.sim.schemas").joinpath(name).read_bytes()


def _mark(properties: dict[str, Any], fields: Mapping[str, str]) -> None:
    """Notes which properties Go's encoder always writes, and which it leaves out when zero."""
    for field in fields.values():
        name = field.rstrip("*?")
        schema = properties.get(name)
        if field.startswith("+"):
            _mark(properties, wire_fields()[field[1:]])
        elif schema is None or field.endswith("*"):
            continue
        elif not field.endswith("?") or _is_struct(name, schema):
            schema[WRITTEN] = True
        elif schema.get("type") in _SCALARS:
            schema[OMITS_ZERO] = True


def _is_struct(name: str, schema: Schema) -> bool:
    if name in _OMITTED_STRUCTS:
        return False
    return schema.get("default") == {} or schema.get("$ref") in _STRUCTS


def _tags(definition: Schema) -> dict[str, str]:
    """The fields of a type whose tags are not known, as far as it can be told without them."""
    required = definition.get("required", ())
    return {
        name: name if name in required or each.get("default") == {} else f"{name}*"
        for name, each in definition.get("properties", {}).items()
    }
