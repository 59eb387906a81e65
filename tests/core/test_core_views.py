"""Objects as the API server sends them, read into views; one bad part hides no other."""

import msgspec
import pytest
from builders import NOW, amounts, as_bytes, at, condition
from hypothesis import given
from hypothesis import strategies as st

from kq.core import classviews, keys, podviews, quotaviews, views
from kq.core.model import UNTOLD, Consumer, Grant, Phase
from kq.errors import DecodeError

META = {
    "namespace": "team-a",
    "name": "train",
    "uid": "u",
    "resourceVersion": "7",
    "creationTimestamp": "2026-03-01T12:00:00Z",
}


def body(meta=None, **parts):
    return as_bytes({"metadata": {**META, **(meta or {})}, **parts})


def unit_of(meta=None, spec=None, status=None):
    return views.unit(body(meta, spec=spec or {}, status=status or {}))


def container(**requests):
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}}


# -- units -------------------------------------------------------------------------------------


def test_a_unit_as_the_manager_left_it():
    found = unit_of(
        {
            "labels": {keys.QUOTA_LABEL: "q"},
            "annotations": {keys.JOB_CREATION: "2026-03-01T12:00:00Z", keys.LAST_APPLIED: "{}"},
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "t", "uid": "j"}],
        },
        {
            "consumerRef": {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": "t",
                "namespace": "team-a",
                "uid": "j",
            },
            "priority": 5,
            "priorityClassName": "gold",
            "queue": "q",
            "resource": {"cpu": "4"},
            "podSet": [{"name": "main", "count": 2, "minCount": 1, "template": container(cpu="2")}],
        },
        {
            "phase": "Running",
            "message": "Running",
            "attempts": 2,
            "lastAllocateTime": "2026-03-01T12:01:00Z",
            "lastUpdateTime": "2026-03-01T12:02:00Z",
            "admissions": [
                {"name": "main", "replicas": 2, "running": 1, "resources": {"cpu": "4"}}
            ],
            "podState": {"running": 1, "pending": 1},
            "conditions": [{"type": "Admitted", "status": "True", "reason": "Admitted"}],
        },
    )
    assert (found.key, found.uid, found.resource_version) == ("team-a/train", "u", "7")
    assert (found.created, found.allocated, found.updated) == (NOW, at(1), at(2))
    assert found.labels == {keys.QUOTA_LABEL: "q"}
    assert found.annotations == {keys.JOB_CREATION: "2026-03-01T12:00:00Z"}
    assert (found.owner_uid, found.job_uid) == ("j", "j")
    assert found.consumer == Consumer("batch/v1", "Job", "t", "team-a", "j")
    assert (found.priority, found.priority_class, found.queue) == (5, "gold", "q")
    assert (found.phase, found.attempts, found.message) == (Phase.RUNNING, 2, "Running")
    assert found.grants == (Grant("main", 2, 1, amounts(cpu=4)),)
    assert (found.pods_running, found.pods_pending) == (1, 1)
    (role,) = found.pod_sets
    assert (role.name, role.count, role.wanted, role.min_count) == ("main", 2, 2, 1)
    assert role.template.request == amounts(cpu=2)
    assert found.condition("Admitted").status
    assert found.holds_quota
    assert not found.finished


def test_a_unit_of_which_nothing_is_said():
    """Spec 2.4, 22.1."""
    found = unit_of()
    assert (found.phase, found.raw_phase) == (Phase.ENQUEUED, "")
    assert found.consumer is None
    assert found.priority is None
    assert found.active
    assert (found.pod_sets, found.grants, found.conditions) == ((), (), ())
    assert found.job_uid == ""
    assert views.unit(body(spec=None, status=None)) == found


@pytest.mark.parametrize(
    ("text", "phase"),
    [
        ("", Phase.ENQUEUED),
        *((each.value, each) for each in Phase),
        ("SchedReady", Phase.DEQUEUED),
        ("SchedSucceed", Phase.DEQUEUED),
        ("SchedFailed", Phase.ENQUEUED),
        ("Preempted", Phase.DEQUEUED),
        ("enqueued", None),
        ("Paused", None),
    ],
)
def test_phases(text, phase):
    """Spec 9.1-9.3."""
    found = unit_of(status={"phase": text})
    assert (found.phase, found.raw_phase) == (phase, text)


