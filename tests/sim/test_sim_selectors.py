"""Selectors: what they match; how they are refused is compared with a real server elsewhere."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_sim_storage import PODS

from kq.sim.api import builtin
from kq.sim.read.fields import fields_of, parse_fields
from kq.sim.read.labels import parse_labels
from kq.sim.read.selectors import Selection, label_selector

LABELS = {"a": "1", "b": "two", "c": ""}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("", True),
        ("a=1", True),
        ("a==1", True),
        ("a!=1", False),
        ("d!=1", True),
        ("a=2", False),
        ("a", True),
        ("d", False),
        ("!d", True),
        ("!a", False),
        ("a in (1,2)", True),
        ("a in (2, 3)", False),
        ("d in (1)", False),
        ("d notin (1)", True),
        ("a notin (1)", False),
        ("c=", True),
        ("c in ()", True),
        ("a>0", True),
        ("a<0", False),
        ("b>0", False),
        ("d<1", False),
        ("a=1,b=two,!d", True),
        ("a=1,b=three", False),
        (" a = 1 , b in ( two ) ", True),
        ("example.com/x=1", False),
    ],
)
def test_label_selectors(selector: str, matches: bool) -> None:
    assert Selection(parse_labels(selector)).matches(LABELS, {}) is matches


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        (None, True),
        ({}, True),
        ({"matchLabels": {"a": "1"}}, True),
        ({"matchLabels": {"a": "2"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, False),
        ({"matchExpressions": [{"key": "d", "operator": "NotIn", "values": ["1"]}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "d", "operator": "DoesNotExist"}]}, True),
        (
            {
                "matchLabels": {"a": "1"},
                "matchExpressions": [{"key": "b", "operator": "DoesNotExist"}],
            },
            False,
        ),
    ],
    ids=str,
)
def test_selectors_of_objects(selector: Any, matches: bool) -> None:
    assert Selection(label_selector(selector)).matches(LABELS, {}) is matches


POD = {
    "metadata": {"name": "p", "namespace": "n"},
    "spec": {"nodeName": "node", "hostNetwork": True},
    "status": {"phase": "Running"},
}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("metadata.name=p,metadata.namespace=n", True),
        ("metadata.name!=p", False),
        ("spec.nodeName=node,status.phase=Running", True),
        ("status.phase!=Succeeded,status.phase!=Failed", True),
        ("spec.nodeName=", False),
        ("status.podIP=", True),
        ("spec.hostNetwork=true", True),
    ],
)
def test_field_selectors_of_pods(selector: str, matches: bool) -> None:
    selection = Selection(fields=parse_fields(PODS, selector))
    assert selection.matches({}, fields_of(PODS, POD)) is matches


def test_events_are_found_by_what_they_are_about() -> None:
    events = builtin.registry().find("", "v1", "events")
    assert events is not None
    event = {
        "metadata": {"name": "e", "namespace": "n"},
        "involvedObject": {"kind": "Job", "name": "j", "uid": "u"},
        "source": {"component": "kq"},
        "type": "Warning",
    }
    text = "involvedObject.kind=Job,involvedObject.uid=u,source=kq,type!=Normal"
    assert Selection(fields=parse_fields(events, text)).matches({}, fields_of(events, event))


words = st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,8}[A-Za-z0-9])?", fullmatch=True)


@given(st.dictionaries(words, words, max_size=4))
def test_labels_meet_the_selector_that_states_them(labels: dict[str, str]) -> None:
    labels = {key: value for key, value in labels.items() if key not in ("in", "notin")}
    text = ",".join(f"{key}={value}" for key, value in labels.items())
    assert Selection(parse_labels(text)).matches(labels, {})
    for key in labels:
        fewer = {each: value for each, value in labels.items() if each != key}
        assert not Selection(parse_labels(text)).matches(fewer, {})
