"""What is known of built-in types agrees with what a real API server publishes and does."""

import http.client
import json
import re
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import openapi_table
import pytest
import typed_cases
import wire_table
from controlplane.cluster import Cluster
from controlplane.errors import Refused
from same import normal
from typed_cases import CONTAINER, Case, job

from kq.errors import DecodeError
from kq.sim.api import builtin, schema
from kq.sim.api.kinds import Kind
from kq.sim.api.patching import MERGE_PATCH, STRATEGIC_PATCH, patch
from kq.sim.api.status import invalid
from kq.sim.api.table import as_table
from kq.sim.write import merges

REGISTRY = builtin.registry()
CASES = list(typed_cases.cases())
KEPT_STATUS = {"Namespace", "Node", "Pod"}
FIXED = "Invalid value: {...}: field is immutable"


def test_the_table_of_types_is_what_the_server_publishes(control_plane: Cluster) -> None:
    published = openapi_table.text_of(openapi_table.published(control_plane))
    assert openapi_table.TABLE.read_text() == published


def test_the_table_of_fields_is_what_the_sources_say(binaries: Path) -> None:
    assert binaries.is_dir()
    assert wire_table.TABLE.read_text() == wire_table.text_of(wire_table.made())


def kind_of(obj: dict[str, Any]) -> Kind:
    found = REGISTRY.of(obj["apiVersion"], obj["kind"])
    assert found is not None
    return found


def path_of(kind: Kind, namespace: str) -> str:
    base = f"/apis/{kind.api_version}" if kind.group else "/api/v1"
    place = f"{base}/namespaces/{namespace}" if kind.namespaced else base
    return f"{place}/{kind.plural}"


def truth(cluster: Cluster, namespace: str, obj: dict[str, Any]) -> Any:
    """What the real server makes of an object: itself, or the words of the refusal."""
    try:
        made = cluster.api("POST", f"{path_of(kind_of(obj), namespace)}?dryRun=All", obj)
    except Refused as err:
        return str(err).partition(": ")[2].partition("?dryRun=All: ")[2] or str(err)
    for field in ("creationTimestamp", "generation", "managedFields"):
        made["metadata"].pop(field, None)
    return made


def ours(namespace: str, obj: dict[str, Any], uid: str) -> Any:
    """What the rules make of it, in the order in which a server uses them."""
    kind = kind_of(obj)
    rules = schema.rules_for(kind)
    try:
        made = rules.decode(obj).object
    except DecodeError as err:
        called = f'{kind.kind} in version "{kind.version}"'
        return f"{called} cannot be handled as a {kind.kind}: {err}"
    rules.fill(made)
    made["metadata"]["uid"] = uid
    if kind.namespaced:
        made["metadata"]["namespace"] = namespace
    if kind.status and kind.kind not in KEPT_STATUS:
        merges.reset_status(kind, made)
    rules.prepare(made, None)
    faults = rules.faults(made)
    return invalid(kind, made["metadata"]["name"], faults).message if faults else made