@pytest.mark.parametrize(
    ("spec", "names", "request_"),
    [
        pytest.param(
            {"podSet": [{"template": container(cpu=1)}], "request": {"cpu": "9"}},
            ["main"],
            amounts(cpu=1),
            id="podSet goes first",
        ),
        pytest.param(
            {"podSet": [], "request": {"cpu": "3"}, "resource": {"cpu": "9"}},
            ["koord-queue/default-requirement"],
            amounts(cpu=3),
            id="then request",
        ),
        pytest.param(
            {"resource": {"cpu": "500m", "memory": "1Gi"}},
            ["koord-queue/default-requirement"],
            amounts(cpu="500m", memory="1Gi"),
            id="then resource (seed K's example)",
        ),
    ],
)
def test_forms_of_others(spec, names, request_):
    """Spec 2.11."""
    found = unit_of(spec=spec)
    assert [each.name for each in found.pod_sets] == names
    assert found.pod_sets[0].template.request == request_
    assert [each.count for each in found.pod_sets] == [1]


@pytest.mark.parametrize(
    "spec",
    [
        {
            "podSet": [
                {"name": "a", "template": container(cpu="1")},
                {"template": container(cpu="x")},
            ]
        },
        {"request": {"cpu": "-1"}},
    ],
)
def test_a_unit_that_cannot_be_counted_says_why(spec):
    """Case C3."""
    assert "cpu" in unit_of(spec=spec).defect


@pytest.mark.parametrize(
    ("admission", "replicas", "running"),
    [
        ({"name": "main", "replicas": 3, "running": 2}, 3, 2),
        ({"name": "main", "replicas": -3, "running": 2}, 0, 0),
        ({"name": "main", "replicas": 2, "running": 5}, 2, 2),
        ({"name": "main", "replicas": 2, "running": -5}, 2, 0),
        ({"name": "main"}, 0, 0),
        ({"name": "main", "replicas": True}, 0, 0),
        ({"replicas": 1}, 1, 0),
    ],
)
def test_odd_grants(admission, replicas, running):
    """Spec 22.1."""
    (found,) = unit_of(status={"admissions": [admission, None, 5]}).grants
    assert (found.name, found.replicas, found.running) == ("main", replicas, running)


def test_the_numbers_of_a_pod_set():
    spec = {"podSet": [{"name": "a", "count": 0}, {"name": "b", "count": -2}, {"name": "c"}, None]}
    assert [each.count for each in unit_of(spec=spec).pod_sets] == [0, 0, 1]


@pytest.mark.parametrize(("value", "active"), [(True, True), (False, False), (None, True)])
def test_active(value, active):
    assert unit_of(spec={"active": value}).active is active


def test_who_holds_quota():
    grants = [{"name": "main", "replicas": 1}]
    holding = {
        phase
        for phase in (*Phase, "Odd")
        if unit_of(status={"phase": str(phase), "admissions": grants}).holds_quota
    }
    assert holding == {Phase.RESERVED, Phase.DEQUEUED, Phase.RUNNING, "Odd"}
    assert not unit_of(status={"phase": "Odd"}).holds_quota


def test_equal_units_share_what_is_equal():
    spec = {"podSet": [{"name": "main", "template": container(cpu=1)}]}
    first, second = unit_of({"name": "a"}, spec), unit_of({"name": "b"}, spec)
    assert first.pod_sets[0].template is second.pod_sets[0].template
    assert first.pod_sets[0].name is second.pod_sets[0].name


# -- Queues ------------------------------------------------------------------------------------


