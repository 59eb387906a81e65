"""The annotation in which kubectl notes what it applied, kept right when kubectl applies here."""

from typing import Any

import msgspec

from kq.core.kinds import Object
from kq.sim.patch.fields import Path, compare, fields_of
from kq.sim.schemas.definitions import Schema

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL = "kubectl"
_ESCAPED = str.maketrans({each: f"\\u{ord(each):04x}" for each in "&<>\u2028\u2029"})
"""What Go's encoder does not write into JSON as it is."""


def own_by_note(schema: Schema, live: Object, manager: str) -> frozenset[Path]:
    """The fields that kubectl may take from others: it applied them as they are now."""
    annotations = (live.get("metadata") or {}).get("annotations") or {}
    if manager != KUBECTL or not annotations.get(ANNOTATION):
        return frozenset()
    try:
        applied = msgspec.json.decode(annotations[ANNOTATION])
    except (msgspec.DecodeError, RecursionError):
        return frozenset()
    if not isinstance(applied, dict):
        return frozenset()
    differences = compare(schema, applied, live)
    return frozenset(fields_of(schema, applied) - differences.written - differences.removed)


def note_applied(obj: dict[str, Any], said: Object, manager: str) -> None:
    """Notes what kubectl said in an object that has such a note already."""
    annotations = obj["metadata"].get("annotations") or {}
    if manager == KUBECTL and annotations.get(ANNOTATION):
        noted = {**annotations, ANNOTATION: _written(said)}
        obj["metadata"] = {**obj["metadata"], "annotations": noted}


def _written(said: Object) -> str:
    meta = dict(said.get("metadata") or {})
    if meta.get("annotations"):
        kept = {name: each for name, each in meta["annotations"].items() if name != ANNOTATION}
        meta["annotations"] = kept
    text = msgspec.json.encode({**said, "metadata": meta}, order="sorted").decode()
    return f"{text.translate(_ESCAPED)}\n"
