"""What the server does to metadata, and what it refuses there."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from kq.core.kinds import Object
from kq.sim.api.kinds import Generation, Kind
from kq.sim.request.options import DeleteOptions

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""What generated names end with: no vowels, and nothing that looks like another."""

_LONGEST_BASE = 58
_encode: Callable[[Object], bytes] = msgspec.json.Encoder(order="sorted").encode
_OF_THE_SERVER = (
    "selfLink",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)


def stamp(now: datetime) -> str:
    """A time as metadata has it."""
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def time_of(text: str) -> datetime:
    """The time that a stamp says."""
    return datetime.fromisoformat(text)


def strip(obj: dict[str, Any], namespace: str) -> None:
    """Takes from a new object what is not its writer's to say, and gives it its namespace."""
    meta = obj["metadata"]
    for field in _OF_THE_SERVER:
        meta.pop(field, None)
    if namespace:
        meta["namespace"] = namespace


def begin(obj: dict[str, Any], *, uid: str, now: datetime) -> None:
    """Gives a new object what only the server gives."""
    obj["metadata"] |= {"uid": uid, "creationTimestamp": stamp(now)}


def generated_name(base: str, letters: Sequence[str]) -> str:
    """A name from a prefix and five letters."""
    return base[:_LONGEST_BASE] + "".join(letters)


def carry(kind: Kind, obj: dict[str, Any], old: Object) -> None:
    """Keeps in an object's next version what a writer cannot change."""
    meta, was = obj["metadata"], old["metadata"]
    for field in ("generation", "creationTimestamp", "selfLink"):
        _copy(meta, was, field)
    if not meta.get("uid"):
        meta["uid"] = was["uid"]
    if was.get("deletionTimestamp"):
        _copy(meta, was, "deletionTimestamp")
        if meta.get("deletionGracePeriodSeconds") is None:
            _copy(meta, was, "deletionGracePeriodSeconds")
    if not meta.get("managedFields"):
        _copy(meta, was, "managedFields")
    if kind.namespaced:
        meta["namespace"] = was["namespace"]


def count_generation(kind: Kind, obj: dict[str, Any], old: Object | None) -> None:
    """Starts the generation, or raises it if what it counts changed."""
    if kind.generation is Generation.NONE:
        return
    if old is None:
        obj["metadata"]["generation"] = 1
        return
    if not same(kind, _content(kind, obj), _content(kind, old)):
        obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def same(kind: Kind, obj: Object, old: Object) -> bool:
    """Whether two versions are equal as JSON."""
    # Python takes True for 1; the types of built-in kinds do not let that happen.
    return obj == old and (not kind.custom or _encode(obj) == _encode(old))


def mark_deleted(obj: dict[str, Any], now: datetime, grace: int) -> None:
    """Notes that the object is to go, after so many seconds."""
    meta = obj["metadata"]
    if "deletionTimestamp" not in meta and meta.get("generation"):
        meta["generation"] += 1
    due = now + timedelta(seconds=grace)
    if "deletionTimestamp" not in meta or time_of(meta["deletionTimestamp"]) > due:
        meta["deletionTimestamp"] = stamp(due)
    meta["deletionGracePeriodSeconds"] = grace


def is_to_go(obj: Object, old: Object) -> bool:
    """Whether an update takes away the last that kept a deleted object."""
    meta, was = obj["metadata"], old["metadata"]
    return (
        not meta.get("finalizers")
        and "deletionTimestamp" in was
        and not was.get("deletionGracePeriodSeconds")
    )


def deletion_finalizers(obj: Object, options: DeleteOptions, *, orphans: bool) -> list[str]:
    """The finalizers that an object has once its deletion is asked for.

    `orphans` is whether its kind lets go of dependents if nothing is said.
    """
    finalizers: list[str] = list(obj["metadata"].get("finalizers") or ())
    kept = [each for each in finalizers if each not in (ORPHAN, FOREGROUND)]
    policy = options.policy
    if options.orphan is not None:
        policy = "Orphan" if options.orphan else "Background"
    match policy:
        case "Orphan":
            return [*kept, ORPHAN]
        case "Foreground":
            return [*kept, FOREGROUND]
        case "Background":
            return kept
    if ORPHAN in finalizers or FOREGROUND in finalizers:
        return finalizers
    return [*kept, ORPHAN] if orphans else kept


def _content(kind: Kind, obj: Object) -> dict[str, Any]:
    hidden = ("apiVersion", "kind", "metadata", *(("status",) if kind.status else ()))
    return {key: value for key, value in obj.items() if key not in hidden}


def _copy(meta: dict[str, Any], was: Mapping[str, Any], field: str) -> None:
    if field in was:
        meta[field] = was[field]
    else:
        meta.pop(field, None)
