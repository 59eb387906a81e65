"""The object that a patch makes of another one, whichever kind of patch it is."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from kq.core.kinds import Object
from kq.errors import DecodeError
from kq.sim.api.kinds import Kind
from kq.sim.api.schema import rules_for
from kq.sim.api.status import (
    ApiStatus,
    bad_request,
    conflict,
    invalid_as,
    invalid_value,
    unsupported_media_type,
)
from kq.sim.patch import managed, strategic
from kq.sim.patch.apply import apply
from kq.sim.patch.documents import NO_MAP, read_json, read_map, read_yaml
from kq.sim.patch.managed import Manager
from kq.sim.patch.merge import merge
from kq.sim.patch.operations import DoesNotApply, apply_operations
from kq.sim.schemas import decode
from kq.sim.schemas.definitions import definition_of
from kq.sim.schemas.golang import go_name

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
MOST_OPERATIONS = 10_000
_PREFIX = "error decoding patch: "
_REJECTED = "the server rejected our request due to an error in our request"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Patch:
    """A patch and what it is for."""

    body: bytes
    current: Object
    kind: Kind
    strict: bool


def patch(
    content_type: str,
    current: Object,
    body: bytes,
    *,
    kind: Kind,
    manager: str,
    force: bool,
    now: datetime,
    subresource: str = "",
    strict: bool = False,
) -> dict[str, Any]:
    """The object after the patch, not yet completed or checked; ApiStatus if it is refused.

    An empty `current` is an object that does not exist: only apply makes one. `strict` refuses
    fields that nobody knows.
    """
    asked = _Patch(body=body, current=current, kind=kind, strict=strict)
    match content_type.partition(";")[0].strip():
        case "application/apply-patch+yaml":
            own = Manager(name=manager, operation="Apply", version="", subresource=subresource)
            return _applied(asked, own, force=force, now=now)
        case "application/json-patch+json":
            patched = _checked(asked, _operated(asked))
        case "application/merge-patch+json":
            patched = _checked(asked, _merged(asked))
        case "application/strategic-merge-patch+json" if not kind.custom:
            patched = _strategic(asked)
        case _:
            raise _unsupported(kind)
    if isinstance(patched.get("metadata"), dict):
        track(kind, current, patched, manager=manager, now=now, subresource=subresource)
    return patched


def track(
    kind: Kind,
    old: Object | None,
    new: dict[str, Any],
    *,
    manager: str,
    now: datetime,
    subresource: str = "",
) -> None:
    """Notes in `new` which fields the manager took by this write, without any conflict.

    Without an old version it starts to keep such notes; where there are none it leaves it so.
    """
    writer = Manager(
        name=manager, operation="Update", version=kind.api_version, subresource=subresource
    )
    managed.track(kind, old, new, manager=writer, now=now)


def _operated(asked: _Patch) -> Any:
    operations = read_json(asked.body, _PREFIX)
    if not isinstance(operations, list):
        called = go_name(operations)
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {called} into Go value of type"
            " []handlers.jsonPatchOp"
        )
    if len(operations) > MOST_OPERATIONS:
        raise ApiStatus(
            413,
            "RequestEntityTooLarge",
            "Request entity too large: The allowed maximum operations in a JSON patch is"
            f" {MOST_OPERATIONS}, got {len(operations)}",
        )
    if not all(isinstance(each, dict) for each in operations):
        raise bad_request(
            "error decoding patch: json: cannot unmarshal into Go value of type"
            " handlers.jsonPatchOp"
        )
    try:
        return apply_operations(asked.current, operations)
    except DoesNotApply as err:
        raise ApiStatus(422, "Invalid", _REJECTED, {}) from err


def _merged(asked: _Patch) -> Any:
    content = read_map(asked.body, _PREFIX)
    if content is None:
        raise bad_request("Invalid JSON Patch")
    return merge(asked.current, content)


def _strategic(asked: _Patch) -> dict[str, Any]:
    content = read_map(asked.body) or {}
    schema = definition_of(asked.kind.api_version, asked.kind.kind) or {}
    shown = strategic.go_map(content)
    try:
        patched = strategic.strategic_merge(schema, asked.current, content)
    except strategic.StrategicError as err:
        raise ApiStatus(500, "", str(err)) from err
    return _decodable(asked, patched, shown)


def _applied(asked: _Patch, own: Manager, *, force: bool, now: datetime) -> dict[str, Any]:
    kind = asked.kind
    said = read_yaml(asked.body)
    version, called = said.get("apiVersion") or "", said.get("kind") or ""
    if (version, called) != (kind.api_version, kind.kind):
        shown = version if version and (called or "/" in version) else version or "/"
        raise bad_request(f"invalid object type: {shown}, Kind={called}")
    meta = said.get("metadata") or {}
    if meta.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    if not asked.current and meta.get("uid"):
        why = (
            f"uid mismatch: the provided object specified uid {meta['uid']}, and no existing"
            " object was found"
        )
        raise conflict(kind, meta.get("name", ""), why)
    return apply(kind, asked.current or None, said, manager=own, force=force, now=now)


def _checked(asked: _Patch, patched: Any) -> dict[str, Any]:
    shown = msgspec.json.encode(patched).decode()
    if not isinstance(patched, dict):
        raise bad_request(f"couldn't get version/kind; {NO_MAP.format('array')}")
    return _decodable(asked, patched, shown)


def _decodable(asked: _Patch, patched: dict[str, Any], shown: str) -> dict[str, Any]:
    """The object, if it can be read as one of its kind at all."""
    try:
        unknown = rules_for(asked.kind).decode(patched).unknown
    except DecodeError as err:
        raise _undecodable(shown, str(err)) from err
    if asked.strict and unknown:
        texts = ", ".join(decode.texts(unknown))
        raise _undecodable(shown, f"strict decoding error: {texts}")
    return patched


def _undecodable(shown: str, why: str) -> ApiStatus:
    return invalid_as("", "", "", [invalid_value("patch", shown, why)])


def _unsupported(kind: Kind) -> ApiStatus:
    if not kind.custom:
        return ApiStatus(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    return unsupported_media_type(
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join((JSON_PATCH, MERGE_PATCH, APPLY_PATCH))
    )
