"""What kq writes: units, and patches that name owned fields only."""

import msgspec
import pytest
from builders import NOW, amounts, as_bytes, at, condition, grant, job_view, pod_set, unit
from hypothesis import given
from hypothesis import strategies as st

from kq.core import keys, views, wire
from kq.core.messages import STATUS_LIMIT
from kq.core.model import Condition, Phase, Requeue
from kq.core.patch import Patch
from kq.core.wire import Wanted

ROLES = (
    pod_set("head", 1, cpu=1, memory="1Gi"),
    msgspec.structs.replace(pod_set("worker", 3, cpu="500m"), min_count=2),
)


def wanted(**fields):
    values = {
        "labels": {"team": "x"},
        "annotations": {keys.JOB_CREATION: "2026-03-01T12:00:00Z"},
        "queue": "team-a",
        "priority": None,
        "priority_class": "",
        "pod_sets": ROLES,
    }
    return Wanted(**values | fields)


def read_back(body):
    meta = {**body["metadata"], "uid": "u", "resourceVersion": "1"}
    return views.unit(as_bytes({**body, "metadata": meta}))


def test_the_request_is_the_sum_of_count_times_pod():
    assert wire.total_request(ROLES) == amounts(cpu="2500m", memory="1Gi")
    assert wire.total_request(()) == amounts()
    million = (pod_set(count=1_000_000, cpu=1),)
    assert wire.total_request(million).to_wire() == {"cpu": "1M"}


def test_a_new_unit_reads_as_it_was_wanted():
    body = wire.new_unit("train-x", job_view(), wanted(priority=-3, priority_class="low"), True)
    found = read_back(body)
    assert (found.name, found.namespace) == ("train-x", "team-a")
    assert (found.priority, found.priority_class, found.queue) == (-3, "low", "team-a")
    assert (found.owner_uid, found.job_uid) == ("job-train", "job-train")
    assert found.consumer.uid == "job-train"
    assert (found.labels, found.active) == ({"team": "x"}, True)
    assert found.pod_sets == ROLES
    assert found.resource == wire.total_request(ROLES)
    assert body["spec"]["request"] == body["spec"]["resource"]


def test_a_unit_may_be_made_inactive():
    assert not read_back(wire.new_unit("x", job_view(), wanted(), False)).active


@pytest.mark.parametrize(
    ("label", "copied"),
    [
        ("team", True),
        ("app.kubernetes.io/name", True),
        ("app.kubernetes.io/managed-by", False),
        ("app.kubernetes.io/instance", False),
        ("argocd.argoproj.io/instance", False),
        ("kustomize.toolkit.fluxcd.io/name", False),
        ("helm.toolkit.fluxcd.io/name", False),
        ("helm.sh/chart", False),
        ("applyset.kubernetes.io/part-of", False),
        ("toolkit.example.io/x", True),
    ],
)
def test_labels_of_deployment_tools_stay_with_the_job(label, copied):
    """Spec 2.7, case N4."""
    assert (label in wire.copied_labels(job_view(labels={label: "x"}))) is copied


def test_marks_of_the_manager_are_not_copied():
    texts = dict.fromkeys((*keys.MANAGER_ONLY, keys.ACTIVE, *keys.QUEUE_NAME), "x")
    found = wire.copied_annotations(job_view(annotations=texts))
    assert set(found) == {keys.ACTIVE, *keys.QUEUE_NAME}


def test_pod_sets_survive_writing_and_reading():
    spec = {"podSet": wire.pod_sets_to_wire(ROLES)}
    assert views.unit(as_bytes({"metadata": {"name": "x"}, "spec": spec})).pod_sets == ROLES


def test_grants_are_all_replicas_of_all_pod_sets():
    found = wire.grants_for(ROLES)
    assert [(each.name, each.replicas, each.running) for each in found] == [
        ("head", 1, 0),
        ("worker", 3, 0),
    ]
    assert [each.resources for each in found] == [
        amounts(cpu=1, memory="1Gi"),
        amounts(cpu="1500m"),
    ]


grants = st.lists(
    st.builds(
        grant,
        st.sampled_from(("main", "head", "worker")),
        st.integers(0, 5),
        st.just(0),
        st.integers(0, 2),
        cpu=st.sampled_from((0, 1, "500m")),
    ),
    max_size=3,
)


