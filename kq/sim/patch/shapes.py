"""Which parts of an object can be owned one by one, by its schema."""

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from kq.sim.schemas.definitions import Schema
from kq.sim.schemas.structural import PRESERVE, property_of

ANYTHING: Schema = {PRESERVE: True}
_LEAVES = frozenset({"meta.v1.FieldsV1", "pkg.runtime.RawExtension", "apiextensions.v1.JSON"})


class Shape(StrEnum):
    """How a value is made up of parts."""

    LEAF = "leaf"
    MAP = "map"
    """Every field or key is a part."""
    LIST_MAP = "list map"
    """Every item is a part, known by its keys."""
    SET = "set"


def shape_of(schema: Schema, value: Any) -> Shape:
    """The shape of a value of that type."""
    match value:
        case dict():
            is_whole = schema.get("x-kubernetes-map-type") == "atomic"
            return Shape.LEAF if is_whole or schema.get("title") in _LEAVES else Shape.MAP
        case list():
            match schema.get("x-kubernetes-list-type"):
                case "map":
                    return Shape.LIST_MAP
                case "set":
                    return Shape.SET
    return Shape.LEAF


def field_schema(schema: Schema, name: str) -> Schema:
    """The type of a field, whether it is declared or not."""
    return property_of(schema, name) or ANYTHING


def is_declared(schema: Schema, name: str) -> bool:
    """Whether a field stands in the type itself, rather than being a key of a map."""
    return name in schema.get("properties", {})


def items_schema(schema: Schema) -> Schema:
    """The type of a list's items."""
    items = schema.get("items")
    return items if isinstance(items, Mapping) else ANYTHING


def item_keys(schema: Schema, item: Any) -> dict[str, Any]:
    """The keys by which an item of a list map is known; left out are those without any value."""
    names: Sequence[str] = schema.get("x-kubernetes-list-map-keys", ())
    properties = items_schema(schema).get("properties", {})
    keys: dict[str, Any] = {}
    for name in names:
        value = item.get(name) if isinstance(item, Mapping) else None
        if value is None:
            value = properties.get(name, {}).get("default") or None
        if value is not None:
            keys[name] = value
    return keys


def field_element(name: str) -> str:
    """A field as managedFields have it."""
    return f"f:{name}"


def key_element(keys: Mapping[str, Any]) -> str:
    """An item of a list map as managedFields have it."""
    return f"k:{_json(keys)}"


def value_element(value: Any) -> str:
    """An item of a set as managedFields have it."""
    return f"v:{_json(value)}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
