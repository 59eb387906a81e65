"""The store and the replica against a plain model of what they should hold."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kq.core.kinds import JOB
from kq.errors import DecodeError
from kq.kube.replica import Change, Replica, Unreadable, read_page
from kq.kube.store import Store, key_of
from kq.kube.watch import Event, WatchState


@dataclass(frozen=True, slots=True)
class View:
    namespace: str
    name: str
    uid: str = "u"
    resource_version: str = "1"
    colours: tuple[str, ...] = ()


def colours(view: View) -> Iterable[str]:
    return view.colours


def test_a_view_is_found_by_its_namespace_and_name() -> None:
    store: Store[View] = Store()
    namespaced, cluster = View("ns", "a"), View("", "a")
    store.put("ns/a", namespaced)
    store.put("a", cluster)
    assert store.get("ns", "a") is namespaced
    assert store.get("", "a") is cluster
    assert store.get("other", "a") is None
    assert len(store) == 2


def test_what_a_store_returns_is_a_copy() -> None:
    store: Store[View] = Store({"colour": colours})
    store.put("ns/a", View("ns", "a", colours=("red",)))
    store.values().clear()
    store.by_index("colour", "red").clear()
    assert len(store.values()) == len(store.by_index("colour", "red")) == 1


def test_an_unknown_index_is_an_error() -> None:
    with pytest.raises(KeyError):
        Store[View]().by_index("size", "1")


def test_an_index_function_that_raises_changes_nothing() -> None:
    def strict(view: View) -> Iterable[str]:
        if view.uid == "bad":
            raise ValueError("bad view")
        return [view.uid]

    store: Store[View] = Store({"colour": colours, "strict": strict})
    old = View("ns", "a", colours=("red",))
    store.put("ns/a", old)
    with pytest.raises(ValueError, match="bad view"):
        store.put("ns/a", View("ns", "a", uid="bad", colours=("blue",)))
    assert store.get("ns", "a") is old
    assert store.by_index("colour", "blue") == []
    assert store.by_index("colour", "red") == [old]


def test_a_store_keeps_nothing_of_what_went() -> None:
    store: Store[View] = Store({"colour": colours})
    for number in range(20_000):
        store.put(f"ns/{number}", View("ns", str(number), colours=(f"c{number}",)))
        store.delete(f"ns/{number}")
    assert len(store) == 0
    assert store._indexes == {"colour": {}}


NAMES = st.sampled_from(["a", "b", "c"])
COLOURS = st.lists(st.sampled_from(["red", "green", "blue"]), max_size=3).map(tuple)
PUTS = st.builds(lambda name, held: View("ns", name, colours=held), NAMES, COLOURS)


@given(st.lists(PUTS | NAMES, max_size=40))
def test_indexes_always_equal_a_search_through_all_views(steps: list[View | str]) -> None:
    store: Store[View] = Store({"colour": colours})
    model: dict[str, View] = {}
    for step in steps:
        if isinstance(step, View):
            assert store.put(f"ns/{step.name}", step) == model.get(f"ns/{step.name}")
            model[f"ns/{step.name}"] = step
        else:
            assert store.delete(f"ns/{step}") == model.pop(f"ns/{step}", None)
        assert {key_of(v.namespace, v.name): v for v in store.values()} == model
        for colour in ("red", "green", "blue"):
            found = {view.name for view in store.by_index("colour", colour)}
            assert found == {view.name for view in model.values() if colour in view.colours}
    assert all(bucket for index in store._indexes.values() for bucket in index.values())


def decode(raw: bytes) -> View | None:
    spoken: dict[str, Any] = msgspec.json.decode(raw)
    meta = spoken["metadata"]
    if spoken.get("foreign"):
        return None
    held = tuple(spoken.get("colours", ()))
    return View(meta["namespace"], meta["name"], meta["uid"], meta["resourceVersion"], held)


def item(name: str, version: str, uid: str = "u", **fields: Any) -> msgspec.Raw:
    meta = {"namespace": "ns", "name": name, "uid": uid, "resourceVersion": version}
    return msgspec.Raw(json.dumps({"kind": "Job", "metadata": meta, **fields}).encode())


def event(type_: str, raw: msgspec.Raw) -> Event:
    line = b'{"type":"%s","object":%s}' % (type_.encode(), bytes(memoryview(raw)))
    said = WatchState(JOB, "1").line(line)
    assert isinstance(said, Event)
    return said


def short(change: Change[View]) -> tuple[str | None, str | None]:
    def text(view: View | None) -> str | None:
        return view and f"{view.name}@{view.resource_version}"

    return text(change.old), text(change.new)


def test_an_equal_version_is_no_change() -> None:
    replica = Replica(decode)
    assert replica.list_item(item("a", "1"), initial=True)
    assert replica.list_item(item("a", "1"), initial=False) == []
    assert replica.apply(event("MODIFIED", item("a", "1"))) == []


def test_a_second_object_of_the_same_name_is_two_changes() -> None:
    replica = Replica(decode)
    replica.list_item(item("a", "1"), initial=True)
    changes = replica.apply(event("ADDED", item("a", "2", uid="other")))
    assert [short(change) for change in changes] == [("a@1", None), (None, "a@2")]


def test_a_deletion_needs_no_readable_object() -> None:
    replica = Replica(decode)
    replica.list_item(item("a", "1"), initial=True)
    gone = item("a", "2", colours=7)
    assert [short(change) for change in replica.apply(event("DELETED", gone))] == [("a@1", None)]


@pytest.mark.parametrize(
    ("raw", "key"),
    [(item("a", "1", colours=7), "ns/a"), (msgspec.Raw(b'{"metadata": 7}'), "")],
)
def test_an_unreadable_object_is_named_where_it_can_be(raw: msgspec.Raw, key: str) -> None:
    with pytest.raises(Unreadable) as caught:
        Replica(decode).list_item(raw, initial=True)
    assert caught.value.key == key


OBJECTS = st.dictionaries(
    NAMES, st.tuples(st.integers(1, 3), st.sampled_from(["u", "w"]), st.booleans())
)


@given(st.lists(OBJECTS, min_size=1, max_size=6))
def test_changes_played_in_order_give_what_the_last_list_says(
    lists: list[dict[str, tuple[int, str, bool]]],
) -> None:
    replica = Replica(decode)
    played: dict[str, View] = {}
    for listed in lists:
        replica.begin_list()
        changes = []
        for name, (version, uid, is_foreign) in listed.items():
            # One version never stands for two states.
            raw = item(name, f"{version}{uid}{is_foreign}", uid, foreign=is_foreign)
            changes += replica.list_item(raw, initial=False)
        changes += replica.end_list()
        for change in changes:
            name = (change.old or change.new).name  # type: ignore[union-attr]
            assert played.get(name) == change.old
            played.pop(name, None)
            if change.new is not None:
                played[name] = change.new
        expected = {name: uid for name, (_, uid, is_foreign) in listed.items() if not is_foreign}
        assert {view.name: view.uid for view in replica.store.values()} == expected
        assert {name: view.uid for name, view in played.items()} == expected


def page(**fields: Any) -> bytes:
    whole = {"kind": "JobList", "metadata": {"resourceVersion": "7"}, "items": []} | fields
    return json.dumps(whole).encode()


def test_a_page_tells_its_version_and_where_it_goes_on() -> None:
    read = read_page(page(metadata={"resourceVersion": "7", "continue": "t"}, items=[{"a": 1}]))
    assert (read.version, read.token, len(read.items)) == ("7", "t", 1)


def test_a_page_without_items_is_empty() -> None:
    assert read_page(page(items=None)).items == []


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"<html>", id="html"),
        pytest.param(page()[:-5], id="cut off"),
        pytest.param(page(kind="Status"), id="status"),
        pytest.param(page(metadata={"resourceVersion": ""}), id="no version"),
        pytest.param(page(metadata={}), id="no metadata"),
        pytest.param(b'{"kind": "JobList", "metadata": {"resourceVersion": "7"}}', id="no items"),
    ],
)
def test_what_is_no_list_is_an_error_and_never_an_empty_list(body: bytes) -> None:
    with pytest.raises(DecodeError):
        read_page(body)
