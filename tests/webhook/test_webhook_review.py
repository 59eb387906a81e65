import base64
import json
from typing import Any

import pytest
from reviews import UID, a_review

from kq.webhook.review import (
    Malformed,
    Request,
    Unreadable,
    allowed,
    decode,
    denied,
    encode,
    errored,
    patched,
)


def body(review: Any) -> bytes:
    return json.dumps(review).encode()


def said(encoded: bytes) -> dict[str, Any]:
    review = json.loads(encoded)
    assert review["apiVersion"] == "admission.k8s.io/v1"
    assert review["kind"] == "AdmissionReview"
    return dict(review["response"])


def test_a_review_is_read_whole() -> None:
    found = decode(body(a_review(subResource="status", dryRun=True)))
    assert isinstance(found, Request)
    assert (found.uid, found.operation, found.sub_resource) == (UID, "CREATE", "status")
    assert (found.kind.group, found.kind.version, found.kind.kind) == ("batch", "v1", "Job")
    assert found.resource.resource == "jobs"
    assert (found.namespace, found.name, found.dry_run) == ("team-a", "j1", True)
    assert (found.username, list(found.groups)) == ("alice", ["system:authenticated"])
    assert found.object is not None
    assert found.object["metadata"]["name"] == "j1"
    assert found.old_object is None


def test_nulls_read_as_absent() -> None:
    nulls = dict.fromkeys(("subResource", "namespace", "name", "userInfo", "object", "dryRun"))
    found = decode(body(a_review(**nulls)))
    assert isinstance(found, Request)
    assert (found.namespace, found.username, list(found.groups)) == (None, "", [])


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        pytest.param(b"", "the body is not JSON", id="empty"),
        pytest.param(b"{", "the body is not JSON", id="cut off"),
        pytest.param(b'{"a": NaN}', "the body is not JSON", id="NaN"),
        pytest.param(b'{"a": "\xff"}', "the body is not JSON", id="no UTF-8"),
        pytest.param(b"[" * 100_000, "the body is not JSON", id="too deep"),
        pytest.param(b"null", "not an AdmissionReview", id="null"),
        pytest.param(b"[]", "not an AdmissionReview", id="list"),
        pytest.param(b'{"kind": "Job"}', "not an AdmissionReview", id="another kind"),
        pytest.param(
            body(a_review() | {"apiVersion": "admission.k8s.io/v1beta1"}),
            "'admission.k8s.io/v1beta1' is not supported, only admission.k8s.io/v1",
            id="v1beta1",
        ),
        pytest.param(body(a_review() | {"apiVersion": None}), "not supported", id="no version"),
        pytest.param(body(a_review() | {"request": None}), "has no request", id="no request"),
        pytest.param(body(a_review() | {"request": "x"}), "has no request", id="request a text"),
        pytest.param(body(a_review(uid=None)), "has no uid", id="uid null"),
        pytest.param(body(a_review(uid="")), "has no uid", id="uid empty"),
        pytest.param(body(a_review(uid=5)), "has no uid", id="uid a number"),
    ],
)
def test_what_is_no_review_of_v1_is_malformed(sent: bytes, message: str) -> None:
    found = decode(sent)
    assert isinstance(found, Malformed)
    assert message in found.message


@pytest.mark.parametrize(
    "request_",
    [{"object": "text"}, {"userInfo": []}, {"kind": None}, {"operation": 1}, {"namespace": {}}],
    ids=lambda each: next(iter(each)),
)
def test_an_odd_request_keeps_its_uid(request_: dict[str, Any]) -> None:
    found = decode(body(a_review(**request_)))
    assert isinstance(found, Unreadable)
    assert found.uid == UID


def test_allowed_has_neither_patch_nor_status() -> None:
    assert said(encode(allowed(UID))) == {"uid": UID, "allowed": True}
    assert said(encode(patched(UID, []))) == {"uid": UID, "allowed": True}


def test_a_patch_is_base64_and_has_its_type() -> None:
    operations = [{"op": "add", "path": "/spec/suspend", "value": True}]
    answer = said(encode(patched(UID, operations, ["held"])))
    assert answer["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(answer["patch"])) == operations
    assert answer["warnings"] == ["held"]


def test_a_refusal_says_code_and_message() -> None:
    answer = said(encode(denied(UID, "no quota", ["one"])))
    assert answer["allowed"] is False
    assert answer["status"] == {
        "status": "Failure",
        "reason": "Forbidden",
        "code": 403,
        "message": "no quota",
    }
    assert answer["warnings"] == ["one"]
    failure = said(encode(errored(UID, 500, "broken")))
    assert (failure["status"]["code"], failure["status"]["reason"]) == (500, "InternalError")


@pytest.mark.parametrize(
    ("response", "result"),
    [
        (allowed(UID), "allowed"),
        (patched(UID, [{"op": "remove", "path": "/a"}]), "patched"),
        (denied(UID, "no"), "denied"),
        (errored(UID, 500, "no"), "error"),
    ],
)
def test_results_have_names(response: Any, result: str) -> None:
    assert response.result == result


def test_warnings_fit_into_a_header() -> None:
    first, second = said(encode(allowed(UID, ["a\r\nX: b\tc\x00", "ä" * 500])))["warnings"]
    assert first == "a  X: b c "
    assert len(second) == 256
    assert second.endswith("...")
