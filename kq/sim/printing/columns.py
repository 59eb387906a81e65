"""A kind's columns, and one object in them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kq.core.kinds import Object
from kq.errors import DecodeError
from kq.sim.api.kinds import Column, Kind
from kq.sim.printing.ages import age
from kq.sim.printing.jsonpath import find

NAME_DESCRIPTION = (
    "Name must be unique within a namespace. Is required when creating resources, although some"
    " resources may allow a client to request the generation of an appropriate name automatically."
    " Name is primarily intended for creation idempotence and configuration definition. Cannot be"
    " updated. More info:"
    " https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
AGE_DESCRIPTION = (
    "CreationTimestamp is a timestamp representing the server time when this object was created."
)
AGE = Column(
    name="Age", type="date", json_path=".metadata.creationTimestamp", description=AGE_DESCRIPTION
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Printer:
    """How the objects of a kind are shown."""

    columns: Sequence[Column]
    cells: Callable[[Object, datetime], list[Any]]

    def definitions(self) -> list[dict[str, Any]]:
        """The columns as a Table has them."""
        return [
            {
                "name": each.name,
                "type": each.type,
                "format": each.format,
                "description": each.description,
                "priority": each.priority,
            }
            for each in self.columns
        ]


def name_column(priority: int = 0) -> Column:
    """The column of names, by which kubectl knows an object in a row."""
    return Column(
        name="Name",
        type="string",
        json_path=".metadata.name",
        format="name",
        description=NAME_DESCRIPTION,
        priority=priority,
    )


def custom_printer(kind: Kind) -> Printer:
    """How the objects of a custom kind are shown: as its CRD says, else name and age."""
    chosen = kind.columns or (AGE,)

    def cells(obj: Object, now: datetime) -> list[Any]:
        name = (obj.get("metadata") or {}).get("name", "")
        return [name, *(_cell(column, obj, now) for column in chosen)]

    return Printer(columns=(name_column(), *map(_described, chosen)), cells=cells)


def _described(column: Column) -> Column:
    if column.description:
        return column
    return Column(
        name=column.name,
        type=column.type,
        json_path=column.json_path,
        description=f"Custom resource definition column (in JSONPath format): {column.json_path}",
        format=column.format,
        priority=column.priority,
    )


def _cell(column: Column, obj: Object, now: datetime) -> Any:
    try:
        found = find(column.json_path, obj)
    except DecodeError:
        return None
    if not found or (found[0] is None and column.type != "string"):
        return None
    value = found[0]
    match column.type, value:
        case "string", _:
            return _text(value)
        case "integer", int() | float() if not isinstance(value, bool):
            return int(value)
        case "number", int() | float() if not isinstance(value, bool):
            return value
        case "boolean", bool():
            return value
        case "date", str():
            return age(value, now)
    return None


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case None:
            return "<no value>"
        case bool():
            return str(value).lower()
        case dict() | list():
            return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        case _:
            return str(value)
