"""What a verb on an object looks like as a request."""

import pytest

from kq.core.kinds import CRD, JOB, NAMESPACE, POD, QUEUE_UNIT, ResourceKind
from kq.kube.requests import PreparedRequest, Verb, delete_options, prepare, with_preconditions


@pytest.mark.parametrize(
    ("verb", "kind", "name", "namespace", "line"),
    [
        (Verb.GET, JOB, "a", "ns", "GET /apis/batch/v1/namespaces/ns/jobs/a"),
        (Verb.GET, POD, "a", "ns", "GET /api/v1/namespaces/ns/pods/a"),
        (Verb.GET, NAMESPACE, "a", None, "GET /api/v1/namespaces/a"),
        (Verb.LIST, JOB, None, None, "GET /apis/batch/v1/jobs"),
        (Verb.LIST, JOB, None, "ns", "GET /apis/batch/v1/namespaces/ns/jobs"),
        (Verb.WATCH, NAMESPACE, None, None, "GET /api/v1/namespaces"),
        (Verb.CREATE, POD, None, "ns", "POST /api/v1/namespaces/ns/pods"),
        (Verb.MERGE_PATCH, JOB, "a", "ns", "PATCH /apis/batch/v1/namespaces/ns/jobs/a"),
        (Verb.DELETE, JOB, "a:b/c", "ns", "DELETE /apis/batch/v1/namespaces/ns/jobs/a:b%2Fc"),
    ],
)
def test_a_verb_on_an_object_is_a_method_and_a_path(
    verb: Verb, kind: ResourceKind, name: str | None, namespace: str | None, line: str
) -> None:
    request = prepare(verb, kind, name, namespace)
    assert f"{request.method} {request.target}" == line


def test_a_subresource_is_the_last_part_of_the_path() -> None:
    request = prepare(Verb.MERGE_PATCH, QUEUE_UNIT, "u", "ns", subresource="status")
    assert request.path.endswith("/queueunits/u/status")
    assert request.content_type == "application/merge-patch+json"


def test_parameters_that_are_none_are_left_out_and_the_rest_is_encoded() -> None:
    request = prepare(
        Verb.WATCH, JOB, query={"watch": True, "limit": None, "labelSelector": "a in (b,c)"}
    )
    assert request.target == "/apis/batch/v1/jobs?watch=true&labelSelector=a+in+%28b%2Cc%29"


@pytest.mark.parametrize("verb", [Verb.GET, Verb.MERGE_PATCH, Verb.JSON_PATCH, Verb.DELETE])
@pytest.mark.parametrize("name", [None, "", ".", ".."])
def test_a_request_for_one_object_never_reaches_the_collection(
    verb: Verb, name: str | None
) -> None:
    with pytest.raises(ValueError, match="needs a name"):
        prepare(verb, CRD, name)


@pytest.mark.parametrize("verb", [Verb.GET, Verb.CREATE, Verb.DELETE])
def test_a_namespaced_object_needs_its_namespace(verb: Verb) -> None:
    with pytest.raises(ValueError, match="needs a namespace"):
        prepare(verb, JOB, "a", None)


def test_a_request_without_query_is_its_path() -> None:
    assert PreparedRequest("GET", "/version", {}).target == "/version"


def test_preconditions_go_into_the_metadata_beside_what_is_there() -> None:
    patch = {"metadata": {"labels": {"a": None}}, "spec": {}}
    assert with_preconditions(patch, "7", "u") == {
        "metadata": {"labels": {"a": None}, "resourceVersion": "7", "uid": "u"},
        "spec": {},
    }
    assert with_preconditions(patch, None, None) == patch


def test_a_delete_without_preconditions_names_only_what_happens_to_dependents() -> None:
    options = delete_options(uid=None, resource_version=None, propagation="Foreground")
    assert options == {"propagationPolicy": "Foreground"}
