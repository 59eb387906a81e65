import copy
from typing import Any

import jsonpatch
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kq.core.patch import Patch, escaped, patch_at
from kq.errors import DecodeError

KEYS = st.sampled_from(["a", "b", "a/b", "a~b", "~1", "~0/", "", "0", "-", "ключ"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=5)


@given(target=OBJECTS, body=OBJECTS)
def test_the_operations_do_what_apply_does(target: dict[str, Any], body: dict[str, Any]) -> None:
    before = copy.deepcopy(target)
    expected = Patch(body).apply(target)
    operations = Patch(body).to_json_patch(target)
    assert exactly(jsonpatch.apply_patch(target, operations)) == exactly(expected)
    assert exactly(target) == exactly(before)
    assert {each["op"] for each in operations} <= {"add", "replace", "remove"}


@given(target=OBJECTS, body=OBJECTS)
def test_a_patch_changes_nothing_the_second_time(
    target: dict[str, Any], body: dict[str, Any]
) -> None:
    patch = Patch(body)
    assert patch.is_noop(patch.apply(target))
    assert patch.is_noop(target) == (exactly(patch.apply(target)) == exactly(target))


@given(
    target=OBJECTS,
    labels=st.dictionaries(KEYS, st.text(max_size=3) | st.none(), max_size=4),
    keys=st.lists(KEYS, max_size=3),
)
def test_a_patch_at_a_place_is_the_patch_of_that_place(
    target: dict[str, Any], labels: dict[str, Any], keys: list[str]
) -> None:
    body = labels
    for key in reversed(keys):
        body = {key: body}
    assume(not any_list_on_the_way(target, keys))
    operations = patch_at(target, keys, labels)
    assert exactly(jsonpatch.apply_patch(target, operations)) == exactly(Patch(body).apply(target))


def test_paths_lead_through_indexes_of_lists() -> None:
    target = {"spec": {"groups": [{"template": {}}, {"template": {"metadata": None}}]}}
    path = ("spec", "groups", 1, "template", "metadata", "labels")
    operations = patch_at(target, path, {"x/y": "1"})
    assert operations == [
        {"op": "add", "path": "/spec/groups/1/template/metadata", "value": {}},
        {"op": "add", "path": "/spec/groups/1/template/metadata/labels", "value": {}},
        {"op": "add", "path": "/spec/groups/1/template/metadata/labels/x~1y", "value": "1"},
    ]
    patched = jsonpatch.apply_patch(target, operations)
    assert patched["spec"]["groups"][1] == {"template": {"metadata": {"labels": {"x/y": "1"}}}}


@pytest.mark.parametrize("path", [("groups", 2), ("groups", -1), ("groups", "x"), ("groups",)])
def test_a_path_that_a_list_does_not_have_is_an_error(path: tuple[str | int, ...]) -> None:
    with pytest.raises(DecodeError):
        patch_at({"groups": [{}, {}]}, path, {"a": 1})


@pytest.mark.parametrize(
    ("target", "body", "operations"),
    [
        pytest.param({}, {"a": None}, [], id="absent stays absent"),
        pytest.param({"a": None}, {"a": None}, [{"op": "remove", "path": "/a"}], id="null goes"),
        pytest.param(
            {"a": 1},
            {"a": True},
            [{"op": "replace", "path": "/a", "value": True}],
            id="true is not 1",
        ),
        pytest.param({"a": 1}, {"a": 1}, [], id="equal"),
        pytest.param(
            {"a": [1]},
            {"a": [True]},
            [{"op": "replace", "path": "/a", "value": [True]}],
            id="lists whole",
        ),
        pytest.param(
            {"a": None}, {"a": {}}, [{"op": "add", "path": "/a", "value": {}}], id="null parent"
        ),
        pytest.param(
            {"a": "x"}, {"a": {}}, [{"op": "replace", "path": "/a", "value": {}}], id="text for map"
        ),
    ],
)
def test_operations(target: dict[str, Any], body: dict[str, Any], operations: list[Any]) -> None:
    assert Patch(body).to_json_patch(target) == operations


def test_the_tilde_is_escaped_before_the_slash() -> None:
    assert escaped("~/") == "~0~1"
    assert escaped("~1") == "~01"


def test_merged_does_one_patch_and_then_the_other() -> None:
    first = Patch({"a": {"x": 1, "y": 2}, "b": 1, "c": {"z": 1}})
    second = Patch({"a": {"x": None}, "b": None, "c": 3})
    target = {"a": {"x": 0, "w": 0}, "b": 0, "d": 4}
    assert first.merged(second).apply(target) == second.apply(first.apply(target))


def exactly(value: Any) -> Any:
    """The value in a form in which True and 1 differ."""
    if isinstance(value, dict):
        return {key: exactly(each) for key, each in value.items()}
    if isinstance(value, list):
        return [exactly(each) for each in value]
    return (type(value).__name__, value)


def any_list_on_the_way(target: Any, keys: list[str]) -> bool:
    for key in keys:
        target = target.get(key) if isinstance(target, dict) else None
        if isinstance(target, list):
            return True
    return False
