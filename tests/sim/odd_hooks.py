"""A webhook that answers each path in another odd way; the same for both servers."""

import base64
import json
from typing import Any


def patch(*operations: dict[str, Any]) -> dict[str, Any]:
    content = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patch": content, "patchType": "JSONPatch"}


LABELLED = patch({"op": "add", "path": "/data", "value": {"a": "patched"}})

RESPONSES: dict[str, dict[str, Any]] = {
    "/allow": {"allowed": True},
    "/deny": {"allowed": False, "status": {"message": "not today"}},
    "/deny-code": {
        "allowed": False,
        "status": {"code": 418, "reason": "Teapot", "message": "short and stout"},
    },
    "/deny-reason": {"allowed": False, "status": {"code": 200, "reason": "Forbidden"}},
    "/deny-bare": {"allowed": False},
    "/deny-details": {
        "allowed": False,
        "status": {
            "code": 422,
            "message": "wrong",
            "details": {"causes": [{"field": "data", "message": "is wrong", "reason": "X"}]},
        },
    },
    "/warn": {"allowed": True, "warnings": ["take care"]},
    "/warn-and-deny": {
        "allowed": False,
        "warnings": ["beware"],
        "status": {"message": "told you"},
    },
    "/patch": LABELLED,
    "/patch-twice": patch({"op": "add", "path": "/data/b", "value": "more"}),
    "/patch-nowhere": patch({"op": "add", "path": "/metadata/annotations/x", "value": "y"}),
    "/patch-gone": patch({"op": "remove", "path": "/data/none"}),
    "/patch-unknown": patch({"op": "add", "path": "/unknown", "value": 1}),
    "/patch-mistyped": patch({"op": "add", "path": "/data", "value": {"a": 1}}),
    "/patch-name": patch({"op": "replace", "path": "/metadata/name", "value": "Another"}),
    "/patch-empty": patch(),
    "/patch-untyped": {**LABELLED, "patchType": None},
    "/type-unpatched": {"allowed": True, "patchType": "JSONPatch"},
    "/patch-denied": {**LABELLED, "allowed": False},
}

PLAIN = {
    "/fails": (500, b"no luck"),
    "/missing": (404, b"404 page not found"),
    "/garbage": (200, b"garbage"),
}


def answer(path: str, body: bytes) -> tuple[int, bytes]:
    """What the webhook answers to a review at a path: an HTTP status and a body."""
    request = json.loads(body)["request"]
    if path in PLAIN:
        return PLAIN[path]
    if path == "/absent":
        return 200, json.dumps({**head(), "request": request}).encode()
    uid = "other" if path == "/other-uid" else request["uid"]
    kind = "Review" if path == "/other-kind" else ""
    return reply(response(path, request), uid=uid, kind=kind)


def response(path: str, request: dict[str, Any]) -> dict[str, Any]:
    match path:
        case "/echo":
            return {"allowed": False, "status": {"message": repeated(request)}}
        case "/count":
            return counted(request["object"])
        case _:
            return RESPONSES.get(path, {"allowed": True})


def repeated(request: dict[str, Any]) -> str:
    """The request without what differs from run to run."""
    shown = {key: value for key, value in request.items() if key != "uid"}
    shown["userInfo"] = {**request["userInfo"], "extra": None}
    for obj in (shown["object"], shown["oldObject"]):
        (obj or {}).get("metadata", {}).pop("resourceVersion", None)
    return json.dumps(shown, sort_keys=True)


def counted(obj: dict[str, Any]) -> dict[str, Any]:
    """Counts in the object's data how often its webhook was asked."""
    times = int((obj.get("data") or {}).get("times", "0")) + 1
    data = {**(obj.get("data") or {}), "times": str(times)}
    return patch({"op": "add", "path": "/data", "value": data})


def head() -> dict[str, Any]:
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}


def reply(response: dict[str, Any], *, uid: str, kind: str = "") -> tuple[int, bytes]:
    body = head() | {"response": {"uid": uid, **response}}
    if kind:
        body["kind"] = kind
    return 200, json.dumps(body).encode()
