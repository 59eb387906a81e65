"""The server says of itself what it serves, so that any client finds its way."""

import json
from typing import Any

import pytest
from sim_things import REGISTRY, THING

from kq.sim.api import discovery
from kq.sim.api.kinds import Registry


def said(path: str, accept: str = "") -> Any:
    answer = discovery.answer(path, accept, Registry([*REGISTRY, THING]))
    assert answer is not None
    return json.loads(answer.body)


def test_kinds_are_listed_by_group_and_version() -> None:
    found = {each["name"]: each for each in said("/apis/try.io/v1")["resources"]}
    assert sorted(found) == ["things", "things/status"]
    assert found["things"]["kind"] == "Thing"
    [group] = [each for each in said("/apis")["groups"] if each["name"] == "try.io"]
    assert group == {key: value for key, value in said("/apis/try.io").items() if key in group}
    namespaces = next(each for each in said("/api/v1")["resources"] if each["kind"] == "Namespace")
    assert "deletecollection" not in namespaces["verbs"]


def test_all_kinds_come_in_one_answer_if_asked_for() -> None:
    groups = said("/apis", discovery.AGGREGATED)["items"]
    [group] = [each for each in groups if each["metadata"]["name"] == "try.io"]
    [thing] = group["versions"][0]["resources"]
    assert (thing["resource"], thing["scope"]) == ("things", "Namespaced")
    assert [each["subresource"] for each in thing["subresources"]] == ["status"]
    [core] = said("/api", discovery.AGGREGATED)["items"]
    assert "pods" in [each["resource"] for each in core["versions"][0]["resources"]]


def test_documents_hold_all_that_they_refer_to() -> None:
    for place in said("/openapi/v3")["paths"]:
        found = said(f"/openapi/v3/{place}")
        schemas = found["components"]["schemas"]
        text = json.dumps(found)
        referred = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
        assert referred <= set(schemas), place


def test_a_document_says_which_patches_a_kind_takes() -> None:
    path = "/apis/try.io/v1/namespaces/{namespace}/things/{name}"
    patch = said("/openapi/v3/apis/try.io/v1")["paths"][path]["patch"]
    assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]
    assert "fieldValidation" in [each["name"] for each in patch["parameters"]]


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/ping"])
def test_health_is_one_word(path: str) -> None:
    answer = discovery.answer(path, "", REGISTRY)
    assert answer is not None
    assert answer.body == b"ok"


def test_what_is_not_served_is_told_apart() -> None:
    missing = discovery.answer("/apis/batch/v7", "", REGISTRY)
    assert missing is not None
    assert missing.code == 404
    assert discovery.answer("/apis/nobody.io", "", REGISTRY) is None
    assert discovery.answer("/foo", "", REGISTRY) is None
    assert said("/version")["gitVersion"].startswith("v1.")
    assert "/apis/batch/v1" in said("/")["paths"]
