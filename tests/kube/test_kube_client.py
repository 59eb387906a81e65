"""The client: verbs, addresses, answers, refusals."""

from contextlib import aclosing

import msgspec
import pytest
from fake_api import FakeApi, answer, hang_up, status, text

from kq.core.kinds import CRD, JOB
from kq.errors import DecodeError
from kq.kube.client import Client
from kq.kube.connection import Connection
from kq.kube.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    Gone,
    Indeterminate,
    Invalid,
    NotFound,
    ServerError,
    TooManyRequests,
    Unserved,
)

pytestmark = pytest.mark.looptime


class Meta(msgspec.Struct):
    name: str
    resourceVersion: str


class Slim(msgspec.Struct):
    metadata: Meta


async def test_get_gives_the_object_as_a_dict(api: FakeApi, client: Client) -> None:
    api.put("jobs", "a", spec={"suspend": True})
    assert (await client.get(JOB, "a", "ns"))["spec"] == {"suspend": True}
    assert api.seen[0].path == "/apis/batch/v1/namespaces/ns/jobs/a"


async def test_an_answer_is_decoded_into_the_type_that_is_asked_for(
    api: FakeApi, client: Client
) -> None:
    api.put("jobs", "a")
    assert (await client.get(JOB, "a", "ns", into=Slim)).metadata == Meta("a", "101")
    assert (await client.get(JOB, "a", "ns", into=bytes)).startswith(b"{")


async def test_an_answer_of_another_shape_is_a_decode_error(api: FakeApi, client: Client) -> None:
    api.fail(answer(200))
    with pytest.raises(DecodeError, match="metadata"):
        await client.get(JOB, "a", "ns", into=Slim)


async def test_an_answer_that_is_no_json_leaves_the_outcome_open(
    api: FakeApi, client: Client
) -> None:
    api.fail(text(200, "<html>log in first</html>"))
    with pytest.raises(Indeterminate, match="no JSON"):
        await client.create(JOB, {"metadata": {"name": "a", "namespace": "ns"}}, "ns")


async def test_a_write_whose_raw_answer_is_cut_off_leaves_the_outcome_open(
    api: FakeApi, client: Client
) -> None:
    api.fail(text(200, '{"metadata": {"name": '))
    with pytest.raises(Indeterminate, match="no JSON"):
        await client.create(JOB, {"metadata": {"name": "a"}}, "ns", into=bytes)


async def test_a_raw_answer_nested_beyond_any_decoder_is_taken_as_it_is(
    api: FakeApi, client: Client
) -> None:
    deep = '{"a": ' * 5000 + "1" + "}" * 5000
    api.fail(text(200, deep))
    assert await client.create(JOB, {"metadata": {"name": "a"}}, "ns", into=bytes) == deep.encode()
    api.fail(text(200, deep[:-1]))
    with pytest.raises(Indeterminate, match="no JSON"):
        await client.create(JOB, {"metadata": {"name": "a"}}, "ns", into=bytes)


async def test_a_write_of_a_kind_that_is_not_served_says_nothing_of_the_object(
    api: FakeApi, client: Client
) -> None:
    api.put("jobs", "a")
    api.absent.add("jobs")
    with pytest.raises(Unserved, match="page not found"):
        await client.merge_patch(JOB, "a", "ns", {"spec": {"suspend": True}})
    with pytest.raises(Unserved):
        await client.delete(JOB, "a", "ns")
    with pytest.raises(Unserved):
        await client.create(JOB, {"metadata": {"name": "b"}}, "ns")
    with pytest.raises(NotFound):
        await client.get(JOB, "a", "ns")
    api.absent.clear()
    with pytest.raises(NotFound):
        await client.merge_patch(JOB, "b", "ns", {"spec": {"suspend": True}})


async def test_create_names_the_field_manager(api: FakeApi, client: Client) -> None:
    made = await client.create(JOB, {"metadata": {"name": "a", "namespace": "ns"}}, "ns")
    assert made["metadata"]["resourceVersion"] == "101"
    assert api.seen[0].query == {"fieldManager": "koord-queue"}
    assert api.seen[0].headers["Content-Type"] == "application/json"


async def test_a_merge_patch_carries_what_it_was_decided_on(api: FakeApi, client: Client) -> None:
    api.put("jobs", "a")
    patch = {"metadata": {"labels": {"x": "y"}}, "status": {"phase": "Dequeued"}}
    await client.merge_patch(
        JOB, "a", "ns", patch, subresource="status", resource_version="101", uid="uid-a"
    )
    seen = api.seen[0]
    assert seen.path.endswith("/jobs/a/status")
    assert seen.headers["Content-Type"] == "application/merge-patch+json"
    assert seen.body["metadata"] == {
        "labels": {"x": "y"},
        "resourceVersion": "101",
        "uid": "uid-a",
    }
    assert "resourceVersion" not in patch["metadata"]


async def test_a_json_patch_states_its_version_first(api: FakeApi, client: Client) -> None:
    api.fail(answer(200))
    await client.json_patch(
        JOB, "a", "ns", [{"op": "remove", "path": "/spec/x"}], resource_version="7"
    )
    assert api.seen[0].headers["Content-Type"] == "application/json-patch+json"
    assert api.seen[0].body == [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "remove", "path": "/spec/x"},
    ]


async def test_delete_says_which_object_is_meant(api: FakeApi, client: Client) -> None:
    api.put("jobs", "a")
    await client.delete(JOB, "a", "ns", uid="uid-a")
    assert api.seen[0].body == {
        "propagationPolicy": "Background",
        "preconditions": {"uid": "uid-a"},
    }
    assert not api.objects["jobs"]


