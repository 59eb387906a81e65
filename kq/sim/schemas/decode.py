"""Objects of built-in types as the server's own types hold them: known fields, of the right type.

What Go's decoder refuses is refused in its words; what it drops (unknown fields, nulls, empty
lists and maps of optional fields) is dropped; quantities and numbers come out as it writes them.
"""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kq.errors import DecodeError, QuantityError
from kq.sim.schemas.amounts import spelled
from kq.sim.schemas.definitions import OMITS_ZERO, Schema
from kq.sim.schemas.golang import Place, go_type, mismatch

QUANTITY_RULE = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
_LAYOUTS = {
    "meta.v1.Time": "2006-01-02T15:04:05Z07:00",
    "meta.v1.MicroTime": "2006-01-02T15:04:05.000000Z07:00",
}
_BOUNDS = {"int32": 2**31, "int64": 2**63}
_SMALL = 2**31


@dataclass(slots=True)
class Decoded:
    """What came of an object: itself as the server holds it, and the fields it does not know."""

    object: dict[str, Any]
    unknown: list[str] = field(default_factory=list)


def decode(schema: Schema, value: Mapping[str, Any]) -> Decoded:
    """The object as its type takes it; DecodeError has the words of Go's decoder."""
    decoded = Decoded({})
    decoded.object = _struct(schema, value, Place(), decoded.unknown)
    return decoded


def _value(schema: Schema, value: Any, place: Place, unknown: list[str]) -> Any:
    title = schema.get("title", "")
    if title == "api.resource.Quantity":
        return _quantity(value)
    if title in _LAYOUTS:
        return _time(title, value, place)
    match schema.get("type"):
        case "object" if "properties" in schema:
            return _struct(schema, value, place, unknown)
        case "object" if "additionalProperties" in schema:
            return _map(schema, value, place, unknown)
        case "array":
            return _list(schema, value, place, unknown)
        case "string" | "integer" | "boolean" | "number":
            return _scalar(schema, value, place)
        case _:
            return value


def _struct(schema: Schema, value: Any, place: Place, unknown: list[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise mismatch(value, place, go_type(schema))
    properties = schema["properties"]
    owner = schema.get("title", "").rpartition(".")[2]
    required = schema.get("required", ())
    kept: dict[str, Any] = {}
    for name, each in value.items():
        inner = properties.get(name)
        if inner is None:
            unknown.append(Place(place, owner, name).path)
        elif each is not None:
            if not _is_plain(inner, each):
                each = _value(inner, each, Place(place, owner, name), unknown)
            if each is not None and (name in required or not _is_omitted(inner, each)):
                kept[name] = each
    return kept


def _is_plain(schema: Schema, value: Any) -> bool:
    """Whether a value needs no reading: most are texts and small numbers of their type."""
    match schema.get("type"):
        case "string":
            return type(value) is str and "format" not in schema
        case "integer":
            return type(value) is int and -_SMALL < value < _SMALL
        case "boolean":
            return type(value) is bool
        case _:
            return False


def _map(schema: Schema, value: Any, place: Place, unknown: list[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise mismatch(value, place, go_type(schema))
    inner = schema["additionalProperties"]
    return {
        key: each if _is_plain(inner, each) else _entry(inner, each, place, unknown)
        for key, each in value.items()
    }


def _entry(schema: Schema, value: Any, place: Place, unknown: list[str]) -> Any:
    return "" if value is None else _value(schema, value, place, unknown)


def _list(schema: Schema, value: Any, place: Place, unknown: list[str]) -> list[Any]:
    if not isinstance(value, list):
        raise mismatch(value, place, go_type(schema))
    inner = schema["items"]
    return [
        _empty(inner)
        if each is None
        else _value(inner, each, Place(place, place.owner, number), unknown)
        for number, each in enumerate(value)
    ]


def _scalar(schema: Schema, value: Any, place: Place) -> Any:
    match schema["type"], value:
        case "string", str() if schema.get("format") == "byte":
            return _bytes(value)
        case ("string", str()) | ("boolean", bool()):
            return value
        case "integer", int() if not isinstance(value, bool):
            bound = _BOUNDS[schema.get("format", "int64")]
            if -bound <= value < bound:
                return value
        case "number", int() | float() if not isinstance(value, bool):
            return value
    raise mismatch(value, place, go_type(schema))


def _quantity(value: Any) -> str:
    try:
        return spelled(value)
    except QuantityError as err:
        raise DecodeError(QUANTITY_RULE) from err


def _time(title: str, value: Any, place: Place) -> str:
    if not isinstance(value, str):
        raise mismatch(value, place, "string", bare=True)
    pattern = _MICRO_TIME if title == "meta.v1.MicroTime" else _TIME
    if pattern.fullmatch(value):
        return value
    raise DecodeError(_time_fault(value, _LAYOUTS[title]))


def _time_fault(value: str, layout: str) -> str:
    seconds = re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", value)
    rest, wanted = (value[seconds.end() :], ".000000") if seconds else (value, "2006")
    return f'parsing time "{value}" as "{layout}": cannot parse "{rest}" as "{wanted}"'


def _bytes(value: str) -> str:
    try:
        return base64.b64encode(base64.b64decode(value, validate=True)).decode()
    except (binascii.Error, ValueError) as err:
        good = re.match(r"[A-Za-z0-9+/]*", value)
        at = good.end() if good else 0
        raise DecodeError(f"illegal base64 data at input byte {at}") from err


def _is_omitted(schema: Schema, value: Any) -> bool:
    """Whether Go's encoder leaves an optional field out: nothing is said by it."""
    if value == [] or (value == {} and "additionalProperties" in schema):
        return True
    return OMITS_ZERO in schema and not value


def _empty(schema: Schema) -> Any:
    return {"object": {}, "array": [], "string": "", "integer": 0, "boolean": False}.get(
        schema.get("type", "")
    )


def texts(unknown: Sequence[str]) -> list[str]:
    """Unknown fields in the words of warnings and refusals."""
    return [f'unknown field "{path}"' for path in unknown]
