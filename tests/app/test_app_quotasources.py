"""Beside which Queue the faults of quotas are told, and what Queues say of them (spec 11.6)."""

from typing import Any

import pytest
from builders import as_bytes, stamp

from kq.app.quotasources import SOURCES, Source
from kq.core.options import QuotaOptions
from kq.kube.store import Store, key_of
from kq.quota import QUOTAS

Json = dict[str, Any]
BAD = {"cpu": "x"}
TEXT = "cpu in {} is x, not a quantity"


def meta(name: str, namespace: str = "team-a", minute: float = 0, **labels: str) -> Json:
    return {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-of-{name}",
        "resourceVersion": "1",
        "creationTimestamp": stamp(minute),
        "labels": {f"quota.scheduling.koordinator.sh/{key}": text for key, text in labels.items()},
    }


def elastic(name: str, **labels: str) -> Json:
    return {"metadata": meta(name, **labels), "spec": {"max": BAD}}


def tree(name: str, root: str, minute: float) -> Json:
    spec = {"root": {"name": root, "children": [{"name": "a", "max": BAD}]}}
    return {"metadata": meta(name, "kube-system", minute), "spec": spec}


def resource(name: str) -> Json:
    return {"metadata": meta(name), "spec": {"hard": BAD}}


OBJECTS: dict[str, list[Json]] = {
    "ElasticQuotaV2": [elastic("top"), elastic("a", parent="top"), elastic("apart")],
    "ElasticQuota": [tree("old", "root", 0), tree("young", "other", 5)],
    "ResourceQuota": [resource("one"), resource("two")],
}


def stored(mode: str) -> tuple[Source, Store[Any]]:
    source = SOURCES[mode]
    store: Store[Any] = Store(source.indexes)
    for body in OBJECTS[mode]:
        view = source.decode(as_bytes(body))
        assert view is not None
        store.put(key_of(view.namespace, view.name), view)
    return source, store


@pytest.mark.parametrize(
    ("mode", "queue", "expected"),
    [
        pytest.param("ElasticQuotaV2", "a", [("a", [TEXT.format("max")])], id="its own"),
        pytest.param("ElasticQuotaV2", "nothing", [], id="of no quota"),
        pytest.param(
            "ElasticQuotaV2",
            "top",
            [
                (
                    "top",
                    [
                        TEXT.format("max"),
                        "quota top is the parent of a, but is not marked by label "
                        'quota.scheduling.koordinator.sh/is-parent: "true"',
                    ],
                )
            ],
            id="with what its children make wrong",
        ),
        pytest.param(
            "ElasticQuota",
            "root",
            [
                ("young", ["tree old is older and counts: this one is ignored"]),
                ("old", [f"root/a: {TEXT.format('max')}"]),
            ],
            id="all trees at the root of one",
        ),
        pytest.param("ElasticQuota", "root-a", [], id="and at no other node"),
        pytest.param(
            "ResourceQuota",
            "team-a",
            [(name, [TEXT.format("hard")]) for name in ("one", "two")],
            id="all of a namespace",
        ),
        pytest.param("ResourceQuota", "team-b", [], id="of no other namespace"),
    ],
)
def test_beside_which_queue_an_object_is_told_what_is_wrong_with_it(
    mode: str, queue: str, expected: list[tuple[str, list[str]]]
) -> None:
    source, store = stored(mode)
    picture = QUOTAS[mode](QuotaOptions(), store.values())
    found = [(each.about.name, list(each.texts)) for each in source.faults(queue, store, picture)]
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize(
    ("mode", "quota", "expected"),
    [
        pytest.param("ElasticQuotaV2", "a", [TEXT.format("max")], id="of an ElasticQuota"),
        pytest.param("ElasticQuota", "root/a", [f"root/a: {TEXT.format('max')}"], id="of a node"),
        pytest.param("ResourceQuota", "team-a/two", [TEXT.format("hard")], id="of a ResourceQuota"),
    ],
)
def test_by_which_name_queues_find_what_is_wrong(
    mode: str, quota: str, expected: list[str]
) -> None:
    """That which the chain of limits has for it."""
    source, store = stored(mode)
    assert list(source.texts(store.values())[quota]) == expected
