"""The object that a patch makes of another one, whichever kind of patch it is."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from kq.core.kinds import Object
from kq.errors import DecodeError
from kq.sim.api.kinds import Kind
from kq.sim.api.schema import ObjectRules
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
from kq.sim.patch.lastapplied import note_applied
from kq.sim.patch.managed import Manager
from kq.sim.patch.merge import merge
from kq.sim.patch.operations import DoesNotApply, apply_operations
from kq.sim.schemas import decode
from kq.sim.schemas.decode import Decoded
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
    rules: ObjectRules
    strict: bool


def patch(
    content_type: str,
    current: Object,
    body: bytes,
    *,
    kind: Kind,
    rules: ObjectRules,
    manager: str,
    force: bool,
    now: datetime,
    subresource: str = "",
    strict: bool = False,
) -> Decoded:
    """The object after the patch, completed but not yet checked; ApiStatus if it is refused.

    An empty `current` is an object that does not exist: only apply makes one. `strict` refuses
    fields that nobody knows.
    """
    asked = _Patch(body=body, current=current, kind=kind, rules=rules, strict=strict)
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
    rules.fill(patched.object)
    if isinstance(patched.object.get("metadata"), dict):
        track(kind, current, patched.object, manager=manager, now=now, subresource=subresource)
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


def _strategic(asked: _Patch) -> Decoded:
    content = read_map(asked.body) or {}
    schema = definition_of(asked.kind.api_version, asked.kind.kind) or {}
    shown = strategic.go_map(content)
    try:
        patched = strategic.strategic_merge(schema, asked.current, content)
    except strategic.StrategicError as err:
        raise ApiStatus(500, "", str(err)) from err
    return _decoded(asked, patched, shown)


def _applied(asked: _Patch, own: Manager, *, force: bool, now: datetime) -> Decoded:
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
    made = apply(kind, asked.current or None, said, manager=own, force=force, now=now)
    note_applied(made, said, own.name)
    try:
        applied = asked.rules.decode(made)
    except DecodeError as err:
        gvk = f"{kind.api_version}, Kind={kind.kind}"
        place = f"{meta.get('namespace', '')}/{meta.get('name', '')}"
        why = f"unable to convert unstructured object to {gvk}: {err}"
        text = f"failed to convert new object ({place}; {gvk}) to proper version: {why}"
        raise ApiStatus(500, "", text) from err
    asked.rules.fill(applied.object)
    return applied


def _checked(asked: _Patch, patched: Any) -> Decoded:
    if not isinstance(patched, dict):
        raise bad_request(f"couldn't get version/kind; {NO_MAP.format('array')}")
    return _decoded(asked, patched, patched)


def _decoded(asked: _Patch, patched: dict[str, Any], shown: Any) -> Decoded:
    """The object, if it can be read as one of its kind at all; `shown` is what is else told."""
    try:
        decoded = asked.rules.decode(patched)
    except DecodeError as err:
        raise _undecodable(shown, str(err)) from err
    if asked.strict and decoded.unknown:
        texts = ", ".join(decode.texts(decoded.unknown))
        raise _undecodable(shown, f"strict decoding error: {texts}")
    return decoded


def _undecodable(shown: Any, why: str) -> ApiStatus:
    text = shown if isinstance(shown, str) else msgspec.json.encode(shown).decode()
    return invalid_as("", "", "", [invalid_value("patch", text, why)])


def _unsupported(kind: Kind) -> ApiStatus:
    if not kind.custom:
        return ApiStatus(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    return unsupported_media_type(
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join((JSON_PATCH, MERGE_PATCH, APPLY_PATCH))
    )
