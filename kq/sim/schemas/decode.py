"""Objects of built-in types as the server's own types hold them: known fields, of the right type.

What Go's decoder refuses is refused in its words; what it drops (unknown fields, nulls, empty
lists and maps of optional fields) is dropped; quantities and numbers come out as it writes them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from kq.sim.schemas import scalars
from kq.sim.schemas.definitions import OMITS_ZERO, Schema, definitions
from kq.sim.schemas.golang import Misfit, Step, go_type, path_of
from kq.sim.schemas.scalars import Read, Unknown

_Field = tuple[type | None, Read, bool]
"""A type whose values need no reading, how others are read, and whether nothing is left out."""
_EMPTY: Mapping[str, Any] = {
    "object": {},
    "array": [],
    "string": "",
    "integer": 0,
    "boolean": False,
}


@dataclass(slots=True)
class Decoded:
    """What came of an object: itself as the server holds it, and the fields it does not know."""

    object: dict[str, Any]
    unknown: list[str] = field(default_factory=list)


def decode(schema: Schema, value: Mapping[str, Any]) -> Decoded:
    """The object as its type takes it; DecodeError has the words of Go's decoder."""
    unknown: list[list[Step]] = []
    try:
        read = _struct(str(schema["title"]))(value, unknown)
    except Misfit as err:
        raise err.told() from err
    return Decoded(read, [path_of(steps) for steps in unknown])


@cache
def _struct(title: str) -> "_Struct":
    return _Struct({"title": title, **definitions()[title]})


class _Struct:
    """Reads the values of one struct type; what its fields are like it learns as they come."""

    def __init__(self, schema: Schema) -> None:
        self._called = go_type(schema)
        self._owner = str(schema["title"]).rpartition(".")[2]
        self._properties: Mapping[str, Schema] = schema["properties"]
        self._fields: dict[str, _Field | None] = {}

    def __call__(self, value: Any, unknown: Unknown) -> dict[str, Any]:
        if type(value) is not dict:
            raise Misfit(value, self._called)
        fields = self._fields
        kept: dict[str, Any] = {}
        for name, each in value.items():
            field = fields[name] if name in fields else self._learnt(name)
            if field is None:
                unknown.append([name])
                continue
            plain, read, omits = field
            if type(each) is not plain:
                if each is None:
                    continue
                each = self._inside(name, read, each, unknown)
            if each or not omits:
                kept[name] = each
        return kept

    def _inside(self, name: str, read: Read, value: Any, unknown: Unknown) -> Any:
        known = len(unknown)
        try:
            made = read(value, unknown)
        except Misfit as err:
            raise err.inside(name, self._owner) from err
        for steps in unknown[known:]:
            steps.append(name)
        return made

    def _learnt(self, name: str) -> _Field | None:
        schema = self._properties.get(name)
        found = None if schema is None else _field(schema)
        # Of names that nobody knows there is no end.
        if found is not None:
            self._fields[name] = found
        return found


def _field(schema: Schema) -> _Field:
    # On its way through protobuf an empty list becomes none, and comes out as null.
    holds_many = schema.get("type") == "array" or "additionalProperties" in schema
    return _plain(schema), _reader(schema), holds_many or OMITS_ZERO in schema


def _plain(schema: Schema) -> type | None:
    match schema.get("type"):
        case "string" if "format" not in schema:
            return str
        case "boolean":
            return bool
        case _:
            return None


def _reader(schema: Schema) -> Read:
    special = scalars.special(schema)
    if special is not None:
        return special
    match schema.get("type"):
        case "object" if "properties" in schema:
            return _struct(schema["title"])
        case "object" if "additionalProperties" in schema:
            return _map(schema)
        case "array":
            return _list(schema)
        case "string" | "integer" | "boolean" | "number":
            return scalars.reader(schema)
        case _:
            return lambda value, unknown: value


def _map(schema: Schema) -> Read:
    inner = schema["additionalProperties"]
    plain, called = _plain(inner), go_type(schema)
    read_each: list[Read] = []

    def read(value: Any, unknown: Unknown) -> Any:
        if type(value) is not dict:
            raise Misfit(value, called)
        if not read_each:
            # Not before: a type may hold a map of itself.
            read_each.append(_reader(inner))
        read_entry = read_each[0]
        return {
            key: each if type(each) is plain else _entry(read_entry, (key, each), unknown)
            for key, each in value.items()
        }

    return read


def _entry(read: Read, entry: tuple[str, Any], unknown: Unknown) -> Any:
    key, value = entry
    if value is None:
        return ""
    known = len(unknown)
    made = read(value, unknown)
    # Fields that do not fit are told without the key of the map that they are in.
    for steps in unknown[known:]:
        steps.append(key)
    return made


def _list(schema: Schema) -> Read:
    inner = schema["items"]
    plain, called = _plain(inner), go_type(schema)
    read_each: list[Read] = []

    def read(value: Any, unknown: Unknown) -> Any:
        if type(value) is not list:
            raise Misfit(value, called)
        if not read_each:
            read_each.append(_reader(inner))
        read_item = read_each[0]
        return [
            each if type(each) is plain else _item(inner, read_item, (number, each), unknown)
            for number, each in enumerate(value)
        ]

    return read


def _item(schema: Schema, read: Read, item: tuple[int, Any], unknown: Unknown) -> Any:
    number, value = item
    if value is None:
        return _empty(schema)
    known = len(unknown)
    try:
        made = read(value, unknown)
    except Misfit as err:
        raise err.inside(number) from err
    for steps in unknown[known:]:
        steps.append(number)
    return made


def _empty(schema: Schema) -> Any:
    kind = schema.get("type", "")
    return type(_EMPTY[kind])() if kind in _EMPTY else None


def texts(unknown: Sequence[str]) -> list[str]:
    """Unknown fields in the words of warnings and refusals."""
    return [f'unknown field "{path}"' for path in unknown]
