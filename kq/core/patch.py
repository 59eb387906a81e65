"""Changes to objects as values: merge patches (RFC 7386), and the JSON patches that do the same."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import msgspec

from kq.core.kinds import Object
from kq.errors import DecodeError

Operation = dict[str, Any]
"""One operation of a JSON patch (RFC 6902): `add`, `replace` or `remove`, never `test`."""

Path = Sequence[str | int]
"""The way to a place inside an object: keys of maps and indexes of lists."""

_PLAIN = frozenset({str, bool, int, float, list, type(None)})


class Patch(msgspec.Struct, frozen=True):
    """A merge patch: maps merge key by key, null removes, anything else replaces."""

    body: Mapping[str, Any]

    def apply(self, target: Object) -> dict[str, Any]:
        """The target with the change; what was given stays as it was."""
        return _merge(target, self.body)

    def is_noop(self, target: Object) -> bool:
        """Whether the target already is as this patch wants it."""
        return not self.to_json_patch(target)

    def to_json_patch(self, target: Object) -> list[Operation]:
        """The operations that change the target as `apply` does; none if nothing changes."""
        operations: list[Operation] = []
        _collect(operations, "", target, self.body)
        return operations

    def merged(self, other: "Patch") -> "Patch":
        """One patch that does what this one and then the other does.

        A merge patch cannot say "empty this map, then fill it": where this one puts null or a plain
        value and the other a map, the other's map merges into what the target has there.
        """
        return Patch(_compose(self.body, other.body))


def patch_at(target: Object, path: Path, body: Mapping[str, Any]) -> list[Operation]:
    """The operations that merge `body` into the map at `path`.

    Maps on the way that are absent or null are added first; a list on the way must have the index,
    else DecodeError.
    """
    operations: list[Operation] = []
    pointer = ""
    here: Any = target
    for segment in path:
        pointer = f"{pointer}/{escaped(segment)}"
        present = _child(here, segment, pointer)
        if not _is_map(present) and not isinstance(present, list):
            operations.append({"op": _writing(present), "path": pointer, "value": {}})
            present = {}
        here = present
    if not _is_map(here):
        raise DecodeError(f"{pointer} is a list, not a map")
    _collect(operations, pointer, here, body)
    return operations


def escaped(segment: str | int) -> str:
    """A segment as JSON pointers (RFC 6901) spell it."""
    text = str(segment)
    if "~" in text or "/" in text:
        return text.replace("~", "~0").replace("/", "~1")
    return text


def _child(here: Any, segment: str | int, pointer: str) -> Any:
    if _is_map(here):
        return here.get(str(segment))
    if isinstance(segment, int) and 0 <= segment < len(here):
        return here[segment]
    raise DecodeError(f"{pointer} does not exist")


def _merge(target: Any, body: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(target) if _is_map(target) else {}
    for key, value in body.items():
        if value is None:
            result.pop(key, None)
        elif _is_map(value):
            result[key] = _merge(result.get(key), value)
        else:
            result[key] = value
    return result


def _collect(
    operations: list[Operation], pointer: str, target: Mapping[str, Any], body: Mapping[str, Any]
) -> None:
    """Adds the operations that merge `body` into the map `target` at that place."""
    for key, value in body.items():
        path = f"{pointer}/{escaped(key)}"
        present = target.get(key)
        if value is None:
            if key in target:
                operations.append({"op": "remove", "path": path})
        elif _is_map(value):
            if not _is_map(present):
                operations.append({"op": _writing(present), "path": path, "value": {}})
                present = {}
            _collect(operations, path, present, value)
        elif not _same(present, value):
            operations.append({"op": _writing(present), "path": path, "value": value})


def _is_map(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Values off the wire are of few types, and asking for those first is ten times faster."""
    kind = type(value)
    return kind is dict or (kind not in _PLAIN and isinstance(value, Mapping))


def _writing(present: Any) -> str:
    """`add` where nothing or null is: on a map it also replaces, so null can do no harm."""
    return "add" if present is None else "replace"


def _compose(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Unlike a merge this keeps nulls, because to a later target they still mean removal."""
    result = dict(first)
    for key, value in second.items():
        earlier = result.get(key)
        if isinstance(value, Mapping) and isinstance(earlier, Mapping):
            result[key] = _compose(earlier, value)
        else:
            result[key] = value
    return result


def _same(left: Any, right: Any) -> bool:
    """Equal as JSON: Python takes True for 1, the API server does not."""
    if left is right or (type(left) is str and type(right) is str):
        return bool(left == right)
    if _is_map(left) and _is_map(right):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)
