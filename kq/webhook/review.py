"""AdmissionReview of admission.k8s.io/v1: requests as values, answers as bytes. Pure."""

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from kq.core.kinds import Object
from kq.core.patch import Operation

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"
MAX_WARNING = 256
"""Characters of a warning; the API server cuts longer ones once all of them pass 4096."""


class GroupVersionKind(msgspec.Struct, frozen=True, gc=False):
    """The kind of the reviewed object, after conversion by matchPolicy Equivalent."""

    group: str = ""
    version: str = ""
    kind: str = ""


class GroupVersionResource(msgspec.Struct, frozen=True, gc=False):
    """The resource that the request addresses."""

    group: str = ""
    version: str = ""
    resource: str = ""


class User(msgspec.Struct, frozen=True):
    """Who asks."""

    username: str | None = None
    groups: list[str] | None = None

    @property
    def name(self) -> str:
        """The user name, empty if the API server sent none."""
        return self.username or ""


class Request(msgspec.Struct, frozen=True, rename="camel"):
    """One question of the API server; `object` is raw, so that unknown fields stay."""

    uid: str
    operation: str = ""
    kind: GroupVersionKind = GroupVersionKind()
    resource: GroupVersionResource = GroupVersionResource()
    sub_resource: str | None = None
    namespace: str | None = None
    name: str | None = None
    user: User | None = msgspec.field(name="userInfo", default=None)
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None
    dry_run: bool | None = None

    @property
    def username(self) -> str:
        """The name of the user who asks, or empty."""
        return self.user.name if self.user else ""

    @property
    def groups(self) -> Sequence[str]:
        """The groups of the user who asks."""
        return (self.user.groups or ()) if self.user else ()


@dataclass(frozen=True, slots=True)
class Malformed:
    """A body that is no review of this version: answered by 400 in HTTP status."""

    message: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A review with a uid whose request cannot be read: answered as a failure of ours."""

    uid: str
    message: str


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """One answer. `code` and `message` are read only if it is not allowed."""

    uid: str
    allowed: bool
    code: int = 0
    message: str = ""
    operations: Sequence[Operation] = ()
    warnings: Sequence[str] = ()

    @property
    def result(self) -> str:
        """`patched`, `allowed`, `denied` or `error`: the label of metrics."""
        if self.allowed:
            return "patched" if self.operations else "allowed"
        return "error" if self.code >= 500 else "denied"


class _Review(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    request: Request


_DECODER = msgspec.json.Decoder(_Review)
_ENCODER = msgspec.json.Encoder()


def decode(body: bytes | bytearray) -> Request | Malformed | Unreadable:
    """What the API server asks; never raises."""
    try:
        review = _DECODER.decode(body)
    except (msgspec.DecodeError, RecursionError) as err:
        return _explain(body, err)
    if review.api_version == API_VERSION and review.kind == KIND and review.request.uid:
        return review.request
    return _explain(body, ValueError("apiVersion, kind or uid is wrong"))


def allowed(uid: str, warnings: Iterable[str] = ()) -> Response:
    """Let the object through as it is."""
    return Response(uid=uid, allowed=True, warnings=tuple(warnings))


def patched(uid: str, operations: Sequence[Operation], warnings: Iterable[str] = ()) -> Response:
    """Let the object through, changed; without operations the same as `allowed`."""
    return Response(uid=uid, allowed=True, operations=operations, warnings=tuple(warnings))


def denied(uid: str, message: str, warnings: Iterable[str] = ()) -> Response:
    """Refuse the object because of what it says."""
    return Response(uid=uid, allowed=False, code=403, message=message, warnings=tuple(warnings))


def errored(uid: str, code: int, message: str) -> Response:
    """Refuse the object because of a failure of ours."""
    return Response(uid=uid, allowed=False, code=code, message=message)


def encode(response: Response) -> bytes:
    """The review that answers: the uid always, patch and patchType both or neither."""
    answer: dict[str, Any] = {"uid": response.uid, "allowed": response.allowed}
    if not response.allowed:
        reason = "InternalError" if response.code >= 500 else "Forbidden"
        answer["status"] = {
            "status": "Failure",
            "reason": reason,
            "code": response.code,
            "message": response.message,
        }
    elif response.operations:
        patch = _ENCODER.encode(response.operations)
        answer["patchType"] = "JSONPatch"
        answer["patch"] = base64.b64encode(patch).decode("ascii")
    if response.warnings:
        answer["warnings"] = [_one_line(each) for each in response.warnings]
    return _ENCODER.encode({"apiVersion": API_VERSION, "kind": KIND, "response": answer})


def _explain(body: bytes | bytearray, err: Exception) -> Malformed | Unreadable:
    """Why a body could not be read; with its uid, if it is a review that has one."""
    try:
        review = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as undecodable:
        return Malformed(f"the body is not JSON: {undecodable}")
    fault = _fault(review)
    return fault or Unreadable(review["request"]["uid"], f"the review cannot be read: {err}")


def _fault(review: Object | Any) -> Malformed | None:
    """What keeps a JSON value from being a review of this version, None if nothing."""
    if not isinstance(review, dict) or review.get("kind") != KIND:
        return Malformed("the body is not an AdmissionReview")
    version = review.get("apiVersion")
    if version != API_VERSION:
        return Malformed(f"AdmissionReview {version!r:.60} is not supported, only {API_VERSION}")
    request = review.get("request")
    if not isinstance(request, dict):
        return Malformed("the AdmissionReview has no request")
    if not isinstance(request.get("uid"), str) or not request["uid"]:
        return Malformed("the request of the AdmissionReview has no uid")
    return None


def _one_line(warning: str) -> str:
    """A warning fit for a header: no control characters, at most MAX_WARNING characters."""
    line = warning
    if not warning.isprintable():
        line = "".join(each if each.isprintable() else " " for each in warning)
    return line if len(line) <= MAX_WARNING else f"{line[: MAX_WARNING - 3]}..."
