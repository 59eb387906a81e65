"""What of an applied configuration does not fit the type it is for, in the words of the server."""

from collections.abc import Iterator, Mapping
from typing import Any

from kq.sim.patch.fields import shown
from kq.sim.patch.shapes import Shape, item_keys, items_schema, key_element, shape_of
from kq.sim.schemas.definitions import Schema
from kq.sim.schemas.structural import EMBEDDED, META_FIELDS, PRESERVE, property_of


def fault_of(schema: Schema, value: Any) -> str | None:
    """The first thing that is wrong."""
    root = {**schema, EMBEDDED: True}
    return next(_faults(root, value, ""), None)


def _faults(schema: Schema, value: Any, path: str) -> Iterator[str]:
    if value is None:
        return
    match schema.get("type"):
        case "object":
            yield from _map(schema, value, path)
        case "array":
            yield from _list(schema, value, path)
        case "string" if not isinstance(value, str) and _is_plain(schema):
            yield f"{path}: expected string, got {_valued(value)}"
        case "boolean" if not isinstance(value, bool):
            yield f"{path}: expected boolean, got {_valued(value)}"
        case "integer" | "number" if isinstance(value, bool) or not isinstance(value, int | float):
            yield f"{path}: expected numeric (int or float), got {_named(value)}"


def _is_plain(schema: Schema) -> bool:
    return not schema.get("x-kubernetes-int-or-string")


def _map(schema: Schema, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{path}: expected map, got &{{{_bare(value)}}}"
        return
    for name, each in value.items():
        place = f"{path}.{name}"
        known = property_of(schema, name)
        if known is not None:
            yield from _faults(known, each, place)
        elif not _takes(schema, name):
            yield f"{place}: field not declared in schema"


def _takes(schema: Schema, name: str) -> bool:
    if schema.get(PRESERVE) or (schema.get(EMBEDDED) and name in META_FIELDS):
        return True
    return "properties" not in schema and "additionalProperties" not in schema


def _list(schema: Schema, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{path}: expected list, got &{{{_bare(value)}}}"
        return
    seen: list[Any] = []
    is_map = shape_of(schema, value) is Shape.LIST_MAP
    for index, each in enumerate(value):
        keys = item_keys(schema, each) if is_map else None
        if is_map and not keys:
            yield f"{path}: element {index}: {_keyless(schema)}"
            return
        if is_map and keys in seen:
            yield f"{path}: duplicate entries for key {shown((key_element(keys or {}),))}"
        seen.append(keys)
        place = shown((key_element(keys),)) if keys else f"[{index}]"
        yield from _faults(items_schema(schema), each, f"{path}{place}")


def _keyless(schema: Schema) -> str:
    names = " ".join(f'"{name}"' for name in schema.get("x-kubernetes-list-map-keys", ()))
    return (
        f"associative list with keys has an element that omits all key fields [{names}]"
        " (and doesn't have default values for any key fields)"
    )


def _valued(value: Any) -> str:
    return f"&value.valueUnstructured{{Value:{_quoted(value)}}}"


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else _bare(value)


def _bare(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _named(value: Any) -> str:
    match value:
        case str():
            return "string"
        case bool():
            return "boolean"
        case list():
            return "list"
        case _:
            return "map"