def test_a_queue():
    found = views.queue(
        body(
            {"annotations": {"koord-queue/max-depth": "3", "other/key": "x"}},
            spec={
                "queuePolicy": "Block",
                "priority": 7,
                "stopPolicy": "Hold",
                "annotations": {
                    "koord-queue/max-depth": "9",
                    "kube-queue/skip-impossible": "true",
                    "other/key": "y",
                    "third/key": "z",
                },
            },
            status={
                "pendingUnits": 1,
                "reservingUnits": 2,
                "admittedUnits": 3,
                "usage": {"cpu": "4"},
                "conditions": [{"type": "Active", "status": "True"}],
                "queueItemDetails": {
                    "active": [{"name": "a", "namespace": "n", "priority": 5, "position": 1}, None]
                },
            },
        )
    )
    assert (found.policy, found.priority, found.stop_policy) == ("Block", 7, "Hold")
    assert found.annotations == {
        "koord-queue/max-depth": "3",
        "kube-queue/skip-impossible": "true",
        "other/key": "x",
    }
    assert (found.counts, found.usage) == ((1, 2, 3), {"cpu": "4"})
    assert found.items == (("a", "n", 5, 1),)
    assert found.conditions[0].status


def test_a_queue_of_which_nothing_is_said():
    found = views.queue(body())
    assert (found.policy, found.priority, found.stop_policy) == ("", 0, "None")
    untold = (UNTOLD,) * 3
    assert (found.counts, found.items, found.annotations) == (untold, (), {})


# -- quotas ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "limit", "minimum", "defects"),
    [
        pytest.param({}, amounts(), amounts(), 0, id="no limit at all"),
        pytest.param({"max": None, "min": None}, amounts(), amounts(), 0, id="null"),
        pytest.param(
            {"max": {"cpu": "4", "memory": "4Gi"}, "min": {"cpu": 1}},
            amounts(cpu=4, memory="4Gi"),
            amounts(cpu=1),
            0,
            id="plain",
        ),
        pytest.param(
            {"max": {"cpu": "x", "memory": "4Gi"}},
            amounts(cpu=0, memory="4Gi"),
            amounts(),
            1,
            id="an unreadable max is 0, never unlimited",
        ),
        pytest.param(
            {"max": {"cpu": "-1"}}, amounts(cpu=0), amounts(), 1, id="a negative max is 0"
        ),
        pytest.param(
            {"max": {"cpu": "4"}, "min": {"cpu": "x", "memory": "1Gi"}},
            amounts(cpu=4),
            amounts(memory="1Gi"),
            1,
            id="an unreadable min is none",
        ),
        pytest.param(
            {"max": {"cpu": "1", "memory": "4Gi"}, "min": {"cpu": "2"}},
            amounts(cpu=0, memory="4Gi"),
            amounts(cpu=2),
            1,
            id="max below min is 0",
        ),
        pytest.param(
            {"max": {"cpu": "x"}, "min": {"cpu": "2"}},
            amounts(cpu=0),
            amounts(cpu=2),
            1,
            id="told once only",
        ),
        pytest.param(
            {"max": {"cpu": 0}, "min": {"cpu": 0}}, amounts(cpu=0), amounts(cpu=0), 0, id="0"
        ),
        pytest.param(
            {"max": {"cpu": 0}, "min": {"cpu": "2"}},
            amounts(cpu=0),
            amounts(cpu=2),
            1,
            id="a max of 0 below its min",
        ),
        pytest.param(
            {"max": {"memory": "4Gi"}, "min": {"cpu": "2"}},
            amounts(memory="4Gi"),
            amounts(cpu=2),
            0,
            id="a min without its max",
        ),
    ],
)
def test_limits(spec, limit, minimum, defects):
    """Spec 22.1."""
    found = quotaviews.quota(body(spec=spec))
    assert (dict(found.limit.items()), dict(found.minimum.items())) == (
        dict(limit.items()),
        dict(minimum.items()),
    )
    assert len(found.defects) == defects
    assert all("cpu" in text for text in found.defects)


@pytest.mark.parametrize("value", ["4", 4, ["cpu"], True], ids=repr)
def test_22_1_a_limit_that_is_no_map_lets_nobody_in(value):
    found = quotaviews.quota(body(spec={"max": value, "min": value}))
    assert dict(found.limit.items()) == {"koord-queue/max-jobs": 0}
    assert dict(found.minimum.items()) == {}
    assert found.defects == tuple(
        f"{each} is {value}, not a map of quantities" for each in ("max", "min")
    )


