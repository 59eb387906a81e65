"""JSON patches do what an independent implementation does, but for the real server's liberties."""

import copy
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kq.sim.patch.merge import merge
from kq.sim.patch.operations import DoesNotApply, apply_operations

KEYS = st.sampled_from(["a", "b", "x/y", "m~n"])
SCALARS = st.one_of(st.text(max_size=2), st.integers(min_value=2, max_value=9))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=3)


def places(value: Any, pointer: str = "") -> list[str]:
    """A pointer to each part of a value."""
    found = []
    parts: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        parts = [(key.replace("~", "~0").replace("/", "~1"), each) for key, each in value.items()]
    elif isinstance(value, list):
        parts = [(str(index), each) for index, each in enumerate(value)]
    for key, each in parts:
        found += [f"{pointer}/{key}", *places(each, f"{pointer}/{key}")]
    return found


@st.composite
def patches(draw: st.DrawFn) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A document, and operations most of which apply to it."""
    document = draw(DOCUMENTS)
    present = document
    operations: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(min_value=1, max_value=4))):
        paths = places(present)
        if not paths:
            break
        at, other = draw(st.sampled_from(paths)), draw(st.sampled_from(paths))
        new = draw(st.sampled_from([at, f"{at.rpartition('/')[0]}/b"]))
        value = draw(VALUES)
        operation = draw(
            st.sampled_from(
                [
                    {"op": "add", "path": new, "value": value},
                    {"op": "remove", "path": at},
                    {"op": "replace", "path": at, "value": value},
                    {"op": "test", "path": at, "value": value},
                    {"op": "copy", "from": at, "path": other},
                    {"op": "move", "from": at, "path": other},
                ]
            )
        )
        operations.append(operation)
        try:
            present = jsonpatch.apply_patch(present, [operation])
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
            break
    return document, operations


@given(patches())
def test_patches_do_what_another_implementation_does(
    made: tuple[dict[str, Any], list[dict[str, Any]]],
) -> None:
    document, operations = made
    before = copy.deepcopy(document)
    try:
        expected = jsonpatch.apply_patch(document, operations)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
        expected = None
    try:
        result = apply_operations(document, operations)
    except DoesNotApply:
        result = None
    # A value may be moved into itself there, which means nothing.
    into_itself = any(
        each["op"] == "move" and each["path"].startswith(f"{each['from']}/") for each in operations
    )
    assert into_itself or result == expected
    assert document == before


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        pytest.param(
            {"op": "replace", "path": "/c", "value": 1},
            {"a": [1, 2], "c": 1},
            id="replaces nothing",
        ),
        pytest.param({"op": "add", "path": "/c"}, {"a": [1, 2], "c": None}, id="adds no value"),
        pytest.param(
            {"op": "add", "path": "/a/-1", "value": 9}, {"a": [1, 2, 9]}, id="from the end"
        ),
        pytest.param({"op": "remove", "path": "/a/-2"}, {"a": [2]}, id="removes from the end"),
        pytest.param(
            {"op": "add", "path": "x/c", "value": 1}, {"a": [1, 2], "c": 1}, id="no slash"
        ),
        pytest.param(
            {"op": "copy", "from": "/z", "path": "/c"},
            {"a": [1, 2], "c": None},
            id="copies nothing",
        ),
        pytest.param(
            {"op": "test", "path": "/z", "value": None}, {"a": [1, 2]}, id="nothing is null"
        ),
        pytest.param({"op": "replace", "path": "", "value": {"b": 1}}, {"b": 1}, id="the whole"),
    ],
)
def test_the_servers_liberties_are_taken(operation: dict[str, Any], result: Any) -> None:
    assert apply_operations({"a": [1, 2]}, [operation]) == result


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "test", "path": "/a", "value": True}, id="true is not one"),
        pytest.param({"op": "remove", "path": "/z"}, id="removes nothing"),
        pytest.param({"op": "move", "from": "/z", "path": "/b"}, id="moves nothing"),
        pytest.param({"op": "add", "path": "/z/b", "value": 1}, id="below nothing"),
        pytest.param({"op": "add", "path": "/a/b", "value": 1}, id="below a number"),
        pytest.param({"op": "add", "path": "/l/5", "value": 1}, id="beyond the end"),
        pytest.param({"op": "remove", "path": "/l/x"}, id="no position"),
        pytest.param({"op": "remove", "path": "/l/-"}, id="after the end"),
        pytest.param({"op": "replace", "path": "", "value": 1}, id="the whole by a number"),
        pytest.param({"op": "add", "value": 1}, id="nowhere"),
        pytest.param({"op": "bless", "path": "/a"}, id="no operation"),
    ],
)
def test_what_does_not_apply_is_refused(operation: dict[str, Any]) -> None:
    with pytest.raises(DoesNotApply):
        apply_operations({"a": 1, "l": [1]}, [operation])


def reference(target: Any, patch: Any) -> Any:
    """MergePatch of RFC 7386, as it stands there."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = reference(result.get(name), value)
    return result


NULLABLE = st.recursive(
    st.one_of(SCALARS, st.none()),
    lambda inner: st.one_of(
        st.lists(SCALARS, max_size=2), st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=8,
)


@given(DOCUMENTS, st.dictionaries(KEYS, NULLABLE, max_size=3))
def test_merge_patches_follow_the_rfc(document: dict[str, Any], patch: dict[str, Any]) -> None:
    assert merge(document, patch) == reference(document, patch)


def test_nulls_in_lists_stay_and_those_in_their_maps_go() -> None:
    assert merge({}, {"l": [None, {"a": None, "b": 1}]}) == {"l": [None, {"b": 1}]}
    assert merge({"l": {"a": 1}}, {"l": [{"a": None}]}) == {"l": [{"a": None}]}