@given(grants)
def test_grants_survive_writing_and_reading(given_):
    status = {"phase": "Running", "admissions": wire.grants_to_wire(given_)}
    found = views.unit(as_bytes({"metadata": {"name": "x"}, "status": status})).grants
    assert found == tuple(given_)


# -- patches of status -------------------------------------------------------------------------


def patched(before, **fields):
    return wire.status_patch(before, at(1), **fields)["status"]


def test_what_is_not_named_stays():
    assert patched(unit()) == {"lastUpdateTime": "2026-03-01T12:01:00Z"}


def test_a_patch_names_what_changes():
    found = patched(
        unit(attempts=2),
        phase=Phase.DEQUEUED,
        message="why",
        grants=(grant(cpu=2),),
        granted=True,
        pods=(1, 2),
    )
    assert found == {
        "lastUpdateTime": "2026-03-01T12:01:00Z",
        "phase": "Dequeued",
        "message": "why",
        "admissions": [{"name": "main", "replicas": 1, "running": 0, "resources": {"cpu": "2"}}],
        "attempts": 3,
        "lastAllocateTime": "2026-03-01T12:01:00Z",
        "podState": {"running": 1, "pending": 2},
    }


def test_grants_are_dropped_by_an_empty_list():
    """Spec 9.4: a merge patch leaves what it does not name."""
    assert patched(unit(), grants=())["admissions"] == []


AT = {"count": 2, "requeueAt": "2026-03-01T12:05:00Z"}


@pytest.mark.parametrize(
    ("before", "fields", "expected"),
    [
        pytest.param(None, {"requeue": Requeue(2, at(5))}, AT, id="begun"),
        pytest.param(Requeue(1, at(0)), {}, "not named", id="not meant"),
        pytest.param(Requeue(1, at(0)), {"requeue": Requeue()}, None, id="over"),
        pytest.param(None, {"requeue": Requeue()}, "not named", id="over, and there was none"),
        pytest.param(Requeue(1), {"phase": Phase.RUNNING}, None, id="9.7: it runs"),
        pytest.param(Requeue(1), {"phase": Phase.ENQUEUED}, "not named", id="goes on to count"),
        pytest.param(
            None, {"requeue": Requeue(3)}, {"count": 3, "requeueAt": None}, id="no further try"
        ),
    ],
)
def test_a_back_off_is_written_where_it_changes(before, fields, expected):
    found = patched(unit(requeue=before), **fields)
    assert found.get("requeueState", "not named") == expected


def test_times_are_written_and_read():
    body = wire.new_unit("train", job_view(), wanted(), True, 90)
    patch = wire.status_patch(unit(), NOW, requeue=Requeue(2, at(5)), past_seconds=7)
    found = read_back(Patch(patch).apply(body))
    assert (found.longest_seconds, found.past_seconds) == (90, 7)
    assert found.requeue == Requeue(2, at(5))
    assert unit().requeue is None


def test_conditions_are_sent_whole():
    before = unit(conditions=(condition("A", True, "r", "m"), condition("B", False)))
    found = patched(
        before, conditions=[Condition("A", False, "x", "y"), Condition("C", True, "", "")]
    )
    assert [(each["type"], each["status"]) for each in found["conditions"]] == [
        ("A", "False"),
        ("B", "False"),
        ("C", "True"),
    ]
    times = [each["lastTransitionTime"] for each in found["conditions"]]
    assert times == ["2026-03-01T12:01:00Z", "2026-03-01T12:00:00Z", "2026-03-01T12:01:00Z"]


def test_a_condition_that_is_there_is_not_written_again():
    """Spec 9.10."""
    same = condition("A", True, "r", "m")
    assert "conditions" not in patched(unit(conditions=(same,)), conditions=[same])


def test_a_message_that_is_too_long_is_cut():
    found = patched(unit(), message="x" * (STATUS_LIMIT + 1))["message"]
    assert (len(found), found[-4:]) == (STATUS_LIMIT, "x...")


def test_a_patched_unit_reads_as_it_was_patched():
    body = wire.new_unit("train", job_view(), wanted(), True)
    patch = wire.status_patch(
        unit(), NOW, phase=Phase.RUNNING, grants=wire.grants_for(ROLES), granted=True
    )
    found = read_back(Patch(patch).apply(body))
    assert (found.phase, found.allocated, found.updated) == (Phase.RUNNING, NOW, NOW)
    assert found.grants == wire.grants_for(ROLES)
