"""Answers of check controllers: entries of a list map in a status, applied by several managers."""

from collections.abc import Mapping
from typing import Any

from odd_requests import APPLY, GROUP, WIDGETS, Ask, Group, crd

TEXT = {"type": "string"}
CHECK = {
    "type": "object",
    "required": ["name", "state", "lastTransitionTime", "message"],
    "properties": {
        "name": {**TEXT, "maxLength": 316},
        "state": {**TEXT, "enum": ["Pending", "Ready", "Retry", "Rejected"]},
        "message": {**TEXT, "maxLength": 32768},
        "lastTransitionTime": {**TEXT, "format": "date-time"},
        "requeueAfterSeconds": {"type": "integer", "format": "int32"},
        "podSetUpdates": {
            "type": "array",
            "x-kubernetes-list-type": "atomic",
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": TEXT,
                    "labels": {"type": "object", "additionalProperties": TEXT},
                },
            },
        },
    },
}
CONDITION = {
    "type": "object",
    "required": ["type", "status"],
    "properties": {"type": TEXT, "status": TEXT, "message": {**TEXT, "default": ""}},
}


def list_map(key: str, items: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": [key],
        "items": items,
    }


def checked_crd() -> dict[str, Any]:
    """A kind with the status that check controllers write to."""
    made = crd("checkeds", "Checked", status=True)
    [version] = made["spec"]["versions"]
    version["schema"]["openAPIV3Schema"]["properties"]["status"] = {
        "type": "object",
        "properties": {
            "admissionChecks": list_map("name", CHECK),
            "conditions": list_map("type", CONDITION),
        },
    }
    return made


CHECKED_CRD = checked_crd()
HEAD = {"apiVersion": f"{GROUP}/v1", "kind": "Checked", "metadata": {"name": "u"}}
THEN = "2026-01-01T00:00:00Z"


def check(name: str, state: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "state": state, "message": "", "lastTransitionTime": THEN, **more}


def applying(ns: str) -> Group:
    base = f"{WIDGETS}/namespaces/{ns}/checkeds"
    place = f"{base}/u/status"

    def apply(what: str, manager: str, *checks: Any, force: bool = False, **status: Any) -> Ask:
        body = {**HEAD, "status": {"admissionChecks": list(checks), **status}}
        query = {"fieldManager": manager, **({"force": "true"} if force else {})}
        return Ask(
            what=what,
            method="PATCH",
            path=place,
            type=APPLY,
            body=body,
            query=query,
            managers=True,
        )

    def merge(what: str, manager: str, **status: Any) -> Ask:
        query = {"fieldManager": manager}
        body = {"status": status}
        return Ask(what=what, method="PATCH", path=place, body=body, query=query, managers=True)

    yield Ask(what="nothing to check yet", method="POST", path=base, body=HEAD, managers=True)
    preset = [check("a", "Pending"), check("b", "Pending")]
    met = {"type": "QuotaReserved", "status": "True"}
    yield merge("preset", "koord-queue", admissionChecks=preset, conditions=[met])
    yield apply("taken over without force", "one", check("a", "Ready"))
    yield apply("taken over", "one", check("a", "Ready", message="fine"), force=True)
    yield apply("the same again", "one", check("a", "Ready", message="fine"))
    updates = [{"name": "main", "labels": {"x": "y"}}]
    retry = check("b", "Retry", requeueAfterSeconds=5, podSetUpdates=updates)
    yield apply("another's entry", "two", retry, force=True)
    yield apply("a field less", "two", check("b", "Ready"), force=True)
    yield apply("whose it is not", "two", check("a", "Rejected"), check("b", "Ready"))
    yield apply("one more entry", "two", check("b", "Ready"), check("c", "Ready"))
    yield apply("an entry less", "two", check("b", "Ready"))
    yield apply("a wrong state", "one", check("a", "Perhaps"), force=True)
    yield apply("half an entry", "three", {"name": "d", "state": "Ready"})
    yield apply("an entry without its key", "three", {"state": "Ready"})
    yield apply("twice", "three", check("d", "Ready"), check("d", "Ready"))
    yield apply("a number", "three", check("d", "Ready", message=1))
    yield apply("a field that nobody knows", "three", check("d", "Ready", foo=1))
    condition = {"type": "Seen", "status": "True"}
    yield apply("a condition", "three", conditions=[condition])
    reset = [check("a", "Pending"), check("b", "Ready"), check("e", "Pending")]
    yield merge("a new attempt", "koord-queue", admissionChecks=reset)
    yield apply("answered again", "one", check("a", "Ready"), force=True)
    yield apply("gone", "one")
    yield apply("the other gone", "two")
    main = {**HEAD, "status": {"admissionChecks": [check("z", "Ready")]}}
    yield Ask(
        what="by the main path",
        method="PATCH",
        path=f"{base}/u",
        type=APPLY,
        body=main,
        query={"fieldManager": "one"},
        managers=True,
    )
    versioned = {**HEAD, "metadata": {"name": "u", "resourceVersion": "1"}}
    yield Ask(
        what="a stale version",
        method="PATCH",
        path=place,
        type=APPLY,
        body={**versioned, "status": {"admissionChecks": [check("a", "Ready")]}},
        query={"fieldManager": "one", "force": "true"},
    )
    yield Ask(
        what="none of that name",
        method="PATCH",
        path=f"{base}/none/status",
        type=APPLY,
        body={**HEAD, "metadata": {"name": "none"}, "status": {}},
        query={"fieldManager": "one"},
    )
    yield Ask(what="what came of it", method="GET", path=f"{base}/u", managers=True)


def applying_what_was_applied_by_a_client(ns: str) -> Group:
    """What kubectl noted when it applied by itself, once it lets the server apply."""
    path = f"/api/v1/namespaces/{ns}/configmaps"
    noted = "kubectl.kubernetes.io/last-applied-configuration"
    head = {"apiVersion": "v1", "kind": "ConfigMap"}
    for number, note in enumerate(
        (
            "{}",
            '{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"<b>"}}',
            '{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"other"},"metadata":{"name":"c"}}',
            "{",
            "[]",
        )
    ):
        name = f"noted-{number}"
        meta = {"name": name, "annotations": {noted: note, "a": "b"}}
        body = {"metadata": meta, "data": {"a": "<b>", "f": "g"}}
        yield Ask(what=note, method="POST", path=path, body=body)
        for manager in ("other", "kubectl"):
            for force, data in (("false", "<b>"), ("false", "c"), ("true", "é & \u2028")):
                named = {"name": name, "annotations": {noted: "{}", "c": "d"}}
                yield Ask(
                    what=f"applied by {manager}",
                    method="PATCH",
                    path=f"{path}/{name}",
                    type=APPLY,
                    body={**head, "metadata": named if force == "true" else {"name": name},
                          "data": {"a": data}},
                    query={"fieldManager": manager, "force": force},
                    managers=True,
                )  # fmt: skip
