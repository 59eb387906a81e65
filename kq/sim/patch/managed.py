"""Who manages which field of an object: `metadata.managedFields`, read, changed and written."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kq.core.kinds import Object
from kq.sim.api.kinds import Kind
from kq.sim.patch.fields import Path, compare, decode, encode
from kq.sim.patch.shapes import ANYTHING
from kq.sim.schemas.definitions import Schema, definition_of, object_meta
from kq.sim.schemas.zeros import zero

BEFORE_FIRST_APPLY = "before-first-apply"
_OF_THE_SERVER = frozenset(
    {
        ("f:apiVersion",),
        ("f:kind",),
        ("f:metadata",),
        *(
            ("f:metadata", f"f:{name}")
            for name in (
                "name",
                "namespace",
                "creationTimestamp",
                "selfLink",
                "uid",
                "clusterName",
                "generation",
                "managedFields",
                "resourceVersion",
            )
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """Who wrote fields, and how; appliers are the same one in every version."""

    name: str
    operation: str
    version: str
    subresource: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """The fields of one manager."""

    fields: frozenset[Path]
    version: str
    time: str | None = None


Managers = dict[Manager, Owned]


def read(obj: Object) -> Managers:
    """The managers of an object."""
    found: Managers = {}
    for entry in (obj.get("metadata") or {}).get("managedFields") or ():
        version = entry.get("apiVersion", "")
        manager = Manager(
            name=entry.get("manager", ""),
            operation=entry.get("operation", ""),
            version="" if entry.get("operation") == "Apply" else version,
            subresource=entry.get("subresource", ""),
        )
        fields = frozenset(decode(entry.get("fieldsV1") or {}))
        found[manager] = Owned(fields=fields, version=version, time=entry.get("time"))
    return found


def write(obj: dict[str, Any], managers: Managers) -> None:
    """Puts the managers that have fields into an object."""
    entries = [_entry(manager, owned) for manager, owned in managers.items() if owned.fields]
    entries.sort(key=_rank)
    meta = obj.setdefault("metadata", {})
    meta.pop("managedFields", None)
    if entries:
        meta["managedFields"] = entries


def _rank(entry: Mapping[str, Any]) -> tuple[str, ...]:
    names = ("operation", "time", "manager", "apiVersion", "subresource")
    return tuple(entry.get(name) or "" for name in names)


def _entry(manager: Manager, owned: Owned) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": owned.version,
        "time": owned.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": encode(owned.fields),
    }
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return {key: value for key, value in entry.items() if value is not None}


def track(
    kind: Kind, old: Object | None, new: dict[str, Any], *, manager: Manager, now: datetime
) -> None:
    """Writes into a new version who manages its fields, after an ordinary write by a manager."""
    managers = _managers_to_go_by(old, new, manager)
    if managers is None:
        new["metadata"].pop("managedFields", None)
        return
    schema = schema_of(kind)
    differences = compare(schema, without_managers(old or empty(kind)), without_managers(new))
    taken = managed_part(kind, differences.written, manager.subresource)
    removed = managed_part(kind, differences.removed, manager.subresource)
    managers = without(managers, taken | removed)
    if taken:
        own = managers.get(manager, Owned(fields=frozenset(), version=kind.api_version))
        managers[manager] = replace(own, fields=own.fields | taken, time=stamp(now))
    write(new, managers)


def _managers_to_go_by(old: Object | None, new: Object, manager: Manager) -> Managers | None:
    """The managers so far; None if nobody tracks this object."""
    said = (new.get("metadata") or {}).get("managedFields")
    if said in ([], [{}]) and not manager.subresource:
        return None
    managers = ({} if manager.subresource else read(new)) or read(old or {})
    return None if old is not None and not managers else managers


def without(managers: Managers, paths: Iterable[Path]) -> Managers:
    """The managers when nobody owns these fields any more."""
    gone = frozenset(paths)
    return {
        manager: replace(owned, fields=owned.fields - gone) for manager, owned in managers.items()
    }


def managed_part(kind: Kind, paths: set[Path], subresource: str) -> frozenset[Path]:
    """The fields that a write there can own: not the server's, not those of another endpoint."""
    other = "f:spec" if subresource == "status" else "f:status" if kind.status else ""
    return frozenset(
        path for path in paths if path and path not in _OF_THE_SERVER and path[0] != other
    )


def schema_of(kind: Kind) -> Schema:
    """The type of a kind's objects, metadata included."""
    found = definition_of(kind.api_version, kind.kind)
    if found is not None and not kind.custom:
        return found
    schema = kind.openapi or ANYTHING
    return {**schema, "properties": schema.get("properties", {}) | {"metadata": object_meta()}}


def empty(kind: Kind) -> Object:
    """What the server compares a new object with: what its type holds before anything is said."""
    found = None if kind.custom else definition_of(kind.api_version, kind.kind)
    return {} if found is None else zero(found)


def without_managers(obj: Object) -> Object:
    """The object without its managedFields."""
    meta = dict(obj.get("metadata") or {})
    meta.pop("managedFields", None)
    return {**obj, "metadata": meta}


def stamp(now: datetime) -> str:
    """A time as managedFields have it."""
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")
