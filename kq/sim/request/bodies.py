"""Objects as clients send them: read, and refused where they are not what the path says."""

from dataclasses import dataclass
from typing import Any

import msgspec

from kq.errors import DecodeError
from kq.sim.api.call import Call
from kq.sim.api.kinds import Kind
from kq.sim.api.schema import ObjectRules
from kq.sim.api.status import (
    ApiStatus,
    bad_request,
    invalid_as,
    invalid_value,
    unsupported_media_type,
)
from kq.sim.schemas.decode import Decoded, texts

_TYPES = {"application/json", ""}
_SHOWN = 30
"""Characters of a body that a refusal repeats."""
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
_PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/apply-patch+yaml",
)
_DOUBLE_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in"
    " 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate"
    " UID(s) observed: "
)
_ACCEPTED = "the body of the request was in an unknown format - accepted media types include: "


def read_body(call: Call) -> dict[str, Any]:
    """The JSON object in the body, of the kind and version that the path says."""
    kind = call.kind
    if call.content_type.partition(";")[0].strip() not in _TYPES:
        raise unsupported_media_type(_formats(kind))
    body = call.body or b""
    try:
        obj = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as err:
        why = "unexpected end of JSON input" if not body else str(err)
        raise _unreadable(kind, f"json parse error: {why}", body) from err
    if not isinstance(obj, dict):
        raise _unreadable(kind, "json parse error: json: cannot unmarshal the body", body)
    _check_kind(kind, obj, body)
    obj |= {"apiVersion": kind.api_version, "kind": kind.kind}
    return obj


@dataclass(frozen=True, slots=True)
class Sent:
    """An object as a client wants it, completed; and what is to be said to the client."""

    obj: dict[str, Any]
    warnings: list[str]


def completed(call: Call, rules: ObjectRules, obj: dict[str, Any]) -> Sent:
    """The object with defaults and without what its kind does not know.

    ApiStatus 400 if it cannot be read as its kind, or has what is unknown and may not.
    """
    try:
        decoded = rules.decode(obj)
    except DecodeError as err:
        raise bad_request(f"{_handled(call.kind)}: {err}") from err
    rules.fill(decoded.object)
    return sent(call, decoded)


def sent(call: Call, decoded: Decoded) -> Sent:
    """An object that is completed, and what is to be said of its unknown fields, if they may be."""
    obj = decoded.object
    if not isinstance(obj.get("metadata"), dict):
        obj["metadata"] = {}
    warnings = texts(decoded.unknown)
    match call.query.get("fieldValidation", "Warn"):
        case "Strict" if warnings:
            why = f"strict decoding error: {', '.join(warnings)}"
            raise bad_request(f"{_handled(call.kind)}: {why}")
        case "Ignore":
            warnings = []
    return Sent(obj, warnings + _without_double_owners(obj["metadata"]))


def _handled(kind: Kind) -> str:
    return f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}'


def _without_double_owners(meta: dict[str, Any]) -> list[str]:
    """Takes owners away that are named twice; gives the warning of that."""
    owners = meta.get("ownerReferences") or []
    by_uid = {owner.get("uid"): owner for owner in reversed(owners)}
    if len(by_uid) == len(owners):
        return []
    seen = [owner.get("uid") for owner in owners]
    double = [uid for uid in dict.fromkeys(seen) if seen.count(uid) > 1]
    meta["ownerReferences"] = [by_uid[uid] for uid in dict.fromkeys(seen)]
    return [f"{_DOUBLE_OWNERS}{', '.join(map(str, double))}"]


def check_patch_type(call: Call) -> None:
    """Refuses a kind of patch that the kind does not take."""
    given = call.content_type.partition(";")[0].strip()
    if given in _PATCHES or (given == STRATEGIC_PATCH and not call.kind.custom):
        return
    if not call.kind.custom:
        raise ApiStatus(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    raise unsupported_media_type(_ACCEPTED + ", ".join(_PATCHES))


def check_namespace(call: Call, obj: dict[str, Any]) -> None:
    """Refuses an object that says another namespace than the path."""
    if obj["metadata"].get("namespace", call.namespace) not in ("", call.namespace):
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_kind(call: Call, obj: dict[str, Any]) -> None:
    """Refuses what a patch made another kind of object."""
    kind = call.kind
    if kind.custom:
        _check_custom(kind, obj, b"")
    elif (obj.get("apiVersion"), obj.get("kind")) != (kind.api_version, kind.kind):
        shown = msgspec.json.encode(obj).decode()
        text = f'no kind "{obj.get("kind")}" is registered for {kind.api_version}'
        raise invalid_as("", "", "", [invalid_value("patch", shown, text)])


def check_name(call: Call, obj: dict[str, Any]) -> None:
    """Refuses an object that says another name than the path, or none."""
    name = obj["metadata"].get("name", "")
    if not name:
        raise bad_request(
            f"the name of the object ({call.name} based on URL) was undeterminable: name must be"
            " provided"
        )
    if name != call.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({call.name})"
        )


def _check_kind(kind: Kind, obj: dict[str, Any], body: bytes) -> None:
    version, called = obj.get("apiVersion"), obj.get("kind")
    if kind.custom:
        _check_custom(kind, obj, body)
        return
    if (called or kind.kind) == kind.kind and (version or kind.api_version) == kind.api_version:
        return
    if called and called != kind.kind:
        sent = str(version or kind.api_version).rpartition("/")[2]
        group = kind.group.partition(".")[0] or "core"
        raise bad_request(
            f'{called} in version "{sent}" cannot be handled as a {kind.kind}: converting'
            f" ({sent}.{called}) to ({group}.{kind.kind}): unknown conversion"
        )
    raise bad_request(
        f'{kind.kind} in version "{str(version).rpartition("/")[2]}" cannot be handled as a'
        f' {kind.kind}: no kind "{kind.kind}" is registered for version "{version}" in scheme'
        ' "pkg/runtime/scheme.go:111"'
    )


def _check_custom(kind: Kind, obj: dict[str, Any], body: bytes) -> None:
    version, called = obj.get("apiVersion"), obj.get("kind")
    if not called:
        raise _unreadable(kind, f"Object 'Kind' is missing in '{body.decode()}'", body, about="")
    if version != kind.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version"
            f" ({kind.api_version})"
        )
    if called != kind.kind:
        name = str((obj.get("metadata") or {}).get("name", ""))
        cause = invalid_value("kind", called, f"must be {kind.kind}")
        raise invalid_as(called, kind.group, name, [cause])


def _unreadable(
    kind: Kind, why: str, body: bytes, *, about: str = "couldn't get version/kind; "
) -> ApiStatus:
    shown = body.decode("utf-8", "replace")
    shown = f"{shown[:_SHOWN]} ..." if len(shown) > _SHOWN else shown or "<empty>"
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind.kind}): {about}{why} ({shown})"
    )


def _formats(kind: Kind) -> str:
    accepted = ["application/json", "application/yaml"]
    if not kind.custom:
        accepted.append("application/vnd.kubernetes.protobuf")
    return _ACCEPTED + ", ".join(accepted)
