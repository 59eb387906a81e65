"""Storage: one version counter, order, history, and the state of any remembered version."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kq.sim.api import builtin
from kq.sim.api.kinds import Kind
from kq.sim.api.storage import Change, Compacted, Storage


def kind_of(plural: str) -> Kind:
    kind = builtin.registry().find("", "v1", plural)
    assert kind is not None
    return kind


MAPS = kind_of("configmaps")
PODS = kind_of("pods")


def config_map(name: str, namespace: str = "a", **metadata: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": namespace, "uid": name, **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


def names(stored: Sequence[Any]) -> list[str]:
    return [each.place for each in stored]


def test_every_write_of_any_kind_has_the_next_version() -> None:
    storage = Storage()
    first = storage.put(MAPS, config_map("x"))
    second = storage.put(PODS, {**config_map("p"), "kind": "Pod"})
    third = storage.remove(MAPS, first.read())
    assert [each.version for each in (first, second, third)] == [2, 3, 4]
    assert storage.version == 4
    assert third.read()["metadata"]["resourceVersion"] == "4"


def test_objects_come_in_the_order_of_namespace_and_name_as_the_real_store_keeps_them() -> None:
    storage = Storage()
    for namespace, name in (("b", "a"), ("a", "b"), ("a-b", "a"), ("a", "a.b"), ("a", "a")):
        storage.put(MAPS, config_map(name, namespace))
    assert names(storage.list(MAPS)) == ["a-b/a", "a/a", "a/a.b", "a/b", "b/a"]
    assert names(storage.list(MAPS, "a")) == ["a/a", "a/a.b", "a/b"]


def test_what_is_handed_out_can_be_changed_without_harm() -> None:
    storage = Storage()
    taken = storage.put(MAPS, config_map("x")).read()
    taken["metadata"]["name"] = "y"
    kept = storage.get(MAPS, "a", "x")
    assert kept is not None
    assert kept.read()["metadata"]["name"] == "x"


def test_events_tell_what_was_before() -> None:
    storage = Storage()
    storage.put(MAPS, config_map("x"))
    storage.put(MAPS, config_map("x", labels={"a": "b"}))
    storage.remove(MAPS, config_map("x"))
    events = storage.events_since(MAPS.key, 0)
    assert [each.change for each in events] == [Change.ADDED, Change.MODIFIED, Change.DELETED]
    assert [each.before and each.before.version for each in events] == [None, 2, 3]
    assert [each.version for each in storage.events_since(MAPS.key, 3)] == [4]


def test_more_events_than_are_remembered_are_forgotten() -> None:
    storage = Storage(history=10)
    for index in range(25):
        storage.put(MAPS, config_map(f"x{index}"))
    with pytest.raises(Compacted) as forgotten:
        storage.events_since(MAPS.key, 1)
    assert len(storage.events_since(MAPS.key, forgotten.value.oldest)) >= 10


def test_compaction_forgets_also_for_kinds_that_nothing_happened_to_yet() -> None:
    storage = Storage()
    storage.put(MAPS, config_map("x"))
    storage.compact()
    assert storage.events_since(MAPS.key, 2) == []
    assert storage.events_since(PODS.key, 2) == []
    for kind in (MAPS, PODS):
        with pytest.raises(Compacted):
            storage.events_since(kind.key, 1)


def test_a_subscriber_is_called_after_each_change_of_its_kind_until_it_leaves() -> None:
    storage = Storage()
    calls: list[int] = []
    leave = storage.subscribe(MAPS.key, lambda: calls.append(storage.version))
    storage.put(MAPS, config_map("x"))
    storage.put(PODS, {**config_map("p"), "kind": "Pod"})
    leave()
    storage.put(MAPS, config_map("y"))
    assert calls == [2]


steps = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from(["n", "m"]), st.booleans()), max_size=30
)


@given(steps, st.integers(min_value=0, max_value=30))
def test_the_state_of_any_remembered_version_is_what_it_was(
    writes: list[tuple[str, str, bool]], compacted: int
) -> None:
    storage = Storage()
    states = {storage.version: names(storage.list(MAPS))}
    for name, namespace, keeps in writes:
        stored = storage.get(MAPS, namespace, name)
        if keeps:
            storage.put(MAPS, config_map(name, namespace))
        elif stored is not None:
            storage.remove(MAPS, stored.read())
        states[storage.version] = names(storage.list(MAPS))
    storage.compact(min(compacted, storage.version))
    for version, state in states.items():
        if version < compacted and version < storage.version:
            with pytest.raises(Compacted):
                storage.list(MAPS, at=version)
        else:
            assert names(storage.list(MAPS, at=version)) == state
