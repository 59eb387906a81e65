"""Objects of a file on a simulated cluster: what has a UID comes back as it was."""

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from kq.clock import utc_now
from kq.errors import ConfigError
from kq.kube.errors import ApiError
from kq.sim.api.server import ApiServer
from kq.sim.loading import load, read_objects

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


def found(server: ApiServer, version: str, kind: str, name: str) -> dict[str, Any]:
    known = server.registry.of(version, kind)
    assert known is not None
    stored = server.storage.get(known, "team", name)
    assert stored is not None
    return stored.read()


async def test_what_has_a_uid_comes_back_as_it_was_and_the_rest_is_created(
    server: ApiServer,
) -> None:
    assert await load(server, [NEW, OLD]) == 2
    old, new = found(server, "batch/v1", "Job", "old"), found(server, "v1", "ConfigMap", "new")
    assert old["status"] == OLD["status"]
    assert (old["metadata"]["uid"], old["metadata"]["creationTimestamp"]) == (
        "9d3f",
        "2026-03-02T09:00:00Z",
    )
    assert "managedFields" not in old["metadata"]
    assert int(old["metadata"]["resourceVersion"]) == server.storage.version
    assert new["metadata"]["uid"]


async def test_a_namespace_that_is_there_stays(server: ApiServer) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "uid": "x"}}
    assert await load(server, [NEW, namespace]) == 2


async def test_what_the_server_refuses_is_not_passed_over(server: ApiServer) -> None:
    with pytest.raises(ApiError, match="Invalid value"):
        await load(server, [{**NEW, "metadata": {"name": "Not A Name", "namespace": "team"}}])
    with pytest.raises(ConfigError, match=r"Widget of example\.org/v1 is not served"):
        await load(server, [{**NEW, "apiVersion": "example.org/v1", "kind": "Widget"}])


@pytest.mark.parametrize("name", ["o.yaml", "o.json", "o.jsonl"])
def test_a_file_may_be_yaml_json_or_lines(tmp_path: Path, name: str) -> None:
    path, whole = tmp_path / name, {"apiVersion": "v1", "kind": "List", "items": [NEW, OLD]}
    match path.suffix:
        case ".yaml":
            path.write_text(yaml.safe_dump_all([whole, NEW]))
        case ".json":
            path.write_bytes(msgspec.json.encode({**whole, "items": [whole, NEW]}))
        case _:
            path.write_bytes(b"\n\n".join(map(msgspec.json.encode, (whole, NEW))))
    assert list(read_objects(path)) == [NEW, OLD, NEW]


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("o.yaml", "a: [", "cannot be read"),
        ("o.json", "{", "cannot be read"),
        ("o.jsonl", '{"kind": "Job"}\n', "object 1 is no object"),
        ("o.yaml", "just text", "object 1 is no object"),
    ],
)
def test_what_is_no_object_is_named(tmp_path: Path, name: str, text: str, why: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ConfigError, match=why):
        list(read_objects(path))
