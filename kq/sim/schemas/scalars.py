"""Texts, numbers, times and quantities as Go's decoder takes them."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any

from kq.errors import DecodeError, QuantityError
from kq.sim.schemas.amounts import spelled
from kq.sim.schemas.definitions import MICRO_TIME, QUANTITY, TIME, Schema
from kq.sim.schemas.golang import Misfit, Step, go_type

Unknown = list[list[Step]]
"""Where the fields are that nobody knows, from the inside out."""
Read = Callable[[Any, Unknown], Any]
"""The value as the server holds it; Misfit or DecodeError if it cannot be read."""

QUANTITY_RULE = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_TIMES: Mapping[str, tuple[re.Pattern[str], str]] = {
    TIME: (
        re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"),
        "2006-01-02T15:04:05Z07:00",
    ),
    MICRO_TIME: (
        re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)"),
        "2006-01-02T15:04:05.000000Z07:00",
    ),
}
_BOUNDS = {"int32": 2**31, "int64": 2**63}


def special(schema: Schema) -> Read | None:
    """How values of a type are read that is more than its JSON says."""
    title = schema.get("title", "")
    if title == QUANTITY:
        return _quantity
    return _time(*_TIMES[title]) if title in _TIMES else None


def reader(schema: Schema) -> Read:
    """How values of a plain type are read."""
    called = go_type(schema)
    match schema["type"]:
        case "string" if schema.get("format") == "byte":
            return _typed(str, called, _bytes)
        case "string":
            return _typed(str, called)
        case "boolean":
            return _typed(bool, called)
        case "integer":
            return _integer(called, _BOUNDS[schema.get("format", "int64")])
        case _:
            return _number(called)


def _typed(wanted: type, called: str, made: Callable[[Any], Any] = lambda value: value) -> Read:
    def read(value: Any, unknown: Unknown) -> Any:
        if type(value) is not wanted:
            raise Misfit(value, called)
        return made(value)

    return read


def _integer(called: str, bound: int) -> Read:
    def read(value: Any, unknown: Unknown) -> int:
        if type(value) is not int or not -bound <= value < bound:
            raise Misfit(value, called)
        return value

    return read


def _number(called: str) -> Read:
    def read(value: Any, unknown: Unknown) -> float:
        if type(value) is not int and type(value) is not float:
            raise Misfit(value, called)
        return value

    return read


def _quantity(value: Any, unknown: Unknown) -> str:
    try:
        return spelled(value)
    except QuantityError as err:
        raise DecodeError(QUANTITY_RULE) from err


def _time(pattern: re.Pattern[str], layout: str) -> Read:
    def read(value: Any, unknown: Unknown) -> str:
        if type(value) is not str:
            raise Misfit(value, "string", bare=True)
        if pattern.fullmatch(value):
            return value
        raise DecodeError(_time_fault(value, layout))

    return read


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
