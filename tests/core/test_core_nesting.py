"""Objects nested more deeply than a decoder can follow are cut, not lost."""

import json

import msgspec
import pytest
from builders import as_bytes
from hypothesis import given
from hypothesis import strategies as st

from kq.core import views
from kq.core.kinds import QUEUE_UNIT
from kq.core.nesting import MAX_NESTING, shallow
from kq.kube.replica import read_page
from kq.kube.watch import Event, WatchState

values = st.recursive(
    st.one_of(st.none(), st.integers(), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
)
TOO_DEEP = 5000


def deep(levels: int, leaf: str = '"x"') -> str:
    return '{"a":' * levels + leaf + "}" * levels


def unit(template: str) -> bytes:
    meta = as_bytes({"namespace": "team-a", "name": "deep", "uid": "u", "resourceVersion": "7"})
    main = f'{{"name":"main","count":2,"template":{template}}}'
    spec = f'{{"podSet":[{main}],"queue":"team-a"}}'
    head = f'"apiVersion":"{QUEUE_UNIT.api_version}","kind":"QueueUnit"'
    return f'{{{head},"metadata":{meta.decode()},"spec":{spec}}}'.encode()


@given(values)
def test_what_is_not_deep_stays_as_it_is(value):
    raw = msgspec.json.encode(value)
    assert shallow(raw) == raw


@pytest.mark.parametrize("levels", [MAX_NESTING + 1, TOO_DEEP])
@pytest.mark.parametrize("leaf", ['"x"', '"} ] \\" {["', "[[{}]]"])
def test_what_is_too_deep_is_null(levels, leaf):
    found = json.loads(shallow(deep(levels, leaf).encode()))
    for _ in range(MAX_NESTING - 1):
        found = found["a"]
    assert found == {"a": None}


def test_a_unit_nested_too_deeply_is_read_without_its_depths():
    found = views.unit(unit(deep(TOO_DEEP)))
    assert (found.key, found.queue, found.pod_sets[0].count) == ("team-a/deep", "team-a", 2)


def test_a_watch_goes_on_after_an_object_nested_too_deeply():
    state = WatchState(QUEUE_UNIT, "1")
    said = state.line(b'{"type":"ADDED","object":' + unit(deep(TOO_DEEP)) + b"}")
    assert isinstance(said, Event)
    assert (said.meta.key, state.version) == ("team-a/deep", "7")
    assert views.unit(said.raw).queue == "team-a"


def test_a_page_with_an_object_nested_too_deeply_has_all_its_items():
    items = b",".join([unit(deep(TOO_DEEP)), unit("{}")])
    head = b'"apiVersion":"v1","kind":"QueueUnitList","metadata":{"resourceVersion":"9"}'
    page = read_page(b"{" + head + b',"items":[' + items + b"]}")
    assert [views.unit(each).queue for each in page.items] == ["team-a", "team-a"]
    assert page.version == "9"


def test_a_deep_value_where_an_amount_belongs_is_a_defect():
    container = f'{{"name":"c","resources":{{"requests":{{"cpu":{deep(TOO_DEEP)}}}}}}}'
    found = views.unit(unit(f'{{"spec":{{"containers":[{container}]}}}}'))
    assert found.defect is not None
