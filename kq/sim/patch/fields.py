"""Sets of fields: those of an object, those that differ, and their form in managedFields."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kq.sim.patch.operations import same
from kq.sim.patch.shapes import (
    Shape,
    field_element,
    field_schema,
    is_declared,
    item_keys,
    items_schema,
    key_element,
    shape_of,
    value_element,
)
from kq.sim.schemas.definitions import Schema

Path = tuple[str, ...]
"""From the root to a field, each step as managedFields have it: `f:spec`, `k:{"name":"a"}`."""
_MISSING = object()


@dataclass(slots=True)
class Differences:
    """What came, what changed, and what is gone, from one version of an object to the next."""

    added: set[Path] = field(default_factory=set)
    modified: set[Path] = field(default_factory=set)
    removed: set[Path] = field(default_factory=set)

    @property
    def written(self) -> set[Path]:
        """What the later version says that the earlier one did not."""
        return self.added | self.modified


def fields_of(schema: Schema, value: Any, path: Path = ()) -> set[Path]:
    """All that an applied object says."""
    found: set[Path] = set()
    shape = shape_of(schema, value)
    if shape is Shape.LEAF:
        return {path}
    for element, inner, each in parts(schema, value):
        place = (*path, element)
        found |= fields_of(inner, each, place)
        is_key = shape is Shape.MAP and not is_declared(schema, element[2:])
        if is_key or shape in (Shape.LIST_MAP, Shape.SET) or each in (None, {}):
            found.add(place)
    return found


def parts(schema: Schema, value: Any) -> Iterator[tuple[str, Schema, Any]]:
    """The parts of a value: the step to each, its type, and itself."""
    match shape_of(schema, value):
        case Shape.MAP:
            for name, each in value.items():
                yield field_element(name), field_schema(schema, name), each
        case Shape.LIST_MAP:
            for each in value:
                yield key_element(item_keys(schema, each)), items_schema(schema), each
        case Shape.SET:
            for each in value:
                yield value_element(each), items_schema(schema), each


def compare(schema: Schema, old: Any, new: Any) -> Differences:
    """The differences between two versions of an object."""
    found = Differences()
    _compare(schema, old, new, (), found)
    return found


def _compare(schema: Schema, old: Any, new: Any, path: Path, found: Differences) -> None:
    if old is new or (old is not _MISSING and new is not _MISSING and same(old, new)):
        return
    has_parts = shape_of(schema, new if old is _MISSING else old) is not Shape.LEAF
    has_new_parts = has_parts if new is _MISSING else shape_of(schema, new) is not Shape.LEAF
    before = _parts(schema, old) if has_parts else {}
    after = _parts(schema, new) if has_new_parts else {}
    for element in {**before, **after}:
        inner = (after.get(element) or before[element])[0]
        was = before[element][1] if element in before else _MISSING
        now = after[element][1] if element in after else _MISSING
        _compare(inner, was, now, (*path, element), found)
    if old is _MISSING:
        found.added.add(path)
    elif new is _MISSING:
        found.removed.add(path)
    elif not before and not after:
        found.modified.add(path)


def _parts(schema: Schema, value: Any) -> dict[str, tuple[Schema, Any]]:
    if value is _MISSING:
        return {}
    return {element: (inner, each) for element, inner, each in parts(schema, value)}


def encode(paths: Iterable[Path]) -> dict[str, Any]:
    """A set as `fieldsV1` has it."""
    root: dict[str, Any] = {}
    for path in paths:
        node = root
        for element in path:
            node = node.setdefault(element, {})
        node["."] = {}
    return _trimmed(root)


def _trimmed(node: dict[str, Any]) -> dict[str, Any]:
    if set(node) == {"."}:
        return {}
    return {key: _trimmed(node[key]) for key in sorted(node)}


def decode(fields: Mapping[str, Any], path: Path = ()) -> set[Path]:
    """The set that `fieldsV1` stands for."""
    if not fields:
        return {path} if path else set()
    found: set[Path] = set()
    for element, inner in fields.items():
        found |= {path} if element == "." else decode(inner, (*path, element))
    return found


def in_order(paths: Iterable[Path]) -> list[Path]:
    """Paths as the server lists them: at each place first what ends there."""
    tree: dict[str, Any] = {}
    for path in paths:
        node = tree
        for element in path:
            node = node.setdefault(element, {})
        node[""] = path
    return list(_walk(tree))


def _walk(node: Mapping[str, Any]) -> Iterator[Path]:
    steps = [step for step in sorted(node) if step]
    yield from (node[step][""] for step in steps if "" in node[step])
    for step in steps:
        yield from _walk(node[step])


def shown(path: Path) -> str:
    """A path as the server shows it: `.spec.map[name="x"].v`."""
    return "".join(_shown_step(element) for element in path)


def _shown_step(element: str) -> str:
    kind, _, content = element.partition(":")
    if kind == "f":
        return f".{content}"
    value = json.loads(content)
    if kind == "k":
        return "[" + ",".join(f"{name}={json.dumps(each)}" for name, each in value.items()) + "]"
    return f"[={json.dumps(value)}]"
