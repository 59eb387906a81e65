"""A patch is read by its type, applied, and refused in the real server's words."""

from typing import Any

import pytest
from sim_things import THING, kind_of, patched, refusal

from kq.sim.api.patching import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from kq.sim.patch.strategic import strategic_merge
from kq.sim.schemas.definitions import definitions

POD = kind_of("v1", "Pod")
SPEC = {"title": "v1.PodSpec", **definitions()["v1.PodSpec"]}


MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
REJECTED = (422, "Invalid", "the server rejected our request due to an error in our request")
NO_KEY = "invalid character '{' looking for beginning of object key string"
NO_MAP = "json: cannot unmarshal array into Go value of type map[string]interface {}"
NO_LIST = "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
DECODING = "error decoding patch: "
BAD = (400, "BadRequest")
UNTAKEN = (415, "UnsupportedMediaType", "415: Unsupported Media Type")
TOO_MANY = (
    413,
    "RequestEntityTooLarge",
    "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
)
NO_DIRECTIVE = (500, "", "unknown patch type: foo in map: map[$patch:foo z:1]")
OTHER = {"op": "test", "path": "/data/k", "value": 1}
SAME = {"op": "test", "path": "/data/k", "value": "v"}


@pytest.mark.parametrize(
    ("media", "body", "told"),
    [
        pytest.param(JSON_PATCH, [OTHER], REJECTED, id="test"),
        pytest.param(JSON_PATCH, [{"op": "remove", "path": "/data/z"}], REJECTED, id="no such key"),
        pytest.param(JSON_PATCH, {}, (*BAD, DECODING + NO_LIST), id="no list"),
        pytest.param(JSON_PATCH, b"{{", (*BAD, DECODING + NO_KEY), id="no JSON"),
        pytest.param(JSON_PATCH, [SAME] * 10001, TOO_MANY, id="too many"),
        pytest.param(MERGE_PATCH, b"{{", (*BAD, DECODING + NO_KEY), id="merge of no JSON"),
        pytest.param(MERGE_PATCH, [], (*BAD, DECODING + NO_MAP), id="merge of a list"),
        pytest.param(MERGE_PATCH, None, (*BAD, "Invalid JSON Patch"), id="merge of null"),
        pytest.param(STRATEGIC_PATCH, [], (*BAD, NO_MAP), id="strategic list"),
        pytest.param(
            STRATEGIC_PATCH,
            {"data": {"$patch": "foo", "z": "1"}},
            NO_DIRECTIVE,
            id="unknown directive",
        ),
        pytest.param("application/json", {}, UNTAKEN, id="plain JSON"),
        pytest.param("", {}, UNTAKEN, id="no type"),
    ],
)
def test_a_bad_patch_is_refused_in_the_servers_words(
    media: str, body: Any, told: tuple[int, str, str]
) -> None:
    refused = refusal(MAP, body, media)
    assert (refused.code, refused.reason, refused.message) == told


def test_what_no_longer_reads_as_its_kind_is_refused_with_all_of_it() -> None:
    refused = refusal(MAP, {"data": {"k": 1}}, MERGE_PATCH)
    assert refused.message.startswith(' "" is invalid: patch: Invalid value: "{\\"apiVersion\\"')
    assert refused.message.endswith(
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
    )


def test_strict_patches_know_every_field() -> None:
    refused = refusal(MAP, {"foo": 1}, MERGE_PATCH, strict=True)
    assert refused.message.endswith('strict decoding error: unknown field "foo"')
    assert "foo" not in patched(MAP, {"foo": 1}, MERGE_PATCH)


def test_custom_kinds_take_no_strategic_patch() -> None:
    refused = refusal({}, {}, STRATEGIC_PATCH, kind=THING)
    assert (refused.code, refused.message) == (
        415,
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
    )


def test_a_charset_is_no_other_type() -> None:
    media = f"{MERGE_PATCH}; charset=utf-8"
    assert patched(MAP, {"data": {"b": "1"}}, media)["data"] == {"k": "v", "b": "1"}


CONTAINERS = [{"name": "a", "image": "x", "args": ["1"]}, {"name": "b", "image": "y"}]


HOST = {"path": "/"}


def in_pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


@pytest.mark.parametrize(
    ("given", "change", "result"),
    [
        pytest.param(
            {"containers": CONTAINERS},
            {"containers": [{"name": "b", "image": "z"}]},
            {"containers": [CONTAINERS[0], {"name": "b", "image": "z"}]},
            id="by name",
        ),
        pytest.param(
            {"containers": CONTAINERS},
            {"containers": [{"name": "c", "image": "n"}]},
            {"containers": [{"name": "c", "image": "n"}, *CONTAINERS]},
            id="a new one goes first",
        ),
        pytest.param(
            {"containers": CONTAINERS},
            {"containers": [{"name": "a", "$patch": "delete"}]},
            {"containers": [CONTAINERS[1]]},
            id="deleted",
        ),
        pytest.param(
            {"containers": CONTAINERS},
            {"containers": [{"$patch": "replace"}, {"name": "n"}]},
            {"containers": [{"name": "n"}]},
            id="replaced",
        ),
        pytest.param(
            {"containers": CONTAINERS},
            {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]},
            {"containers": CONTAINERS[::-1]},
            id="in another order",
        ),
        pytest.param(
            {"containers": CONTAINERS},
            {"containers": [{"name": "a", "args": ["2"]}]},
            {"containers": [{**CONTAINERS[0], "args": ["2"]}, CONTAINERS[1]]},
            id="plain lists are replaced",
        ),
        pytest.param(
            {"nodeSelector": {"a": "b"}},
            {"nodeSelector": {"a": None, "c": "d"}},
            {"nodeSelector": {"c": "d"}},
            id="maps are merged",
        ),
        pytest.param(
            {"volumes": [{"name": "v", "emptyDir": {}}]},
            {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": HOST}]},
            {"volumes": [{"name": "v", "hostPath": HOST}]},
            id="only the keys that are to stay",
        ),
        pytest.param({"nodeName": "n"}, {"nodeName": None}, {}, id="null removes"),
    ],
)
def test_strategic_patches_merge_lists_by_their_keys(given: Any, change: Any, result: Any) -> None:
    assert strategic_merge(SPEC, given, change) == result


def test_a_finalizer_is_taken_off_a_list_of_words() -> None:
    meta = {"name": "p", "finalizers": ["a/b", "c/d"]}
    change = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/b"]}}
    made = patched({**in_pod(), "metadata": meta}, change, STRATEGIC_PATCH, kind=POD)
    assert made["metadata"]["finalizers"] == ["c/d"]
    change = {"metadata": {"finalizers": ["e/f", "a/b"]}}
    more = patched({**in_pod(), "metadata": meta}, change, STRATEGIC_PATCH, kind=POD)
    assert sorted(more["metadata"]["finalizers"]) == ["a/b", "c/d", "e/f"]


def test_an_item_without_its_key_is_refused() -> None:
    change = {"spec": {"containers": [{"image": "z"}]}}
    refused = refusal(in_pod(containers=CONTAINERS), change, STRATEGIC_PATCH, kind=POD)
    assert "does not contain declared merge key: name" in refused.message
