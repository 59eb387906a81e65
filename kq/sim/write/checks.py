"""What the server refuses in metadata."""

from collections.abc import Mapping, Sequence
from typing import Any

from kq.core.kinds import Object
from kq.sim.api.kinds import Kind
from kq.sim.api.names import labels_faults, name_faults, path_segment_faults, qualified_faults
from kq.sim.api.status import Cause, forbidden_field, invalid_value, required
from kq.sim.write.meta import FOREGROUND, ORPHAN

_ANNOTATIONS_BYTES = 262_144
_IMMUTABLE = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_CHECKED = ("labels", "annotations", "ownerReferences", "finalizers")
_STANDARD_FINALIZERS = frozenset({"kubernetes", ORPHAN, FOREGROUND})


def create_faults(kind: Kind, obj: Object) -> list[Cause]:
    """What is wrong with the metadata of a new object."""
    meta = obj["metadata"]
    faults: list[Cause] = []
    if base := meta.get("generateName"):
        faults += [
            invalid_value("metadata.generateName", base, fault)
            for fault in name_faults(base, kind.naming, prefix=True)
        ]
    if not meta.get("name"):
        faults.append(required("metadata.name", "name or generateName is required"))
    faults += [
        invalid_value("metadata.name", meta["name"], fault)
        for fault in (name_faults(meta["name"], kind.naming) if meta.get("name") else ())
    ]
    finalizers = meta.get("finalizers") or ()
    faults += [*_map_faults(meta), *_finalizer_faults(finalizers)]
    return faults if kind.custom else [*faults, *_unqualified(finalizers)]


def update_faults(obj: Object, old: Object) -> list[Cause]:
    """What is wrong with the metadata of a changed object."""
    meta, was = obj["metadata"], old["metadata"]
    faults = [
        invalid_value("metadata.name", meta["name"], fault)
        for fault in path_segment_faults(meta["name"])
    ]
    # What stayed was checked when it came.
    is_new = any(meta.get(field) != was.get(field) for field in _CHECKED)
    maps = _map_faults(meta) if is_new else []
    finalizers = _finalizer_faults(meta.get("finalizers") or ()) if is_new else []
    changes = [*_changes(meta, was), *maps]
    # The server checks changes twice, once for all kinds and once for this one, and tells twice.
    return [*faults, *maps, *finalizers, *changes, *changes]


def _map_faults(meta: Mapping[str, Any]) -> list[Cause]:
    faults = [
        invalid_value("metadata.labels", value, fault)
        for value, fault in labels_faults(meta.get("labels") or {})
    ]
    return [
        *faults,
        *_annotation_faults(meta.get("annotations") or {}),
        *_owner_faults(meta.get("ownerReferences") or ()),
    ]


def _annotation_faults(annotations: Mapping[str, str]) -> list[Cause]:
    faults = [
        invalid_value("metadata.annotations", key, fault)
        for key in annotations
        for fault in qualified_faults(key.lower())
    ]
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > _ANNOTATIONS_BYTES:
        text = f"Too long: may not be more than {_ANNOTATIONS_BYTES} bytes"
        faults.append(Cause("metadata.annotations", "FieldValueTooLong", text))
    return faults


def _owner_faults(owners: Sequence[Mapping[str, Any]]) -> list[Cause]:
    faults: list[Cause] = []
    place = "metadata.ownerReferences"
    first = ""
    for owner in owners:
        for field, text in (
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ):
            if not owner.get(field):
                faults.append(invalid_value(f"{place}.{field}", "", text))
        if owner.get("controller"):
            called = f"{owner.get('kind')}/{owner.get('name')}"
            if first:
                text = (
                    "Only one reference can have Controller set to true. Found"
                    f' "true" in references for {first} and {called}'
                )
                faults.append(invalid_value(place, [_in_order(each) for each in owners], text))
            first = first or called
    return faults


def _in_order(owner: Mapping[str, Any]) -> dict[str, Any]:
    """An owner reference with its fields as the server writes them."""
    fields = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
    return {field: owner[field] for field in fields if field in owner}


def _finalizer_faults(finalizers: Sequence[str]) -> list[Cause]:
    place = "metadata.finalizers"
    faults = [
        invalid_value(place, each, fault) for each in finalizers for fault in qualified_faults(each)
    ]
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        text = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        faults.append(invalid_value(place, list(finalizers), text))
    return faults


def _unqualified(finalizers: Sequence[str]) -> list[Cause]:
    text = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid_value(f"metadata.finalizers[{index}]", each, text)
        for index, each in enumerate(finalizers)
        if "/" not in each and each not in _STANDARD_FINALIZERS
    ]


def _changes(meta: Mapping[str, Any], was: Mapping[str, Any]) -> list[Cause]:
    faults: list[Cause] = []
    if "deletionTimestamp" in was:
        had = was.get("finalizers") or ()
        if more := sorted(set(meta.get("finalizers") or ()) - set(had)):
            shown = ", ".join(f'"{each}"' for each in more)
            text = (
                "no new finalizers can be added if the object is being deleted, found new"
                f" finalizers []string{{{shown}}}"
            )
            faults.append(forbidden_field("metadata.finalizers", text))
    faults += [
        invalid_value(f"metadata.{field}", meta.get(field), "field is immutable")
        for field in _IMMUTABLE
        if meta.get(field) != was.get(field)
    ]
    return faults
