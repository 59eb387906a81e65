"""Admission reviews: the question to a webhook, and what its answer says."""

import base64
import binascii
from dataclasses import dataclass
from typing import Any

import msgspec

from kq.core.kinds import Object
from kq.errors import DecodeError
from kq.sim.admit.hooks import Hook
from kq.sim.api.admission import Review
from kq.sim.api.kinds import Kind
from kq.sim.api.status import ApiStatus

_V1 = "admission.k8s.io/v1"
_KIND = "AdmissionReview"
_FULL_KIND = "admission.k8s.io/v1, Kind=AdmissionReview"
_BELOW_FAILURE = 400


class InvalidAnswer(DecodeError):
    """What a webhook answered is no answer to the review."""


class NoReview(DecodeError):
    """What a webhook answered is no review at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a webhook says."""

    allowed: bool
    result: Object | None = None
    patch: bytes = b""
    """A JSON patch; empty for none."""
    warnings: tuple[str, ...] = ()


class _Response(msgspec.Struct, frozen=True, rename="camel"):
    uid: str = ""
    allowed: bool = False
    status: dict[str, Any] | None = None
    patch: str = ""
    patch_type: str | None = None
    warnings: tuple[str, ...] = ()


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    response: _Response | None = None


def question(review: Review, kind: Kind, uid: str) -> bytes:
    """The body of the review of a write, in the version that the webhook asked for."""
    call = review.call
    request: dict[str, Any] = {
        "uid": uid,
        "kind": _kind_of(kind),
        "resource": _resource_of(kind),
        "requestKind": _kind_of(call.kind),
        "requestResource": _resource_of(call.kind),
        "operation": review.operation,
        "userInfo": {"username": call.user.name, "groups": list(call.user.groups)},
        "object": _versioned(review.obj, kind),
        "oldObject": _versioned(review.old, kind),
        "dryRun": review.dry_run,
        "options": review.options,
    }
    if call.subresource:
        request |= {"subResource": call.subresource, "requestSubResource": call.subresource}
    if review.name:
        request["name"] = review.name
    if namespace := call.namespace or (review.name if call.kind.kind_key == "Namespace" else ""):
        request["namespace"] = namespace
    if call.user.uid:
        request["userInfo"]["uid"] = call.user.uid
    return msgspec.json.encode({"kind": _KIND, "apiVersion": _V1, "request": request})


def verdict(body: bytes, uid: str, *, mutating: bool) -> Verdict:
    """What an answer says; InvalidAnswer, in the server's words, if it answers something else."""
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except msgspec.DecodeError as err:
        raise NoReview(f"couldn't get version/kind; json parse error: {err}") from err
    if answer.kind != _KIND:
        raise NoReview(
            f'no kind "{answer.kind}" is registered for version "{answer.api_version}" in scheme'
            ' "pkg/runtime/scheme.go:111"'
        )
    response = answer.response
    if response is None:
        raise InvalidAnswer("webhook response was absent")
    if response.uid != uid:
        raise InvalidAnswer(f'expected response.uid="{uid}", got "{response.uid}"')
    if answer.api_version != _V1:
        got = f"{answer.api_version or '/'}, Kind={answer.kind}"
        raise InvalidAnswer(f"expected webhook response of {_FULL_KIND}, got {got}")
    _check_patch(response, mutating=mutating)
    return Verdict(
        allowed=response.allowed,
        result=response.status,
        patch=_patch(response.patch),
        warnings=response.warnings,
    )


def denied(hook: Hook, result: Object | None) -> ApiStatus:
    """The refusal that a webhook's denial is to the client."""
    result = result or {}
    text = f'admission webhook "{hook.name}" denied the request'
    why = result.get("message") or result.get("reason")
    refusal = ApiStatus(
        max(int(result.get("code") or 0), _BELOW_FAILURE),
        result.get("reason") or "",
        f"{text}: {why}" if why else f"{text} without explanation",
        result.get("details"),
    )
    return refusal


def _check_patch(response: _Response, *, mutating: bool) -> None:
    match bool(response.patch), response.patch_type:
        case True, _ if not mutating:
            raise InvalidAnswer("validating webhook may not return response.patch")
        case False, str() if not mutating:
            raise InvalidAnswer("validating webhook may not return response.patchType")
        case True, None:
            raise InvalidAnswer("webhook returned response.patch but not response.patchType")
        case False, str():
            raise InvalidAnswer("webhook returned response.patchType but not response.patch")
        case True, "":
            raise InvalidAnswer('webhook returned invalid response.patchType of ""')


def _patch(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as err:
        raise InvalidAnswer(f"illegal base64 data: {err}") from err


def _versioned(obj: Object | None, kind: Kind) -> Object | None:
    return None if obj is None else {**obj, "apiVersion": kind.api_version}


def _kind_of(kind: Kind) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource_of(kind: Kind) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "resource": kind.plural}
