"""The words of Go's JSON decoder: its names of types, of values, and of places in an object."""

import re
from dataclasses import dataclass

from kq.errors import DecodeError
from kq.sim.schemas.definitions import Schema

_INDEX = re.compile(r"\[\d+\]")
_INTEGERS = ("int32", "int64")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands in an object; spelled out only if there is something to say about it."""

    above: "Place | None" = None
    owner: str = ""
    step: str | int = ""

    @property
    def path(self) -> str:
        """The place as unknown fields are named: `spec.containers[0].foo`."""
        before = self.above.path if self.above else ""
        if isinstance(self.step, int):
            return f"{before}[{self.step}]"
        return f"{before}.{self.step}" if before else self.step

    @property
    def go_field(self) -> str:
        """The place as Go's messages have it, `JobSpec.spec.suspend`; empty for the whole."""
        place: Place | None = self
        while place is not None and isinstance(place.step, int):
            place = place.above
        if place is None or not place.step:
            return ""
        return f"{place.owner}.{_INDEX.sub('', place.path)}"


def go_type(schema: Schema) -> str:
    """What Go's decoder calls the type."""
    match schema.get("type"):
        case "array":
            return f"[]{go_type(schema['items'])}"
        case "object" if "properties" not in schema and "additionalProperties" in schema:
            return f"map[string]{go_type(schema['additionalProperties'])}"
        case "integer":
            return str(schema.get("format", "int64"))
        case "boolean":
            return "bool"
        case "number":
            return "float64"
        case "string":
            return "string"
        case _:
            return ".".join(schema.get("title", "interface {}").split(".")[-2:])


def go_name(value: object) -> str:
    """What Go's decoder calls a JSON value."""
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def mismatch(value: object, place: Place, wanted: str, *, bare: bool = False) -> DecodeError:
    """A value that is not of the type that its field has."""
    called = go_name(value)
    if called == "number" and wanted in _INTEGERS:
        called = f"number {value}"
    field = "" if bare else place.go_field
    target = f"struct field {field}" if field else "value"
    return DecodeError(f"json: cannot unmarshal {called} into Go {target} of type {wanted}")
