"""What is wrong with texts and numbers by their schema, in the words of the real server."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kq.sim.api.status import Cause, invalid_value
from kq.sim.schemas.definitions import Schema

INT64 = 2**63
_INT_BOUNDS = {"int32": 2**31, "int64": INT64}
_NOWHERE = "<nil>"
_FORMATS: Mapping[str, str] = {
    "date-time": r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)",
    "date": r"\d{4}-\d\d-\d\d",
    "uuid": r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}",
    "duration": r"[+-]?(0|(\d+(\.\d*)?(ns|us|\u00b5s|ms|s|m|h|d|w))+)",
    "byte": r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?",
    "ipv4": r"(\d{1,3}\.){3}\d{1,3}",
}


def types_of(schema: Schema) -> Sequence[str]:
    """The JSON types that a value may have."""
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def nowhere(text: str) -> Cause:
    """A fault whose field the real server loses, and says so."""
    return Cause(_NOWHERE, "FieldValueInvalid", f'Invalid value: "": {text}')


def string_faults(schema: Schema, value: str, path: str) -> Iterator[Cause]:
    """A text that is too long, too short, or not of the pattern."""
    longest = schema.get("maxLength")
    if longest is not None and len(value) > longest:
        text = f"Too long: may not be more than {longest} bytes"
        yield Cause(path, "FieldValueTooLong", text)
    elif len(value) < schema.get("minLength", 0):
        count = schema["minLength"]
        yield invalid_value(path, value, f"{path} in body should be at least {count} chars long")
    elif "pattern" in schema and not _pattern(schema["pattern"]).search(value):
        yield invalid_value(path, value, f"{path} in body should match '{schema['pattern']}'")


@lru_cache(maxsize=256)
def _pattern(text: str) -> re.Pattern[str]:
    # In Go's patterns $ is the very end, in Python's also the place before a last line break.
    return re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", text))


def format_faults(schema: Schema, value: str, path: str) -> Iterator[Cause]:
    """A text that has not the form of what it stands for."""
    name = schema.get("format", "")
    if name in _FORMATS and not re.fullmatch(_FORMATS[name], value):
        shown = json.dumps(value, ensure_ascii=False)
        text = f"Invalid value: {shown}: {path} in body must be of type {name}: {shown}"
        yield Cause(path, "FieldValueTypeInvalid", text)


def number_faults(schema: Schema, value: float, path: str) -> Iterator[Cause]:
    """A number that is no integer, no multiple, or out of bounds."""
    if "integer" in types_of(schema) and not _is_integer(schema, value):
        form = f"with format {schema['format']}" if "format" in schema else "(default format)"
        yield nowhere(f"Checked value must be of type integer {form} in {path}")
    step = schema.get("multipleOf")
    if step and value % step:
        yield invalid_value(path, value, f"{path} in body should be a multiple of {step}")
    for is_out, word in _bounds(schema, value):
        if is_out:
            yield invalid_value(path, value, f"{path} in body should be {word}")


def _is_integer(schema: Schema, value: float) -> bool:
    bound = _INT_BOUNDS.get(schema.get("format", ""), INT64)
    return value == int(value) and -bound <= value < bound


def _bounds(schema: Schema, value: float) -> Iterator[tuple[bool, str]]:
    if "maximum" in schema:
        most = schema["maximum"]
        if schema.get("exclusiveMaximum"):
            yield value >= most, f"less than {most}"
        else:
            yield value > most, f"less than or equal to {most}"
    if "minimum" in schema:
        least = schema["minimum"]
        if schema.get("exclusiveMinimum"):
            yield value <= least, f"greater than {least}"
        else:
            yield value < least, f"greater than or equal to {least}"


def enum_faults(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    """A value that is none of those listed."""
    if "enum" in schema and value not in schema["enum"]:
        choices = ", ".join(json.dumps(each, ensure_ascii=False) for each in schema["enum"])
        shown = json.dumps(value, ensure_ascii=False)
        text = f"Unsupported value: {shown}: supported values: {choices}"
        yield Cause(path, "FieldValueNotSupported", text)
