"""What the API server's answers mean."""

import json
from typing import Any

import pytest

from kq.errors import KqError
from kq.kube.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    ServerError,
    TooLarge,
    TooManyRequests,
    Unauthorized,
    from_event,
    from_status,
)


def status(**fields: Any) -> bytes:
    return json.dumps({"kind": "Status", **fields}).encode()


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", BadRequest),
        (400, "Expired", Gone),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (409, "Conflict", Conflict),
        (409, "", Conflict),
        (409, "AlreadyExists", AlreadyExists),
        (410, "Gone", Gone),
        (413, "RequestEntityTooLarge", TooLarge),
        (418, "", ApiError),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (500, "InternalError", ServerError),
        (503, "ServiceUnavailable", ServerError),
        (504, "Timeout", ServerError),
    ],
)
def test_a_code_and_reason_have_their_type(
    code: int, reason: str, expected: type[ApiError]
) -> None:
    error = from_status(code, status(reason=reason, message="why"), {})
    assert type(error) is expected
    assert isinstance(error, KqError)
    assert (error.code, error.reason, error.message, str(error)) == (code, reason, "why", "why")


@pytest.mark.parametrize(
    ("headers", "details", "expected"),
    [
        ({"Retry-After": "3"}, None, 3),
        ({}, {"retryAfterSeconds": 4}, 4),
        ({"Retry-After": "3"}, {"retryAfterSeconds": 4}, 3),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, {"retryAfterSeconds": 4}, 4),
        ({"Retry-After": "-1"}, None, None),
        ({"Retry-After": "inf"}, None, None),
        ({}, {"retryAfterSeconds": {}}, None),
        ({}, None, None),
    ],
)
def test_retry_after_is_read_from_header_or_details(
    headers: dict[str, str], details: Any, expected: float | None
) -> None:
    assert from_status(429, status(details=details), headers).retry_after == expected


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'{"message": 3}', b"\xff\xfe"], ids=range(5)
)
def test_any_body_makes_an_error_with_a_message(body: bytes) -> None:
    error = from_status(500, body, {})
    assert type(error) is ServerError
    assert error.message


def test_a_long_body_is_cut() -> None:
    assert len(from_status(500, b"x" * 10_000, {}).message) < 300


@pytest.mark.parametrize(
    ("code", "body", "expected"),
    [
        (409, {"message": "Precondition failed: UID in precondition: x, UID in object"}, True),
        (409, {"message": "uid mismatch: the provided object specified uid x"}, True),
        (409, {"message": "c: the UID in the precondition (x) does not match the UID"}, True),
        (409, {"message": 'cannot be fulfilled on jobs "liquid-UID": modified'}, False),
        (422, {"details": {"causes": [{"field": "metadata.uid"}]}}, True),
        (422, {"details": {"causes": [{"field": "spec.template"}]}}, False),
        (422, {"details": {"causes": None}}, False),
        (404, {"message": "uid mismatch"}, False),
    ],
)
def test_a_uid_conflict_is_told_from_other_refusals(
    code: int, body: dict[str, Any], expected: bool
) -> None:
    assert from_status(code, status(**body), {}).is_uid_conflict is expected


def test_the_status_of_a_watch_event_is_read_like_an_answer() -> None:
    error = from_event(status(code=410, reason="Expired", message="too old"))
    assert type(error) is Gone
    assert type(from_event(b"[]")) is ApiError


BY_HOOK = 'admission webhook "gate.example.com" denied the request: not here'
BY_POLICY = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: not here"
BY_RIGHTS = (
    'jobs.batch "a" is forbidden: User "kq" cannot patch resource "jobs" in API group "batch"'
)


@pytest.mark.parametrize(
    ("code", "message", "expected"),
    [
        (400, "why", True),
        (401, "Unauthorized", False),
        (401, BY_POLICY, True),
        (403, BY_HOOK, True),
        (403, BY_RIGHTS, True),
        (404, "why", False),
        (409, BY_HOOK, False),
        (410, "why", False),
        (413, "why", True),
        (418, "why", False),
        (418, BY_HOOK, True),
        (422, "why", True),
        (422, BY_POLICY, True),
        (429, BY_HOOK, False),
        (500, BY_HOOK, False),
        (503, "why", False),
    ],
)
def test_an_answer_is_final_where_asking_again_alone_helps_nobody(
    code: int, message: str, expected: bool
) -> None:
    assert from_status(code, status(message=message), {}).is_final is expected


def test_that_the_object_is_another_one_by_now_is_not_final() -> None:
    causes = [{"reason": "FieldValueInvalid", "field": "metadata.uid"}]
    assert not from_status(422, status(message="why", details={"causes": causes}), {}).is_final


def test_a_right_that_lacks_is_told_from_a_denial() -> None:
    assert from_status(403, status(message=BY_RIGHTS), {}).is_of_rights
    assert not from_status(403, status(message=BY_HOOK), {}).is_of_rights