@pytest.mark.parametrize(
    ("resource", "text", "most"),
    [
        ("cpu", "1.9m", 1),
        ("cpu", "100u", 0),
        ("cpu", "2500m", 2500),
        ("memory", "1500m", 1),
        ("memory", "0.5Gi", 2**29),
        ("nvidia.com/gpu", "1.5", 1),
        ("nvidia.com/gpu", "+1", 1),
        ("pods", "1e1", 10),
        ("koord-queue/max-jobs", "2999m", 2),
        ("requests.cpu", "1500u", 1),
    ],
)
def test_11_12_nobody_gets_more_than_a_limit_says(resource, text, most):
    """Requests are rounded up, so what they are compared with is rounded down."""
    found = quotaviews.quota(body(spec={"max": {resource: text}, "min": {resource: text}}))
    assert (found.limit[resource], found.minimum[resource]) == (most, most)
    (amount,) = quotaviews.resource_quota(body(spec={"hard": {resource: text}})).limit.items()
    assert amount == (resource, most)


@pytest.mark.parametrize(
    ("text", "is_parent"), [("true", True), ("True", True), ("false", False), ("yes", False)]
)
def test_marks_of_a_quota(text, is_parent):
    labels = {keys.IS_PARENT_LABEL: text, keys.PARENT_LABEL: "root-a"}
    found = quotaviews.quota(body({"labels": labels}))
    assert (found.is_parent, found.parent) == (is_parent, "root-a")


# -- namespaces --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("meta", "status", "terminating"),
    [
        ({}, {}, False),
        ({}, {"phase": "Active"}, False),
        ({}, {"phase": "Terminating"}, True),
        ({"deletionTimestamp": "2026-03-01T12:00:00Z"}, {}, True),
    ],
)
def test_a_namespace(meta, status, terminating):
    found = views.namespace(body({"labels": {"a": "b"}, **meta}, status=status))
    assert (found.name, found.namespace, found.labels) == ("train", "", {"a": "b"})
    assert found.terminating is terminating


# -- what no view can be made of ---------------------------------------------------------------

READERS = (
    views.unit,
    views.queue,
    quotaviews.quota,
    views.namespace,
    podviews.pod_decoder({"Job"}, counts_foreign=True),
    classviews.limit_range,
)
OWNER = {"kind": "Job", "name": "t", "uid": "j", "controller": True}


@pytest.mark.parametrize("read", READERS, ids=lambda each: each.__name__)
def test_an_object_without_a_name_is_no_object(read):
    labels = {keys.QUOTA_LABEL: "q"}
    with pytest.raises(DecodeError):
        read(as_bytes({"metadata": {"labels": labels}}))


SPEC = ("podSet", "request", "resource", "consumerRef", "max", "min", "containers", "limits")
STATUS = ("admissions", "podState", "conditions", "queueItemDetails", "usage", "phase")
leaves = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(("", "x", "2"))
maps = st.dictionaries(st.sampled_from(("name", "template", "cpu", "active", "type")), leaves)
values = leaves | maps | st.lists(leaves | maps, max_size=2)


@given(
    read=st.sampled_from(READERS),
    spec=st.dictionaries(st.sampled_from(SPEC), values),
    status=st.dictionaries(st.sampled_from(STATUS), values),
    meta=values,
)
def test_nothing_is_too_odd_to_be_read(read, spec, status, meta):
    """Spec 22.1: what cannot be read is told on the view, and the rest is there."""
    fields = {"labels": meta, "annotations": meta, "ownerReferences": [OWNER]}
    assert read(body(fields, spec=spec, status=status)).name == "train"


def test_a_view_is_a_value():
    spec = {"podSet": [{"name": "main", "template": container(cpu=1)}]}
    status = {"conditions": [{"type": "A", "status": "False"}]}
    assert unit_of(spec=spec, status=status) == unit_of(spec=spec, status=status)
    assert msgspec.structs.replace(unit_of(), queue="q") != unit_of()
    assert unit_of().condition("A") is None
    assert condition("A", True).type == "A"
