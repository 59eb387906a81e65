"""JSON patches as the real server's library applies them, its liberties included."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kq.errors import KqError
from kq.sim.schemas.copying import copied

Document = dict[str, Any]
_ABSENT = object()


class DoesNotApply(KqError):
    """An operation that the document has no place for, or a test that it fails."""


def apply_operations(document: Mapping[str, Any], operations: Sequence[Any]) -> Any:
    """The document after all operations."""
    whole: Any = copied(dict(document))
    for operation in operations:
        name = operation.get("op")
        act = _OPERATIONS.get(name)
        if act is None:
            raise DoesNotApply(f"unexpected kind: {name}")
        whole = act(whole, operation)
    return whole


def _add(whole: Any, operation: Document) -> Any:
    parent, key = _place(whole, operation, "path")
    _insert(parent, key, _value(operation))
    return whole


def _remove(whole: Any, operation: Document) -> Any:
    parent, key = _place(whole, operation, "path")
    _delete(parent, key)
    return whole


def _replace(whole: Any, operation: Document) -> Any:
    if operation.get("path") == "":
        value = _value(operation)
        if not isinstance(value, dict | list):
            raise DoesNotApply("replace operation value must be object or array")
        return value
    parent, key = _place(whole, operation, "path")
    if isinstance(parent, dict):
        # A key that is missing is no error there.
        parent[key] = _value(operation)
    else:
        parent[_index(key, len(parent))] = _value(operation)
    return whole


def _move(whole: Any, operation: Document) -> Any:
    parent, key = _place(whole, operation, "from")
    value = _get(parent, key)
    _delete(parent, key)
    target, name = _place(whole, operation, "path")
    _insert(target, name, value)
    return whole


def _copy(whole: Any, operation: Document) -> Any:
    parent, key = _place(whole, operation, "from")
    value = copied(_get(parent, key))
    target, name = _place(whole, operation, "path")
    _insert(target, name, value)
    return whole


def _test(whole: Any, operation: Document) -> Any:
    if operation.get("path") == "":
        found = whole
    else:
        parent, key = _place(whole, operation, "path")
        found = _get(parent, key)
    if not same(found, operation.get("value")):
        raise DoesNotApply(f"testing value {operation.get('path')} failed")
    return whole


_OPERATIONS: Mapping[Any, Callable[[Any, Document], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal; true is not 1."""
    match left, right:
        case dict(), dict():
            return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
        case list(), list():
            pairs = zip(left, right, strict=False)
            return len(left) == len(right) and all(same(*pair) for pair in pairs)
        case (bool(), _) | (_, bool()):
            return left is right
        case _:
            return bool(left == right)


def _value(operation: Document) -> Any:
    return copied(operation.get("value"))


def _place(whole: Any, operation: Document, field: str) -> tuple[Any, str]:
    """The map or list that a pointer leads into, and the key there."""
    pointer = operation.get(field)
    parts = pointer.split("/") if isinstance(pointer, str) else []
    if len(parts) < 2:
        raise DoesNotApply(f"operation does not apply: no place for {field} {pointer!r}")
    parent = whole
    for part in parts[1:-1]:
        parent = _get(parent, _unescaped(part))
    if not isinstance(parent, dict | list):
        raise DoesNotApply(f"operation does not apply: doc is missing path: {pointer!r}")
    return parent, _unescaped(parts[-1])


def _get(parent: Any, key: str) -> Any:
    match parent:
        case dict():
            return parent.get(key)
        case list():
            return parent[_index(key, len(parent))]
        case _:
            raise DoesNotApply(f"operation does not apply: nothing holds {key!r}")


def _insert(parent: Any, key: str, value: Any) -> None:
    if isinstance(parent, dict):
        parent[key] = value
    elif key == "-":
        parent.append(value)
    else:
        parent.insert(_index(key, len(parent) + 1), value)


def _delete(parent: Any, key: str) -> None:
    if isinstance(parent, list):
        del parent[_index(key, len(parent))]
    elif parent.pop(key, _ABSENT) is _ABSENT:
        raise DoesNotApply(f"unable to remove nonexistent key: {key}")


def _index(key: str, length: int) -> int:
    """A position; negative ones count from the end."""
    digits = key.removeprefix("-").removeprefix("+")
    if not (digits.isascii() and digits.isdigit()):
        raise DoesNotApply(f"value was not a proper array index: {key!r}")
    index = int(key)
    if not -length <= index < length:
        raise DoesNotApply(f"unable to access invalid index: {index}")
    return index % length


def _unescaped(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")
