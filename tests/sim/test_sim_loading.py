"""Objects of a file on a simulated cluster: what has a UID comes back as it was."""

import random
from typing import Any

import pytest

from kq.clock import utc_now
from kq.core.kinds import Object
from kq.errors import ConfigError
from kq.sim.api.server import ApiServer
from kq.sim.control.objects import PODS
from kq.sim.control.view import Happened, View
from kq.sim.loading import Bereft, Loader, bereft

NEW = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "new", "namespace": "team"},
    "data": {"a": "b"},
}
OLD = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {
        "name": "old",
        "namespace": "team",
        "uid": "9d3f",
        "resourceVersion": "77",
        "creationTimestamp": "2026-03-02T09:00:00Z",
        "managedFields": [{"manager": "kubectl"}],
    },
    "spec": {"suspend": True},
    "status": {"conditions": [{"type": "Suspended", "status": "True"}]},
}


@pytest.fixture
async def server() -> ApiServer:
    made = ApiServer(clock=utc_now, random=random.Random(1))
    await made.start()
    return made


def found(
    server: ApiServer, version: str, kind: str, name: str, namespace: str = "team"
) -> dict[str, Any]:
    known = server.registry.of(version, kind)
    assert known is not None
    stored = server.storage.get(known, namespace, name)
    assert stored is not None
    return stored.read()


async def load(server: ApiServer, *objects: Object) -> Loader:
    loader = Loader(server)
    await loader.load(objects)
    return loader


def namespace(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **more}}


async def test_what_has_a_uid_comes_back_as_it_was_and_the_rest_is_created(
    server: ApiServer,
) -> None:
    assert (await load(server, NEW, OLD)).count == 2
    old, new = found(server, "batch/v1", "Job", "old"), found(server, "v1", "ConfigMap", "new")
    assert old["status"] == OLD["status"]
    assert (old["metadata"]["uid"], old["metadata"]["creationTimestamp"]) == (
        "9d3f",
        "2026-03-02T09:00:00Z",
    )
    assert "managedFields" not in old["metadata"]
    assert int(old["metadata"]["resourceVersion"]) == server.storage.version
    assert new["metadata"]["uid"]


async def test_namespaces_that_no_file_has_are_made_and_told(server: ApiServer) -> None:
    elsewhere = {**NEW, "metadata": {"name": "new", "namespace": "other"}}
    without = {**NEW, "metadata": {"name": "c"}}
    loader = await load(server, NEW, OLD, elsewhere, namespace("team", uid="x"), without)
    assert loader.namespaces == {"other"}
    assert found(server, "v1", "ConfigMap", "c", "default")["data"] == NEW["data"]


@pytest.mark.parametrize("name", ["default", "team"])
async def test_a_namespace_that_is_there_gets_the_labels_of_the_file(
    server: ApiServer, name: str
) -> None:
    told = namespace(name, uid="x", labels={"quota": "a"}, annotations={"b": "c"})
    await load(server, NEW, told)
    meta = found(server, "v1", "Namespace", name, "")["metadata"]
    assert meta["labels"] == {"kubernetes.io/metadata.name": name, "quota": "a"}
    assert meta["annotations"] == {"b": "c"}


async def test_what_the_cluster_has_by_itself_is_replaced(server: ApiServer) -> None:
    await load(server, NEW)
    await load(server, {**NEW, "data": {"a": "other"}})
    assert found(server, "v1", "ConfigMap", "new")["data"] == {"a": "other"}


async def test_an_object_that_comes_again_is_taken_as_it_came_last(server: ApiServer) -> None:
    loader = await load(server, OLD, {**OLD, "status": {}})
    assert loader.repeated == ["Job team/old"]
    assert found(server, "batch/v1", "Job", "old")["status"] == {}


@pytest.mark.parametrize("uid", ["other", ""])
async def test_two_objects_of_one_name_are_refused(server: ApiServer, uid: str) -> None:
    other = {**OLD, "metadata": {**OLD["metadata"], "uid": uid}}
    with pytest.raises(ConfigError, match="Job team/old is there twice, as two objects"):
        await load(server, OLD, other)
    with pytest.raises(ConfigError, match="ConfigMap team/new is there twice"):
        await load(server, NEW, NEW)


