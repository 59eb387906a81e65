"""The server's refusals, as the Status objects and in the words of a real one."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kq.errors import KqError
from kq.sim.api.kinds import Kind

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is wrong with a field: `reason` is the type, `message` has no field in it."""

    field: str
    reason: str
    message: str

    @property
    def text(self) -> str:
        """The cause as it stands in the message of the whole."""
        return f"{self.field}: {self.message}" if self.field else self.message


class ApiStatus(KqError):
    """A refusal; `to_body` is the Status object that the client gets."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers: Mapping[str, str] = headers or {}
        self.metadata: Mapping[str, Any] = {}
        """What stands in the metadata of the Status: the token of a list that expired."""
        self.warnings: tuple[str, ...] = ()

    def to_body(self) -> dict[str, Any]:
        """The Status object."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": dict(self.metadata),
            "status": "Failure",
        }
        if self.message:
            body["message"] = self.message
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = dict(self.details)
        return body | {"code": self.code}


@contextmanager
def telling(warnings: Sequence[str]) -> Iterator[None]:
    """Has a refusal that leaves this say these warnings too, as they stand then."""
    try:
        yield
    except ApiStatus as refusal:
        refusal.warnings = (*warnings, *refusal.warnings)
        raise


def invalid_value(field: str, value: object, detail: str) -> Cause:
    """A value that its field does not take."""
    return Cause(field, "FieldValueInvalid", f"Invalid value: {_shown(value)}: {detail}")


def required(field: str, detail: str = "") -> Cause:
    """A field that must be there."""
    return Cause(
        field, "FieldValueRequired", f"Required value: {detail}" if detail else "Required value"
    )


def unsupported_value(field: str, value: object, supported: Sequence[str]) -> Cause:
    """A value that is none of those that its field knows."""
    known = ", ".join(f'"{each}"' for each in supported)
    text = f"Unsupported value: {_shown(value)}: supported values: {known}"
    return Cause(field, "FieldValueNotSupported", text)


def forbidden_field(field: str, detail: str) -> Cause:
    """A field that may not be set, or not be changed."""
    return Cause(field, "FieldValueForbidden", f"Forbidden: {detail}")


def not_found(kind: Kind, name: str) -> ApiStatus:
    """There is no such object."""
    return ApiStatus(404, "NotFound", f'{kind.key} "{name}" not found', _about(kind, name))


def already_exists(
    kind: Kind, name: str, *, generated: bool = False, is_ending: bool = False
) -> ApiStatus:
    """The name is taken: perhaps one that the server made, perhaps by what is about to go."""
    message = f'{kind.key} "{name}" already exists'
    about = _about(kind, name)
    if generated:
        message += ", the server was not able to generate a unique name for the object"
        about["retryAfterSeconds"] = 1
    if is_ending:
        message = f"object is being deleted: {message}"
    headers = {"Retry-After": "1"} if generated else {}
    return ApiStatus(409, "AlreadyExists", message, about, headers=headers)


def conflict(kind: Kind, name: str, why: str = MODIFIED, *, called: str = "") -> ApiStatus:
    """The object is not as the request says; `called` is what it names instead of the plural."""
    about = _about(kind, name) | ({"kind": called} if called else {})
    resource = f"{called or kind.plural}.{kind.group}" if kind.group else called or kind.plural
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return ApiStatus(409, "Conflict", message, about)


def conflict_on(resource: str, name: str, why: str) -> ApiStatus:
    """What is there stands against the act on a subresource."""
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return ApiStatus(409, "Conflict", message, {"name": name, "kind": resource})


def invalid(kind: Kind, name: str, causes: Sequence[Cause]) -> ApiStatus:
    """The object breaks rules."""
    return invalid_as(kind.kind, kind.group, name, causes)


def invalid_as(called: str, group: str, name: str, causes: Sequence[Cause]) -> ApiStatus:
    """What is called so breaks rules; options are kinds too, with a group of their own."""
    texts = list(dict.fromkeys(cause.text for cause in causes))
    whole = f"[{', '.join(texts)}]" if len(texts) > 1 else "".join(texts)
    details: dict[str, Any] = {"name": name, "group": group, "kind": called}
    details = {key: value for key, value in details.items() if value}
    if causes:
        details["causes"] = [
            {"reason": each.reason, "message": each.message, "field": each.field} for each in causes
        ]
    resource = f"{called}.{group}" if group else called
    message = f'{resource} "{name}" is invalid: {whole}'
    return ApiStatus(422, "Invalid", message, details)


def bad_request(message: str) -> ApiStatus:
    """The request makes no sense."""
    return ApiStatus(400, "BadRequest", message)


def forbidden(
    kind: Kind, name: str, why: str, causes: Sequence[Mapping[str, str]] = ()
) -> ApiStatus:
    """Admission, not the user's rights, says no."""
    subject = f'{kind.key} "{name}"' if name else kind.key
    details = _about(kind, name) | ({"causes": list(causes)} if causes else {})
    return ApiStatus(403, "Forbidden", f"{subject} is forbidden: {why}", details)


def gone(message: str) -> ApiStatus:
    """What was asked for is forgotten."""
    return ApiStatus(410, "Expired", message)


def too_large_version(asked: int, current: int) -> ApiStatus:
    """The server is not yet as far as the version that was asked for."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    return ApiStatus(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1})


def timed_out() -> ApiStatus:
    """The request took longer than the server gives it."""
    why = "request did not complete within requested timeout - context deadline exceeded"
    return ApiStatus(504, "Timeout", f"Timeout: {why}", {})


def too_many(message: str, seconds: int) -> ApiStatus:
    """Come back later."""
    return ApiStatus(
        429,
        "TooManyRequests",
        message,
        {"retryAfterSeconds": seconds},
        headers={"Retry-After": str(seconds)},
    )


def unsupported_media_type(message: str) -> ApiStatus:
    """The body is of a type that is not taken there."""
    return ApiStatus(415, "UnsupportedMediaType", message)


def internal(message: str) -> ApiStatus:
    """Something failed behind the server's back: a webhook, mostly."""
    details = {"causes": [{"message": message}]}
    return ApiStatus(500, "InternalError", f"Internal error occurred: {message}", details)


def no_such_path() -> ApiStatus:
    """Nothing is served there."""
    message = "the server could not find the requested resource"
    return ApiStatus(404, "NotFound", message, {})


def method_not_allowed() -> ApiStatus:
    """The path takes no such method."""
    message = "the server does not allow this method on the requested resource"
    return ApiStatus(405, "MethodNotAllowed", message, {})


def _about(kind: Kind, name: str) -> dict[str, Any]:
    about = {"name": name, "group": kind.group, "kind": kind.plural}
    return {key: value for key, value in about.items() if value}


def _shown(value: object) -> str:
    """A value as Go prints it in such messages."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case _:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
