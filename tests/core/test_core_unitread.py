"""The quick reader of units and the patient one see the same."""

import pytest
from builders import as_bytes
from hypothesis import given
from hypothesis import strategies as st

from kq.core import keys, podviews, views

texts = st.sampled_from(["", "a", "team-a", "Ünit", "True", "False", "Enqueued", "Reserved"])
times = st.sampled_from(
    [None, "", "2026-03-01T12:00:00Z", "2026-03-01 12:00:00.5 +0800 CST m=+1", "soon"]
)
numbers = st.one_of(st.none(), st.integers(-3, 9))
amounts = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), st.sampled_from(["1", "500m", "x", "2Gi"])
)
template = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.just({"labels": {"a": "b"}}),
        "spec": st.fixed_dictionaries(
            {"containers": st.lists(st.builds(lambda a: {"resources": {"requests": a}}, amounts))}
        ),
    },
)
pod_sets = st.lists(
    st.fixed_dictionaries(
        {"name": texts}, optional={"count": numbers, "minCount": numbers, "template": template}
    ),
    min_size=1,
    max_size=3,
)
conditions = st.lists(
    st.fixed_dictionaries(
        {"type": texts, "status": texts},
        optional={"reason": texts, "message": texts, "lastTransitionTime": texts},
    ),
    max_size=2,
)
grants = st.lists(
    st.fixed_dictionaries(
        {"name": texts},
        optional={
            "replicas": numbers,
            "running": numbers,
            "resources": amounts,
            "reclaimState": st.one_of(
                st.none(), st.fixed_dictionaries({}, optional={"replicas": numbers})
            ),
        },
    ),
    max_size=2,
)
metadata = st.fixed_dictionaries(
    {"name": st.just("train")},
    optional={
        "namespace": texts,
        "uid": texts,
        "resourceVersion": texts,
        "creationTimestamp": times,
        "deletionTimestamp": times,
        "labels": st.one_of(st.none(), st.dictionaries(texts, texts)),
        "annotations": st.dictionaries(st.sampled_from(["a", keys.LAST_APPLIED]), texts),
        "ownerReferences": st.lists(st.fixed_dictionaries({"name": texts, "uid": texts})),
        "managedFields": st.just([{"manager": "x"}]),
    },
)
specs = st.fixed_dictionaries(
    {"podSet": pod_sets},
    optional={
        "consumerRef": st.fixed_dictionaries({"name": texts}, optional={"uid": texts}),
        "priority": numbers,
        "priorityClassName": texts,
        "queue": texts,
        "resource": amounts,
        "active": st.sampled_from([None, True, False]),
        "maximumExecutionTimeSeconds": numbers,
    },
)
statuses = st.fixed_dictionaries(
    {},
    optional={
        "phase": texts,
        "message": texts,
        "attempts": numbers,
        "lastAllocateTime": times,
        "lastUpdateTime": times,
        "admissions": grants,
        "podState": st.fixed_dictionaries({}, optional={"running": numbers, "pending": numbers}),
        "conditions": conditions,
        "accumulatedPastExecutionTimeSeconds": numbers,
        "requeueState": st.one_of(
            st.none(), st.fixed_dictionaries({}, optional={"count": numbers, "requeueAt": times})
        ),
    },
)


@given(metadata, specs, statuses)
def test_the_quick_and_the_patient_reader_see_the_same_unit(meta, spec, status):
    raw = as_bytes({"metadata": meta, "spec": spec, "status": status})
    assert views.unit(raw) == views.unit_of_any_form(raw)


@pytest.mark.parametrize(
    "part",
    [
        {"spec": {"podSet": [{"name": 3, "count": "two", "template": []}], "priority": "high"}},
        {"spec": {"podSet": [None, {"name": "main"}]}},
        {"spec": {"podSet": [{"name": "main"}]}, "status": {"attempts": "x", "phase": 7}},
        {"spec": {"podSet": [{"name": "main"}]}, "status": None},
    ],
    ids=["wrong types", "null among pod sets", "wrong types of status", "no status"],
)
def test_a_part_of_another_type_hides_no_other(part):
    body = {"metadata": {"name": "train", "uid": "u"}, "spec": {}, **part}
    found = views.unit(as_bytes(body))
    assert (found.name, found.uid, len(found.pod_sets)) == ("train", "u", 1)


def test_a_pod_with_a_part_of_another_type_still_counts():
    container = {"name": "main", "resources": {"requests": {"cpu": "2"}}}
    body = {
        "metadata": {
            "name": "p",
            "uid": "u",
            "labels": False,
            "ownerReferences": [{"kind": "Job", "name": "t", "uid": "j", "controller": True}],
        },
        "spec": {"containers": [None, {**container, "restartPolicy": 3}], "initContainers": 7},
        "status": None,
    }
    found = podviews.pod_decoder({"Job"}, counts_foreign=True)(as_bytes(body))
    assert found is not None
    assert (found.owner.uid, found.phase, found.request.to_wire()) == ("j", "Pending", {"cpu": "2"})