@pytest.mark.parametrize(
    ("obj", "why"),
    [
        pytest.param(
            {**NEW, "metadata": {"name": "Not A Name", "namespace": "team"}},
            "ConfigMap team/Not A Name is refused: .* Invalid value",
            id="a name",
        ),
        pytest.param(
            {**NEW, "metadata": {"name": "new", "namespace": "Not A Name"}},
            "Namespace Not A Name is refused: .* Invalid value",
            id="a namespace",
        ),
        pytest.param(
            {**NEW, "apiVersion": "example.org/v1", "kind": "Widget"},
            r"Widget team/new .*: Widget of example\.org/v1 is not served; leave it out",
            id="a kind",
        ),
        pytest.param(
            {**OLD, "apiVersion": "kubeflow.org/v1", "kind": "TFJob"},
            "TFJob team/old .* is not served; --operators training serves it",
            id="a kind of an operator",
        ),
        pytest.param(
            {**OLD, "apiVersion": "kubeflow.org/v7", "kind": "TFJob"},
            "TFJob team/old .* is not served; leave it out",
            id="a version that no operator has",
        ),
        pytest.param({**OLD, "spec": "x"}, "Job team/old .*: spec is no map", id="a spec"),
        pytest.param(
            {**OLD, "metadata": {**OLD["metadata"], "uid": 5}},
            "Job team/old .*: metadata.uid is 5, not a text",
            id="a uid",
        ),
        pytest.param(
            {**OLD, "metadata": {**OLD["metadata"], "labels": ["a"]}},
            "Job team/old .*: metadata.labels is no map",
            id="labels",
        ),
    ],
)
async def test_what_cannot_be_put_there_is_named(server: ApiServer, obj: Object, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        await load(server, obj)


async def test_new_objects_of_some_kinds_wait_until_the_rest_is_there(server: ApiServer) -> None:
    jobs = server.registry.of("batch/v1", "Job")
    assert jobs is not None
    pod = {"restartPolicy": "Never", "containers": [{"name": "m", "image": "i"}]}
    new = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "new", "namespace": "team"},
        "spec": {"template": {"spec": pod}},
    }
    loader = Loader(server, waits={"jobs.batch"})
    await loader.load([new, OLD])
    assert [each.name for each in server.storage.list(jobs)] == ["old"]
    await loader.finish()
    assert [each.name for each in server.storage.list(jobs)] == ["new", "old"]


def pod(name: str, **owners: str) -> dict[str, Any]:
    references = [
        {"apiVersion": "batch/v1" if kind == "Job" else "kubeflow.org/v1", "kind": kind, "uid": uid}
        for uid, kind in owners.items()
    ]
    meta = {"name": name, "namespace": "n", "uid": name, "ownerReferences": references}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta}


def view_of(*pods: Object) -> View:
    view = View(lambda version, kind: version == "batch/v1")
    for each in pods:
        view.apply(Happened(kind=PODS, before=None, after=each))
    return view


def test_who_has_none_of_its_owners_is_bereft() -> None:
    view = view_of(pod("kept", a="Job", b="Job"), pod("a", c="Job"), pod("b"))
    assert bereft(view) == [
        Bereft(kind="Pod", place="n/a", owner="Job", owners="jobs", is_served=True, operator="")
    ]


def test_an_owner_whose_kind_is_not_served_is_known_to_be_of_an_operator() -> None:
    assert bereft(view_of(pod("a", c="TFJob"), pod("b", c="Other"))) == [
        Bereft(
            kind="Pod",
            place="n/a",
            owner="TFJob",
            owners="tfjobs",
            is_served=False,
            operator="training",
        ),
        Bereft(
            kind="Pod", place="n/b", owner="Other", owners="others", is_served=False, operator=""
        ),
    ]
