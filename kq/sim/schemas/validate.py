"""What is wrong with an object by its structural schema, in the words of the real server."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kq.sim.api.status import Cause, invalid_value, required
from kq.sim.schemas.checks import (
    INT64,
    enum_faults,
    format_faults,
    nowhere,
    number_faults,
    string_faults,
    types_of,
)
from kq.sim.schemas.definitions import Schema
from kq.sim.schemas.structural import EMBEDDED, property_of

RULES = "x-kubernetes-validations"
Check = Callable[[Schema, Any, str], Iterator[Cause]]
_BLOCKING = (
    "FieldValueRequired",
    "FieldValueTypeInvalid",
    "FieldValueTooLong",
    "FieldValueTooMany",
)
"""Faults with which a server does not come to the CEL rules."""
_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing"
    " errors to complete validation"
)


def faults(schema: Schema, value: Any, path: str = "") -> list[Cause]:
    """Everything that is wrong with the value at that path."""
    return [*_schema_faults(schema, value, path), *duplicates(schema, value, path)]


def has_rules(schema: Any) -> bool:
    """Whether there is a CEL rule anywhere in a schema."""
    match schema:
        case dict():
            return RULES in schema or any(map(has_rules, schema.values()))
        case list():
            return any(map(has_rules, schema))
        case _:
            return False


def unchecked(found: Sequence[Cause]) -> list[Cause]:
    """What is said of the CEL rules if these faults kept a server from them."""
    if any(each.reason in _BLOCKING for each in found):
        return [Cause("<nil>", "FieldValueInvalid", f"Invalid value: null: {_UNCHECKED}")]
    return []


def _schema_faults(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    yield from _type(schema, value, path)
    if value is None:
        return
    yield from _alternatives(schema, value, path)
    for check in _checks(value):
        yield from check(schema, value, path)
    yield from enum_faults(schema, value, path)
    match value:
        case dict():
            yield from _object(schema, value, path)
        case list() if isinstance(schema.get("items"), Mapping):
            for index, each in enumerate(value):
                yield from _schema_faults(schema["items"], each, f"{path}[{index}]")


def _checks(value: Any) -> Sequence[Check]:
    match value:
        case str():
            return (string_faults, format_faults)
        case bool():
            return ()
        case int() | float():
            return (number_faults,)
        case list():
            return (_size,)
        case _:
            return ()


def _type(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    wanted = types_of(schema)
    if not wanted:
        return
    if value is None:
        if not schema.get("nullable"):
            yield _type_fault(path, ",".join(wanted), "null")
        return
    called, form = _kind(value)
    is_whole = isinstance(value, float) and value.is_integer() and "integer" in wanted
    fits = called in wanted or is_whole or (called == "integer" and "number" in wanted)
    if fits:
        return
    if "format" in schema and not isinstance(value, str | list):
        yield _type_fault(path, schema["format"], form)
    elif "format" not in schema or "integer" in wanted or "number" in wanted:
        yield _type_fault(path, ",".join(wanted), called)


def _kind(value: Any) -> tuple[str, str]:
    match value:
        case bool():
            return "boolean", ""
        case str():
            return "string", ""
        case int() if -INT64 <= value < INT64:
            return "integer", "int64"
        case int() | float():
            return "number", "float64"
        case list():
            return "array", ""
        case _:
            return "object", ""


def _type_fault(path: str, wanted: str, called: str) -> Cause:
    text = f'Invalid value: "{called}": {path} in body must be of type {wanted}: "{called}"'
    return Cause(path, "FieldValueTypeInvalid", text)


def _alternatives(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    if "anyOf" in schema:
        found = [list(_schema_faults(each, value, path)) for each in schema["anyOf"]]
        if all(found):
            yield nowhere(f'"{path}" must validate at least one schema (anyOf)')
            yield from found[0]
    if "oneOf" in schema:
        yield from _one_of(schema["oneOf"], value, path)
    for each in schema.get("allOf", ()):
        yield from _schema_faults(each, value, path)
    if "not" in schema and not any(_schema_faults(schema["not"], value, path)):
        yield nowhere(f'"{path}" must not validate the schema (not)')


def _one_of(choices: Sequence[Schema], value: Any, path: str) -> Iterator[Cause]:
    found = [list(_schema_faults(each, value, path)) for each in choices]
    valid = sum(not each for each in found)
    if valid != 1:
        count = f"{valid} valid alternatives" if valid else "none valid"
        yield nowhere(f'"{path}" must validate one and only one schema (oneOf). Found {count}')
    if not valid:
        yield from found[0]


def _object(schema: Schema, value: Mapping[str, Any], path: str) -> Iterator[Cause]:
    yield from _size(schema, value, path)
    for name in _required(schema):
        if name not in value:
            yield required(_join(path, name))
    for name, each in value.items():
        known = property_of(schema, name)
        if known is not None:
            yield from _schema_faults(known, each, _join(path, name))


def _required(schema: Schema) -> Sequence[str]:
    names: Sequence[str] = schema.get("required", ())
    return ("apiVersion", "kind", *names) if schema.get(EMBEDDED) else names


def _size(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    noun, least, most = "items", schema.get("minItems"), schema.get("maxItems")
    if isinstance(value, Mapping):
        noun = "properties"
        least, most = schema.get("minProperties"), schema.get("maxProperties")
    count = len(value)
    if least is not None and count < least:
        yield invalid_value(path, count, f"{path} in body should have at least {least} {noun}")
    if most is not None and count > most:
        text = f"Too many: {count}: must have at most {most} items"
        yield Cause(path, "FieldValueTooMany", text)


def duplicates(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    """Entries of sets and of list maps that are there already."""
    match value:
        case list():
            yield from _repeated(schema, value, path)
            for index, each in enumerate(value):
                items = schema.get("items")
                if isinstance(items, Mapping):
                    yield from duplicates(items, each, f"{path}[{index}]")
        case dict():
            for name, each in value.items():
                known = property_of(schema, name)
                if known is not None:
                    yield from duplicates(known, each, _join(path, name))


def _repeated(schema: Schema, value: Sequence[Any], path: str) -> Iterator[Cause]:
    match schema.get("x-kubernetes-list-type"):
        case "set":
            keys: list[Any] = list(value)
        case "map":
            names = schema.get("x-kubernetes-list-map-keys", ())
            keys = [_key_of(each, names) for each in value]
        case _:
            return
    times: dict[str, int] = {}
    for index, key in enumerate(keys):
        text = json.dumps(key, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        times[text] = times.get(text, 0) + 1
        if times[text] == 2:
            message = f"Duplicate value: {text}"
            yield Cause(f"{path}[{index}]", "FieldValueDuplicate", message)


def _key_of(item: Any, names: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(item, Mapping):
        return {}
    return {name: item[name] for name in names if name in item}


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
