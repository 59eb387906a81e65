"""What the API server's refusals mean, as types.

ApiError
├── BadRequest          400
├── Unauthorized        401   the token was read again, and refused again
├── Forbidden           403
├── NotFound            404
├── Unserved            404   to a write: not of the object, of its kind
├── Conflict            409   changed since it was read, or another object by UID
├── AlreadyExists       409
├── Gone                410   the version asked for is forgotten: list anew
├── TooLarge            413
├── Invalid             422
├── TooManyRequests     429
├── ServerError         5xx
├── Unreachable         no connection: nothing was sent
└── Indeterminate       sent, no answer: it may have happened
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from kq.errors import KqError

_UID_PRECONDITIONS = ("Precondition failed: UID", "uid mismatch", "the UID in the precondition")
_LONGEST_TEXT = 200
_OF_RIGHTS = "is forbidden: User "
_DENIALS = (" denied request: ", " denied the request")


class ApiError(KqError):
    """The API server refused or did not answer; `code` is 0 when there is no answer."""

    def __init__(
        self,
        message: str,
        *,
        code: int = 0,
        reason: str = "",
        retry_after: float | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.retry_after = retry_after
        self.details: Mapping[str, Any] = details or {}

    @property
    def is_final(self) -> bool:
        """Whether the same request is answered the same until somebody mends what is wrong."""
        match self:
            case BadRequest() | Forbidden() | TooLarge() | Invalid():
                return not self.is_uid_conflict
            case Unauthorized():
                # Policies may deny with this code, too.
                return self.is_denial
            case _:
                return type(self) is ApiError and self.is_denial

    @property
    def is_denial(self) -> bool:
        """Whether a webhook or policy of the cluster has said no to it."""
        return any(text in self.message for text in _DENIALS)

    @property
    def is_of_rights(self) -> bool:
        """Whether who asks has no right to it, as far as the API server knows by now."""
        return isinstance(self, Forbidden) and _OF_RIGHTS in self.message

    @property
    def is_namespace_ending(self) -> bool:
        """Whether it was refused because its namespace is on its way out."""
        return any(cause.get("reason") == "NamespaceTerminating" for cause in self._causes())

    @property
    def is_uid_conflict(self) -> bool:
        """Whether the object of this name is another one than the UID of the request says."""
        match self:
            case Conflict():
                return any(text in self.message for text in _UID_PRECONDITIONS)
            case Invalid():
                # A patch carries the UID as an ordinary, immutable field.
                return any(cause.get("field") == "metadata.uid" for cause in self._causes())
            case _:
                return False

    def _causes(self) -> list[Mapping[str, Any]]:
        causes = self.details.get("causes")
        return [cause for cause in causes or () if isinstance(cause, Mapping)]


class BadRequest(ApiError):
    """The request makes no sense to the API server."""


class Unauthorized(ApiError):
    """The API server does not know who asks."""


class Forbidden(ApiError):
    """The right to do this is missing."""


class NotFound(ApiError):
    """No such object, or no such kind."""


class Unserved(ApiError):
    """The API server does not serve the kind, perhaps not yet: no word about the object."""


class Conflict(ApiError):
    """The object is not the one, or not the version, that the request was decided on."""


class AlreadyExists(ApiError):
    """An object of this name is there already."""


class Gone(ApiError):
    """The resourceVersion or continue token is too old."""


class TooLarge(ApiError):
    """The request is bigger than the API server takes."""


class Invalid(ApiError):
    """The object breaks its schema, a validation rule or a webhook's rule."""


class TooManyRequests(ApiError):
    """The API server is busy; `retry_after` says when to come back."""


class ServerError(ApiError):
    """The API server, or a proxy before it, failed."""


class Unreachable(ApiError):
    """No connection was made, so nothing was sent."""


class Indeterminate(ApiError):
    """The request was sent and no answer came: whether it took effect is unknown."""


_BY_CODE: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    413: TooLarge,
    422: Invalid,
    429: TooManyRequests,
}


class _Status(msgspec.Struct, frozen=True):
    message: str = ""
    reason: str = ""
    code: int = 0
    details: dict[str, Any] | None = None


def from_status(code: int, body: bytes, headers: Mapping[str, str]) -> ApiError:
    """The error that an answer of this code stands for, whatever its body looks like."""
    try:
        status = msgspec.json.decode(body, type=_Status)
    except msgspec.DecodeError:
        status = _Status(message=_as_text(body))
    details = status.details or {}
    error = _class_for(code, status.reason)
    return error(
        status.message or f"the API server answered {code} without a message",
        code=code,
        reason=status.reason,
        retry_after=_retry_after(headers, details),
        details=details,
    )


def from_event(raw: bytes | memoryview) -> ApiError:
    """The error that the Status object of a watch event of type ERROR stands for."""
    try:
        code = msgspec.json.decode(raw, type=_Status).code
    except msgspec.DecodeError:
        code = 0
    return from_status(code, bytes(raw), {})


def _class_for(code: int, reason: str) -> type[ApiError]:
    if code == 409 and reason == "AlreadyExists":
        return AlreadyExists
    if reason == "Expired":
        return Gone
    if code >= 500:
        return ServerError
    return _BY_CODE.get(code, ApiError)


def _retry_after(headers: Mapping[str, str], details: Mapping[str, Any]) -> float | None:
    for value in (headers.get("Retry-After"), details.get("retryAfterSeconds")):
        try:
            seconds = float(value or 0)
        except (TypeError, ValueError):
            continue
        if 0 < seconds < float("inf"):
            return seconds
    return None


def _as_text(body: bytes) -> str:
    text = " ".join(body.decode("utf-8", "replace").split())
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "..."
