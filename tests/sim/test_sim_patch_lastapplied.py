"""What kubectl notes in an object when it applies."""

import json

import pytest

from kq.sim.patch.lastapplied import ANNOTATION, note_applied

SAID = {
    "kind": "ConfigMap",
    "data": {"a": "<b>"},
    "metadata": {"name": "c", "annotations": {ANNOTATION: "old", "x": "y"}},
}


def noted(manager: str, note: str = "old") -> str:
    obj = {"metadata": {"name": "c", "annotations": {ANNOTATION: note}}}
    note_applied(obj, SAID, manager)
    return str(obj["metadata"]["annotations"][ANNOTATION])


def test_a_note_says_what_was_applied_without_the_note() -> None:
    text = noted("kubectl")
    assert json.loads(text) == {**SAID, "metadata": {"name": "c", "annotations": {"x": "y"}}}
    assert text == (
        '{"data":{"a":"\\u003cb\\u003e"},"kind":"ConfigMap",'
        '"metadata":{"annotations":{"x":"y"},"name":"c"}}\n'
    )


@pytest.mark.parametrize(("manager", "note"), [("other", "old"), ("kubectl", "")])
def test_others_leave_it_and_none_is_begun(manager: str, note: str) -> None:
    assert noted(manager, note) == note


def test_an_object_without_annotations_stays() -> None:
    obj = {"metadata": {"name": "c"}}
    note_applied(obj, SAID, "kubectl")
    assert obj == {"metadata": {"name": "c"}}
