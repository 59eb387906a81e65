"""Strategic merge patches: lists of built-in types are merged by the keys that these declare.

The directives are those that kubectl writes: `$patch`, `$retainKeys`, `$deleteFromPrimitiveList`
and `$setElementOrder`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kq.errors import KqError
from kq.sim.schemas.copying import copied
from kq.sim.schemas.definitions import Schema
from kq.sim.schemas.structural import property_of

_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_DELETE_PREFIX = "$deleteFromPrimitiveList/"
_ORDER_PREFIX = "$setElementOrder/"
_KEY = "x-kubernetes-patch-merge-key"
_STRATEGY = "x-kubernetes-patch-strategy"
Values = dict[str, Any]


class StrategicError(KqError):
    """A patch that contradicts itself or the type it is for."""


def strategic_merge(
    schema: Schema, document: Mapping[str, Any], patch: Mapping[str, Any]
) -> Values:
    """The document with the patch merged into it, by the type of the document."""
    return _merge_map(schema, copied(dict(document)), copied(dict(patch)))


def _merge_map(schema: Schema, document: Values, patch: Values) -> Values:
    directive = patch.pop(_DIRECTIVE, None)
    match directive:
        case None:
            pass
        case "replace":
            return patch
        case "delete":
            return {}
        case _:
            shown = _go_map(patch | {_DIRECTIVE: directive})
            raise StrategicError(f"unknown patch type: {directive} in map: {shown}")
    _retain(document, patch)
    orders = {key: patch.pop(key) for key in list(patch) if key.startswith(_ORDER_PREFIX)}
    before = dict(document)
    for key, value in patch.items():
        if key.startswith(_DELETE_PREFIX):
            _drop_items(document, key.removeprefix(_DELETE_PREFIX), value)
        else:
            _merge_field(schema, document, key, value)
    for key, order in orders.items():
        name = key.removeprefix(_ORDER_PREFIX)
        _order_items(schema, document, name, order, before.get(name) or [])
    return document


def _drop_items(document: Values, name: str, gone: Sequence[Any]) -> None:
    if isinstance(document.get(name), list):
        document[name] = [each for each in document[name] if each not in gone]


def _order_items(
    schema: Schema, document: Values, name: str, order: Sequence[Any], before: Sequence[Any]
) -> None:
    if isinstance(document.get(name), list):
        merge_key = (property_of(schema, name) or {}).get(_KEY, "")
        document[name] = _ordered(document[name], order, merge_key, before)


def _retain(document: Values, patch: Values) -> None:
    kept = patch.pop(_RETAIN, None)
    if kept is None:
        return
    said = [key for key, value in patch.items() if value is not None and not key.startswith("$")]
    if not isinstance(kept, list) or any(key not in kept for key in said):
        raise StrategicError("invalid patch format of retainKeys")
    for key in [key for key in document if key not in kept]:
        del document[key]


def _merge_field(schema: Schema, document: Values, name: str, value: Any) -> None:
    present = document.get(name)
    known = property_of(schema, name) or {}
    strategy = str(known.get(_STRATEGY, "")).split(",")
    match present, value:
        case _, None:
            document.pop(name, None)
        case dict(), dict() if "replace" not in strategy:
            document[name] = _merge_map(known, present, value)
        case list(), list() if "merge" in strategy:
            document[name] = _merge_list(known, present, value)
        case _:
            kept, has_value = _plain(value)
            if has_value:
                document[name] = kept
            else:
                document.pop(name, None)


def _merge_list(schema: Schema, present: list[Any], patch: list[Any]) -> list[Any]:
    key = schema.get(_KEY, "")
    if not key:
        both = [*present, *(each for each in patch if each not in present)]
        return _ordered(both, patch, "", present)
    for item in [*present, *patch]:
        _check_key(item, key)
    kept = list(present)
    for item in patch:
        if item.get(_DIRECTIVE) == "delete":
            kept = [each for each in kept if each[key] != item[key]]
    plain = [item for item in patch if _DIRECTIVE not in item]
    if any(item.get(_DIRECTIVE) == "replace" for item in patch):
        return plain
    for item in plain:
        index = next((at for at, each in enumerate(kept) if each[key] == item[key]), None)
        if index is None:
            kept.append(_plain(item)[0])
        else:
            kept[index] = _merge_map(schema.get("items", {}), kept[index], item)
    return _ordered(kept, plain, key, present)


def _check_key(item: Any, key: str) -> None:
    if not isinstance(item, dict):
        raise StrategicError("list element types are not identical")
    if item.get(_DIRECTIVE) == "replace":
        return
    if key not in item:
        raise StrategicError(f"map: {_go_map(item)} does not contain declared merge key: {key}")


def _ordered(
    items: Sequence[Any], order: Sequence[Any], key: str, before: Sequence[Any]
) -> list[Any]:
    """Items that the order names, in its order; of the others, those that stood before these."""
    wanted = [_key_of(each, key) for each in order]
    was = [_key_of(each, key) for each in before]
    named = [each for each in items if _key_of(each, key) in wanted]
    named.sort(key=lambda each: wanted.index(_key_of(each, key)))
    others = [each for each in items if _key_of(each, key) not in wanted]
    merged: list[Any] = []
    while named and others:
        first, second = _key_of(others[0], key), _key_of(named[0], key)
        known = first in was and second in was
        is_before = known and was.index(first) < was.index(second)
        merged.append((others if is_before else named).pop(0))
    return [*merged, *others, *named]


def _key_of(item: Any, key: str) -> Any:
    return item.get(key) if key and isinstance(item, dict) else item


def _plain(value: Any) -> tuple[Any, bool]:
    """A value of a patch without nulls and directives, and whether anything is left of it."""
    match value:
        case dict():
            if _DIRECTIVE in value:
                return None, False
            inner = {key: _plain(each) for key, each in value.items() if each is not None}
            named = {key: kept for key, (kept, has_value) in inner.items() if has_value}
            return {key: kept for key, kept in named.items() if not key.startswith("$")}, True
        case list():
            items = [_plain(each) for each in value]
            return [kept for kept, has_value in items if has_value], True
        case _:
            return value, True


def _go_map(value: Any) -> str:
    """A JSON value as Go prints it."""
    match value:
        case dict():
            return f"map[{' '.join(f'{key}:{_go_map(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(_go_map(each) for each in value)}]"
        case None:
            return "<nil>"
        case bool():
            return str(value).lower()
        case _:
            return str(value)


go_map = _go_map