@pytest.fixture(scope="module")
def namespace(control_plane: Cluster) -> Iterator[str]:
    """A namespace for events and such."""
    name = f"types-{secrets.token_hex(3)}"
    control_plane.api("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    control_plane.api("DELETE", f"/api/v1/namespaces/{name}")


def test_objects_are_completed_and_refused_as_a_real_server_does(
    control_plane: Cluster, namespace: str
) -> None:
    different = []
    for case in CASES:
        obj = in_namespace(case, namespace)
        real = truth(control_plane, namespace, json.loads(json.dumps(obj)))
        uid = real["metadata"].get("uid", "") if isinstance(real, dict) else "UID"
        made = ours(namespace, obj, uid)
        if normal(real) != normal(json.loads(json.dumps(made).replace('"UID"', f'"{uid}"'))):
            different.append(f"{case}\n  real: {shown(real)}\n  ours: {shown(made)}")
    assert not different, "\n".join(different)


def in_namespace(case: Case, namespace: str) -> dict[str, Any]:
    about = case.obj.get("involvedObject", {})
    if about.get("namespace") == "default":
        return {**case.obj, "involvedObject": {**about, "namespace": namespace}}
    return case.obj


def shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def template(**spec: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": spec}}}


RESOURCES = {"resources": {"requests": {"cpu": "2"}}}
STRATEGIC = [
    {"spec": {"suspend": False, "parallelism": 2}},
    {"spec": {"completions": 5}},
    {"spec": {"completionMode": "Indexed"}},
    {"spec": {"managedBy": "x.io/y"}},
    template(containers=[{"name": "m", **RESOURCES}]),
    template(containers=[{"name": "m", "image": "other"}]),
    template(containers=[{"name": "n", "image": "new"}]),
    template(nodeSelector={"a": "b"}, tolerations=[{"key": "a", "operator": "Exists"}]),
    template(priorityClassName="high"),
    template(volumes=[{"name": "v", "emptyDir": {}}]),
    {"metadata": {"labels": {"a": "b", "job-name": None}}},
    template(tolerations=[{"key": "b"}, {"key": "a", "operator": "Exists"}]),
    {"metadata": {"finalizers": ["a.io/b"]}},
    {"metadata": {"finalizers": ["x.io/y", "a.io/b"]}},
    {"metadata": {"$setElementOrder/finalizers": ["a.io/b", "x.io/y"], "finalizers": ["a.io/b"]}},
    {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x.io/y"]}},
]
"""Changes of a suspended job, one at a time."""


def test_strategic_patches_of_a_job_end_as_on_a_real_server(
    control_plane: Cluster, namespace: str
) -> None:
    kind = kind_of(job())
    path = path_of(kind, namespace)
    given = job({"suspend": True}, metadata={"name": "j", "finalizers": ["x.io/y"]})
    control_plane.api("POST", path, given)
    current = control_plane.wait(f"{path}/j", lambda obj: obj["status"].get("conditions"))
    different = []
    for change in STRATEGIC:
        real = patch_truth(control_plane, f"{path}/j", change)
        made = patched(kind, current, change, STRATEGIC_PATCH)
        if real != made:
            different.append(f"{change}\n  real: {shown(real)}\n  ours: {shown(made)}")
    control_plane.api("PATCH", f"{path}/j", {"metadata": {"finalizers": []}})
    assert not different, "\n".join(different)


HELD = [{"name": "a", "image": "x", "args": ["1"]}, {"name": "b", "image": "y"}]
VOLUMES = [{"name": "v", "emptyDir": {}}, {"name": "w", "emptyDir": {}}]
LISTS = [
    {"containers": [{"name": "c", "image": "n"}]},
    {"containers": [{"name": "b", "image": "z"}, {"name": "c", "image": "n"}]},
    {"containers": [{"name": "a", "$patch": "delete"}, {"name": "c", "image": "n"}]},
    {"containers": [{"$patch": "replace"}, {"name": "n", "image": "n"}]},
    {"containers": [{"name": "a", "args": ["2", "3"], "env": [{"name": "E", "value": "1"}]}]},
    {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]},
    {
        "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
        "containers": [{"name": "c", "image": "n"}],
    },
    {"volumes": [{"name": "w", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}]},
    {"volumes": [{"name": "u", "emptyDir": {"medium": None}}]},
    {"volumes": None, "nodeSelector": {"a": "b"}},
    {"securityContext": {"$patch": "replace", "runAsUser": 7}},
]
"""Changes of lists and maps in a pod template, one at a time."""


def test_strategic_patches_of_lists_end_as_on_a_real_server(
    control_plane: Cluster, namespace: str
) -> None:
    template = {"spec": {"containers": HELD, "volumes": VOLUMES}}
    given = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t"}}
    kind = kind_of(given)
    path = path_of(kind, namespace)
    current = control_plane.api("POST", path, {**given, "template": template})
    different = []
    for spec in LISTS:
        change = {"template": {"spec": spec}}
        real = patch_truth(control_plane, f"{path}/t", change)
        made = patched(kind, current, change, STRATEGIC_PATCH)
        if real != made:
            different.append(f"{change}\n  real: {shown(real)}\n  ours: {shown(made)}")
    assert not different, "\n".join(different)


def patch_truth(cluster: Cluster, path: str, change: Any, media: str = STRATEGIC_PATCH) -> Any:
    try:
        made = cluster.api("PATCH", f"{path}?dryRun=All", change, content_type=media)
    except Refused as err:
        return without_dump(str(err).partition("?dryRun=All: ")[2])
    return compared(made)


def without_dump(text: str) -> str:
    """A refusal without the object in it: the real server shows Go's, which nobody else has."""
    head, _, rest = text.partition("Invalid value: {")
    return f"{head}{FIXED}" if rest.endswith("field is immutable") else text


def compared(obj: Any) -> Any:
    meta = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in ("managedFields", "generation")
    }
    return {**obj, "metadata": meta}


def patched(kind: Kind, current: Any, change: Any, media: str) -> Any:
    """What our patch and rules make of an object; the words of the refusal if they refuse."""
    body = json.dumps(change).encode()
    now = datetime(2026, 1, 1, tzinfo=UTC)
    rules = schema.rules_for(kind)
    options = {"kind": kind, "rules": rules, "manager": "me", "force": False, "now": now}
    made = patch(media, current, body, **options).object
    rules.prepare(made, current)
    faults = [*rules.faults(made), *rules.changes(made, current)]
    if faults:
        return without_dump(invalid(kind, made["metadata"]["name"], faults).message)
    return compared(made)


def value(random: Random, depth: int = 0) -> Any:
    """A JSON value with nulls at any place."""
    match random.randrange(3 if depth > 2 else 6):
        case 0:
            return None
        case 1:
            return random.choice(["", "x", "y"])
        case 2:
            return random.randrange(3)
        case 3:
            return [value(random, depth + 1) for _ in range(random.randrange(3))]
        case _:
            return {key: value(random, depth + 1) for key in random.sample("abcd", 2)}


def test_merge_patches_end_as_on_a_real_server(control_plane: Cluster) -> None:
    """The schema of a CRD takes default values of any form, so that nothing is pruned there."""
    random = Random(5)
    name = f"anythings.x{secrets.token_hex(3)}.io"
    kind, path = anything(control_plane, name)
    different = []
    for number in range(25):
        content = {"a": value(random), "b": value(random)}
        current = control_plane.api(
            "POST", path, {**kind_head(kind), "metadata": {"name": f"n{number}"}, "spec": content}
        )
        change = {"spec": {"a": value(random), "b": value(random), "c": value(random)}}
        real = patch_truth(control_plane, f"{path}/n{number}", change, MERGE_PATCH)
        made = patched(kind, current, change, MERGE_PATCH)
        if real != made:
            different.append(f"{content}\n{change}\n  {shown(real)}\n  {shown(made)}")
    control_plane.api("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
    assert not different, "\n".join(different)


def kind_head(kind: Kind) -> dict[str, Any]:
    return {"apiVersion": kind.api_version, "kind": kind.kind}


def anything(cluster: Cluster, name: str) -> tuple[Kind, str]:
    """A custom kind that takes everything."""
    plural, _, group = name.partition(".")
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": free}}
    crd = {
        "metadata": {"name": name},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"kind": "Anything", "plural": plural},
            "versions": [version],
        },
    }
    cluster.api("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
    path = f"/apis/{group}/v1/{plural}"
    for _ in range(200):
        try:
            cluster.api("GET", path)
            break
        except Refused:
            cluster.wait("/version", bool)
    made = Kind(
        group=group, version="v1", kind="Anything", plural=plural, custom=True, openapi=free
    )
    return made, path


PLACES = [
    ("v1", "Namespace"),
    ("v1", "Node"),
    ("v1", "Event"),
    ("v1", "ConfigMap"),
    ("v1", "ServiceAccount"),
    ("v1", "ResourceQuota"),
    ("batch/v1", "Job"),
    ("v1", "Pod"),
    ("coordination.k8s.io/v1", "Lease"),
    ("scheduling.k8s.io/v1", "PriorityClass"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
]
AGE = re.compile(r"^(\d+[smhdy])+$")
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(("version", "name"), PLACES, ids=lambda each: str(each))
def test_rows_are_those_of_a_real_server(
    version: str, name: str, control_plane: Cluster, namespace: str
) -> None:
    kind = kind_of({"apiVersion": version, "kind": name})
    path = f"{path_of(kind, namespace)}?limit=5"
    listed = control_plane.api("GET", path)
    real = table(control_plane, path)
    made = as_table(kind, listed["items"], now=datetime.now(UTC))  # noqa: TID251
    assert columns(made) == columns(real)
    rows = [steady(row) for row in made["rows"]]
    assert rows == [steady(row) for row in real["rows"] or ()]


def table(cluster: Cluster, path: str) -> Any:
    server = urlsplit(cluster.access.server)
    connection = http.client.HTTPSConnection(server.netloc, context=cluster.access.tls, timeout=20)
    try:
        connection.request("GET", path, headers={"Accept": TABLE})
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def columns(made: Any) -> list[tuple[Any, ...]]:
    fields = ("name", "type", "format", "priority")
    return [tuple(each[field] for field in fields) for each in made["columnDefinitions"]]


def steady(row: Any) -> Any:
    """A row without ages, which move while one looks."""
    cells = [AGE.sub("AGE", cell) if isinstance(cell, str) else cell for cell in row["cells"]]
    return cells, row.get("conditions")


def test_containers_in_cases_are_never_changed() -> None:
    assert CONTAINER == {"name": "m", "image": "b"}
