"""The words of Go's JSON decoder: its names of types, of values, and of places in an object."""

from collections.abc import Sequence
from typing import Self

from kq.errors import DecodeError, KqError
from kq.sim.schemas.definitions import Schema

Step = str | int
"""A field's name, or an item's number."""
_INTEGERS = ("int32", "int64")


class Misfit(KqError):
    """A value that is not of the type its field has; on its way out it learns where it stands."""

    def __init__(self, value: object, wanted: str, *, bare: bool = False) -> None:
        """`bare` if Go's message does not say where."""
        super().__init__(wanted)
        self._value = value
        self._wanted = wanted
        self._bare = bare
        self._owner = ""
        self._steps: list[Step] = []

    def inside(self, step: Step, owner: str = "") -> Self:
        """The same, now that one more step to it is known; a field's owner is its struct."""
        self._steps.append(step)
        self._owner = self._owner or owner
        return self

    def told(self) -> DecodeError:
        """The refusal in Go's words."""
        called = go_name(self._value)
        if called == "number" and self._wanted in _INTEGERS:
            called = f"number {self._value}"
        fields = [step for step in self._steps if isinstance(step, str)]
        target = f"struct field {self._owner}.{path_of(fields)}" if fields else "value"
        if self._bare:
            target = "value"
        text = f"json: cannot unmarshal {called} into Go {target} of type {self._wanted}"
        return DecodeError(text)


def path_of(steps: Sequence[Step]) -> str:
    """A place as unknown fields are named, `spec.containers[0].foo`; steps from the inside out."""
    path = ""
    for step in reversed(steps):
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if path else step
    return path


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