async def test_a_delete_of_another_object_of_that_name_is_a_uid_conflict(
    api: FakeApi, client: Client
) -> None:
    api.put("jobs", "a")
    with pytest.raises(Conflict) as caught:
        await client.delete(JOB, "a", "ns", uid="older")
    assert caught.value.is_uid_conflict
    assert "older" in caught.value.message


async def test_a_patch_of_another_object_of_that_name_is_a_uid_conflict(
    api: FakeApi, client: Client
) -> None:
    api.put("jobs", "a")
    with pytest.raises(Invalid) as caught:
        await client.merge_patch(JOB, "a", "ns", {"spec": {}}, uid="older")
    assert caught.value.is_uid_conflict


async def test_a_patch_decided_on_an_old_version_is_a_plain_conflict(
    api: FakeApi, client: Client
) -> None:
    api.put("jobs", "a")
    with pytest.raises(Conflict) as caught:
        await client.merge_patch(JOB, "a", "ns", {"spec": {}}, resource_version="1")
    assert not caught.value.is_uid_conflict


async def test_a_list_page_carries_its_selectors(api: FakeApi, client: Client) -> None:
    await client.list_page(
        JOB, "ns", limit=5, label_selector="a=b", field_selector="metadata.name=x"
    )
    assert api.seen[0].query == {
        "limit": "5",
        "labelSelector": "a=b",
        "fieldSelector": "metadata.name=x",
    }


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (410, "Expired", Gone),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (500, "InternalError", ServerError),
    ],
)
async def test_a_refusal_becomes_its_type_without_another_try(
    api: FakeApi, client: Client, code: int, reason: str, expected: type[Exception]
) -> None:
    api.fail(answer(code, reason, "because"))
    with pytest.raises(expected, match="because"):
        await client.get(JOB, "a", "ns")
    assert len(api.seen) == 1


async def test_a_proxys_html_is_an_error_with_its_text(api: FakeApi, client: Client) -> None:
    api.fail(text(502, "<html>Bad\nGateway</html>"))
    with pytest.raises(ServerError, match="<html>Bad Gateway</html>") as caught:
        await client.get(JOB, "a", "ns")
    assert caught.value.code == 502


async def test_a_watch_asks_for_bookmarks_and_an_end(api: FakeApi, client: Client) -> None:
    watch = client.watch(JOB, "ns", resource_version="100", timeout_seconds=3, label_selector="a")
    assert [line async for line in watch] == []
    assert api.seen[0].query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "100",
        "timeoutSeconds": "3",
        "labelSelector": "a",
    }


async def test_a_very_long_line_of_a_watch_comes_whole(api: FakeApi, client: Client) -> None:
    api.put("jobs", "a", spec={"text": "x" * 4_000_000})
    async with aclosing(client.watch(JOB, resource_version="0", timeout_seconds=9)) as lines:
        assert len(await anext(lines)) > 4_000_000


async def test_discover_gives_the_kinds_of_a_version(api: FakeApi, client: Client) -> None:
    served = [{"name": "jobs"}, {"name": "jobs/status"}, {"name": "cronjobs"}]

    async def resources(_: object) -> object:
        return status(200, resources=served)

    api.fail(resources)  # type: ignore[arg-type]
    assert await client.discover("batch", "v1") == {"jobs", "cronjobs"}
    assert api.seen[0].path == "/apis/batch/v1"


async def test_discover_gives_nothing_for_a_version_that_is_not_served(
    api: FakeApi, client: Client
) -> None:
    assert await client.discover("kubeflow.org", "v1") == set()


async def test_the_servers_version_and_date_are_known_after_an_answer(
    api: FakeApi, client: Client
) -> None:
    assert client.server_date() is None
    api.fail(answer(200, major="1", minor="36+", gitVersion="v1.36.3"))
    version = await client.server_version()
    assert (version.major, version.minor, version.git_version) == ("1", "36+", "v1.36.3")
    date = client.server_date()
    assert date is not None
    assert date.tzinfo is not None


async def test_cluster_scoped_objects_have_no_namespace_in_their_path(
    api: FakeApi, client: Client
) -> None:
    api.fail(answer(200))
    await client.get(CRD, "queues.scheduling.x-k8s.io")
    assert api.seen[0].path == (
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/queues.scheduling.x-k8s.io"
    )


async def test_every_request_is_counted_with_its_code(api: FakeApi) -> None:
    counted: list[tuple[str, str]] = []

    class Metrics:
        def request(self, *, method: str, code: str, host: str, seconds: float) -> None:
            counted.append((method, code))

    api.fail(hang_up, on=lambda seen: seen.method == "POST")
    async with Client(Connection(base_url=api.url), metrics=Metrics()) as client:
        with pytest.raises(NotFound):
            await client.get(JOB, "a", "ns")
        with pytest.raises(Indeterminate):
            await client.create(JOB, {"metadata": {"name": "a"}}, "ns")
    assert counted == [("GET", "404"), ("POST", "<error>")]


async def test_a_request_through_the_base_path_of_a_proxy_keeps_it(api: FakeApi) -> None:
    api.fail(answer(200))
    async with Client(Connection(base_url=f"{api.url}/k8s/clusters/c-1")) as client:
        await client.get(JOB, "a", "ns")
    assert api.seen[0].path == "/k8s/clusters/c-1/apis/batch/v1/namespaces/ns/jobs/a"
