"""What a structural schema makes of an object: unknown fields cut, defaults filled in."""

from collections.abc import Mapping
from typing import Any

from kq.sim.schemas.copying import copied
from kq.sim.schemas.definitions import Schema

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


def prune(schema: Schema, value: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A copy of a whole object without the fields its schema does not know, and their paths."""
    unknown: list[str] = []
    kept = _pruned({**schema, EMBEDDED: True}, value, "", unknown)
    return kept, sorted(unknown)


def _pruned(schema: Schema, value: Any, path: str, unknown: list[str]) -> Any:
    if type(value) is dict:
        return _pruned_map(schema, value, path, unknown)
    if type(value) is not list:
        return value
    items = schema.get("items")
    if items is None and schema.get(PRESERVE):
        return copied(value)
    inner = items or {}
    return [
        _pruned(inner, each, f"{path}[{index}]", unknown)
        if type(each) is dict or type(each) is list
        else each
        for index, each in enumerate(value)
    ]


def _pruned_map(
    schema: Schema, value: Mapping[str, Any], path: str, unknown: list[str]
) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    is_whole, keeps = schema.get(EMBEDDED), schema.get(PRESERVE)
    for name, each in value.items():
        known = property_of(schema, name)
        if is_whole and name in META_FIELDS:
            kept[name] = copied(each)
        elif known is not None:
            has_parts = type(each) is dict or type(each) is list
            kept[name] = _pruned(known, each, _inside(path, name), unknown) if has_parts else each
        elif keeps:
            kept[name] = copied(each)
        elif path or name not in META_FIELDS:
            unknown.append(_inside(path, name))
    return kept


def _inside(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


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
                    value[name] = copied(known.get("default"))
                fill(known, value[name])
        case list() if isinstance(schema.get("items"), Mapping):
            items = schema["items"]
            for index, each in enumerate(value):
                if each is None and not items.get("nullable"):
                    value[index] = copied(items.get("default"))
                fill(items, value[index])


def _fill_properties(schema: Schema, value: dict[str, Any]) -> None:
    for name, known in schema.get("properties", {}).items():
        is_bad_null = name in value and value[name] is None and not known.get("nullable")
        if "default" in known and known["default"] is not None:
            if name not in value or is_bad_null:
                value[name] = copied(known["default"])
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
