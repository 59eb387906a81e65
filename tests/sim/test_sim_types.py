"""Objects of built-in types are read once: what comes out stands by itself, and tells of faults."""

from typing import Any

import pytest
import typed_cases
from hypothesis import given
from hypothesis import strategies as st
from sim_things import kind_of
from typed_cases import Case

from kq.errors import DecodeError
from kq.sim.api.schema import completed, rules_for
from kq.sim.patch.merge import merge
from kq.sim.schemas.copying import copied
from kq.sim.schemas.definitions import definition_of
from kq.sim.schemas.zeros import zero

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)
MAPS = st.dictionaries(st.text("ab", max_size=2), JSON, max_size=3)
JOB = rules_for(kind_of("batch/v1", "Job"))


def readable() -> list[Case]:
    found = []
    for case in typed_cases.cases():
        try:
            rules_for(kind_of(case.obj["apiVersion"], case.obj["kind"])).decode(case.obj)
        except DecodeError:
            continue
        found.append(case)
    return found


@pytest.mark.parametrize("case", readable(), ids=str)
def test_what_is_complete_stays_as_it_is(case: Case) -> None:
    rules = rules_for(kind_of(case.obj["apiVersion"], case.obj["kind"]))
    once = completed(rules, case.obj)
    assert completed(rules, once) == once


@given(JSON)
def test_a_copy_is_equal_and_shares_nothing_that_can_change(value: Any) -> None:
    copy = copied(value)
    assert copy == value
    assert not set(containers(copy)) & set(containers(value))


def containers(value: Any) -> list[int]:
    match value:
        case dict():
            return [id(value), *(each for inner in value.values() for each in containers(inner))]
        case list():
            return [id(value), *(each for inner in value for each in containers(inner))]
        case _:
            return []


@given(MAPS, MAPS)
def test_a_merge_changes_neither_the_document_nor_the_patch(
    document: dict[str, Any], patch: dict[str, Any]
) -> None:
    before = copied(document), copied(patch)
    merge(document, patch)
    assert (document, patch) == before


def test_decoding_leaves_what_it_reads_alone_and_shares_nothing_of_known_fields() -> None:
    given = typed_cases.job(metadata={"name": "j", "labels": {"a": "b"}})
    before = copied(given)
    made = JOB.decode(given).object
    JOB.fill(made)
    made["metadata"]["labels"]["c"] = "d"
    assert given == before


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param(
            {"template": {"spec": {"containers": [{"name": 1}]}}},
            "number into Go struct field Container.spec.template.spec.containers.name of type"
            " string",
            id="a field of an item",
        ),
        pytest.param(
            {"template": {"spec": {"containers": [1]}}},
            "number into Go struct field PodSpec.spec.template.spec.containers of type"
            " v1.Container",
            id="an item",
        ),
        pytest.param(
            {"template": {"spec": {"nodeSelector": {"a": 1}}}},
            "number into Go struct field PodSpec.spec.template.spec.nodeSelector of type string",
            id="a value of a map",
        ),
        pytest.param(
            {"parallelism": 2**31},
            "number 2147483648 into Go struct field JobSpec.spec.parallelism of type int32",
            id="too large a number",
        ),
        pytest.param(
            {"suspend": 1},
            "number into Go struct field JobSpec.spec.suspend of type bool",
            id="one is not true",
        ),
    ],
)
def test_a_value_of_another_type_is_told_with_its_place(spec: Any, why: str) -> None:
    with pytest.raises(DecodeError) as caught:
        JOB.decode(typed_cases.job() | {"spec": spec})
    assert str(caught.value) == f"json: cannot unmarshal {why}"


def test_unknown_fields_are_told_with_their_places() -> None:
    containers = [{"name": "a"}, {"name": "b", "foo": 1, "env": [{"name": "E", "bar": 2}]}]
    spec = {"template": {"spec": {"containers": containers, "baz": {}}}}
    assert JOB.decode(typed_cases.job() | {"spec": spec, "top": 0}).unknown == [
        "spec.template.spec.containers[1].foo",
        "spec.template.spec.containers[1].env[0].bar",
        "spec.template.spec.baz",
        "top",
    ]


def test_a_type_that_holds_itself_is_read_to_its_depth() -> None:
    rules = rules_for(kind_of("apiextensions.k8s.io/v1", "CustomResourceDefinition"))
    schema: dict[str, Any] = {"type": "object", "unknown": 1}
    for _ in range(5):
        schema = {"type": "object", "properties": {"a": schema}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    decoded = rules.decode({"spec": {"versions": [version]}})
    depth = ".properties.a" * 5
    assert decoded.unknown == [f"spec.versions[0].schema.openAPIV3Schema{depth}.unknown"]


def test_what_go_always_writes_is_there_though_nobody_said_it() -> None:
    definition = definition_of("v1", "Node")
    assert definition is not None
    node = zero(definition)
    assert node["spec"] == {}
    assert node["status"]["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 0}}
    made = completed(
        rules_for(kind_of("v1", "Pod")), {"status": {"conditions": [{"type": "Ready"}]}}
    )
    assert made["status"]["conditions"] == [
        {"type": "Ready", "status": "", "lastProbeTime": None, "lastTransitionTime": None}
    ]
