"""What Go's encoder writes of a type even if nobody has said it: empty structs, texts, numbers."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from kq.sim.schemas.definitions import (
    INT_OR_STRING,
    QUANTITY,
    WRITTEN,
    Schema,
    definitions,
)

_TITLED: Mapping[str, Any] = {QUANTITY: "0", INT_OR_STRING: 0}
_PLAIN: Mapping[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False}


def fill_zeros(title: str, value: dict[str, Any]) -> None:
    """Puts what is missing of a struct into it, not into the structs that it holds."""
    for name, zero in _zeros(title):
        if name not in value:
            value[name] = {} if zero == {} else zero


def zero(schema: Schema) -> dict[str, Any]:
    """A whole object of which nothing has been said."""
    made: dict[str, Any] = {}
    fill_zeros(schema.get("title", ""), made)
    for name, each in made.items():
        if each == {}:
            made[name] = zero(schema["properties"][name])
    return made


@cache
def _zeros(title: str) -> tuple[tuple[str, Any], ...]:
    properties = definitions().get(title, {}).get("properties", {})
    return tuple((name, _zero(each)) for name, each in properties.items() if WRITTEN in each)


def _zero(schema: Schema) -> Any:
    title = schema.get("title", "")
    if title in _TITLED:
        return _TITLED[title]
    if "properties" in schema:
        return {}
    return None if title else _PLAIN.get(schema.get("type", ""))
