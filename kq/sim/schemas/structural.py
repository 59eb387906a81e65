"""What a structural schema makes of an object: unknown fields cut, defaults filled in."""

import copy
from collections.abc import Mapping
from typing import Any

from kq.sim.schemas.definitions import Schema

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


def prune(schema: Schema, value: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A copy of a whole object without the fields its schema does not know, and their paths."""
    unknown: list[str] = []
    kept = _pruned({**schema, EMBEDDED: True}, value, "", unknown)
    return kept, sorted(unknown)


def _pruned(schema: Schema | None, value: Any, path: str, unknown: list[str]) -> Any:
    match value:
        case dict():
            return _pruned_map(schema, value, path, unknown)
        case list():
            items = schema.get("items") if schema else None
            if items is None and schema and schema.get(PRESERVE):
                return copy.deepcopy(value)
            return [
                _pruned(items, each, f"{path}[{index}]", unknown)
                for index, each in enumerate(value)
            ]
        case _:
            return value


def _pruned_map(
    schema: Schema | None, value: Mapping[str, Any], path: str, unknown: list[str]
) -> dict[str, Any]:
    schema = schema or {}
    kept: dict[str, Any] = {}
    for name, each in value.items():
        inside = f"{path}.{name}" if path else name
        known = property_of(schema, name)
        if schema.get(EMBEDDED) and name in META_FIELDS:
            kept[name] = copy.deepcopy(each)
        elif known is not None:
            kept[name] = _pruned(known, each, inside, unknown)
        elif schema.get(PRESERVE):
            kept[name] = copy.deepcopy(each)
        elif path or name not in META_FIELDS:
            unknown.append(inside)
    return kept


def fill(schema: Schema, value: Any) -> None:
    """Puts defaults where nothing is, or a null that may not be; drops the other such nulls."""
    match value:
        case dict():
            _fill_properties(schema, value)
            for name, each in list(value.items()):
                known = property_of(schema, name)
                if known is None:
                    continue
                if each is None and not known.get("nullable"):
                    value[name] = copy.deepcopy(known.get("default"))
                fill(known, value[name])
        case list() if isinstance(schema.get("items"), Mapping):
            items = schema["items"]
            for index, each in enumerate(value):
                if each is None and not items.get("nullable"):
                    value[index] = copy.deepcopy(items.get("default"))
                fill(items, value[index])


def _fill_properties(schema: Schema, value: dict[str, Any]) -> None:
    for name, known in schema.get("properties", {}).items():
        is_bad_null = name in value and value[name] is None and not known.get("nullable")
        if "default" in known and known["default"] is not None:
            if name not in value or is_bad_null:
                value[name] = copy.deepcopy(known["default"])
        elif is_bad_null:
            del value[name]


def property_of(schema: Schema, name: str) -> Schema | None:
    """The schema of one field: its own, or that of all further ones."""
    known: Schema | None = schema.get("properties", {}).get(name)
    if known is None:
        further = schema.get("additionalProperties")
        known = further if isinstance(further, Mapping) else None
        if further is True:
            known = {PRESERVE: True}
    return known
