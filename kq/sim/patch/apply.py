"""Server-side apply: what a manager says is laid over an object, what it no longer says is cut."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from kq.core.kinds import Object
from kq.sim.api.kinds import Kind
from kq.sim.api.status import ApiStatus
from kq.sim.patch.configuration import fault_of
from kq.sim.patch.fields import Path, compare, fields_of, in_order, parts, shown
from kq.sim.patch.lastapplied import own_by_note
from kq.sim.patch.managed import (
    BEFORE_FIRST_APPLY,
    Manager,
    Managers,
    Owned,
    empty,
    managed_part,
    read,
    schema_of,
    stamp,
    track,
    without,
    without_managers,
    write,
)
from kq.sim.patch.shapes import Shape, field_schema, item_keys, items_schema, shape_of
from kq.sim.schemas.copying import copied
from kq.sim.schemas.definitions import Schema


def apply(
    kind: Kind, live: Object | None, said: Object, *, manager: Manager, force: bool, now: datetime
) -> dict[str, Any]:
    """The object after a manager applied what it says; ApiStatus 409 if others say otherwise."""
    schema = schema_of(kind)
    _check(kind, schema, said)
    current = _tracked(kind, live, manager.subresource, now)
    managers = read(current)
    last = managers[manager].fields if manager in managers else frozenset()
    fields = managed_part(kind, fields_of(schema, said), manager.subresource)
    managers[manager] = Owned(fields=fields, version=kind.api_version, time=stamp(now))
    before = without_managers(current)
    after = _pruned(schema, _laid_over(schema, before, said), last, managers)
    differences = compare(schema, before, after)
    written = managed_part(kind, differences.written, manager.subresource)
    removed = managed_part(kind, differences.removed, manager.subresource)
    others = {each: owned for each, owned in managers.items() if each != manager}
    if not force:
        _refuse_conflicts(others, written - own_by_note(schema, before, manager.name))
    result = copied(after)
    if not written and not removed and last == fields:
        # Nothing is new, the times of managers included; but a version or uid may be asked for.
        return {**result, "metadata": {**current["metadata"], **result["metadata"]}}
    kept = without(others, written | removed)
    own = replace(managers[manager], fields=managers[manager].fields - removed)
    write(result, kept | {manager: own})
    return result


def _tracked(kind: Kind, live: Object | None, subresource: str, now: datetime) -> dict[str, Any]:
    """The live object, with somebody who manages what was there before anybody applied."""
    if live is None:
        return copied(dict(empty(kind)))
    current = copied(dict(live))
    if not read(current):
        first = Manager(
            name=BEFORE_FIRST_APPLY,
            operation="Update",
            version=kind.api_version,
            subresource=subresource,
        )
        track(kind, None, current, manager=first, now=now)
    return current


def _check(kind: Kind, schema: Schema, said: Object) -> None:
    fault = fault_of(schema, said)
    if fault:
        meta = said.get("metadata") or {}
        place = f"{meta.get('namespace', '')}/{meta.get('name', '')}"
        called = f"{place}; {kind.api_version}, Kind={kind.kind}"
        raise ApiStatus(500, "", f"failed to create typed patch object ({called}): {fault}")


def _laid_over(schema: Schema, live: Any, said: Any) -> Any:
    shape = shape_of(schema, said)
    if shape is Shape.LEAF or shape_of(schema, live) is not shape:
        return copied(said)
    match shape:
        case Shape.MAP:
            merged = dict(live)
            for name, each in said.items():
                inner = field_schema(schema, name)
                merged[name] = _laid_over(inner, live[name], each) if name in live else each
            return merged
        case Shape.SET:
            return [*live, *(each for each in said if each not in live)]
        case _:
            return _merged_items(schema, live, said)


def _merged_items(schema: Schema, live: list[Any], said: list[Any]) -> list[Any]:
    inner = items_schema(schema)
    merged = list(live)
    places = [item_keys(schema, each) for each in live]
    for each in said:
        keys = item_keys(schema, each)
        if keys in places:
            at = places.index(keys)
            merged[at] = _laid_over(inner, live[at], each)
        else:
            merged.append(each)
    return merged


def _pruned(
    schema: Schema, value: Any, last: frozenset[Path], managers: Managers
) -> dict[str, Any]:
    """The value without what the manager said last time, and nobody says now."""
    kept: set[Path] = set()
    for owned in managers.values():
        kept |= owned.fields
    held = {path[:length] for path in kept for length in range(1, len(path) + 1)}
    gone = {path for path in last if path not in held}
    pruned: dict[str, Any] = _cut(schema, value, (), gone) if gone else dict(value)
    return pruned


def _cut(schema: Schema, value: Any, path: Path, gone: set[Path]) -> Any:
    shape = shape_of(schema, value)
    if shape is Shape.LEAF or not any(each[: len(path)] == path for each in gone):
        return value
    kept = [
        (element, each, _cut(inner, each, (*path, element), gone))
        for element, inner, each in parts(schema, value)
        if (*path, element) not in gone
    ]
    # What loses its last part is gone itself.
    full = [(element, left) for element, each, left in kept if left == each or left not in ({}, [])]
    if shape is not Shape.MAP:
        return [left for _, left in full]
    return {element[2:]: left for element, left in full}


def _refuse_conflicts(others: Managers, written: frozenset[Path]) -> None:
    conflicts = {
        manager: in_order(owned.fields & written)
        for manager, owned in sorted(others.items(), key=lambda each: each[0].name)
        if owned.fields & written
    }
    count = sum(len(paths) for paths in conflicts.values())
    if not count:
        return
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {_called(manager)}",
            "field": shown(path),
        }
        for manager, paths in conflicts.items()
        for path in paths
    ]
    raise ApiStatus(409, "Conflict", _conflict_text(conflicts, count), {"causes": causes})


def _conflict_text(conflicts: Mapping[Manager, list[Path]], count: int) -> str:
    if count == 1:
        [(manager, [path])] = conflicts.items()
        return f"Apply failed with 1 conflict: conflict with {_called(manager)}: {shown(path)}"
    lines = []
    for manager, paths in conflicts.items():
        lines += [f"conflicts with {_called(manager)}:", *(f"- {shown(path)}" for path in paths)]
    return f"Apply failed with {count} conflicts: " + "\n".join(lines)


def _called(manager: Manager) -> str:
    text = f'"{manager.name}"'
    if manager.subresource:
        text += f' with subresource "{manager.subresource}"'
    return f"{text} using {manager.version}" if manager.operation == "Update" else text
