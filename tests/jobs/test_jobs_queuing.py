"""What users of the kubeflow kinds see while their jobs wait (spec 8.8)."""

import copy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kq.jobs.queuing import dequeued_patch, shows_waiting, waiting_patch

NOW = datetime(2026, 1, 1, 12, 0, 5, 250_000, tzinfo=UTC)
BEFORE = "2026-01-01T11:00:00Z"
AFTER = "2026-01-01T12:00:05Z"


def entry(type_: str, status: str = "True", **more: str) -> dict[str, str]:
    """A condition as the training operator writes it."""
    return {
        "type": type_,
        "status": status,
        "reason": f"TFJob{type_}",
        "message": f"TFJob train is {type_}.",
        "lastUpdateTime": BEFORE,
        "lastTransitionTime": BEFORE,
        **more,
    }


def queuing(status: str, updated: str, turned: str) -> dict[str, str]:
    return {
        "type": "Queuing",
        "status": status,
        "reason": "JobQueuing",
        "message": "Job Enqueued" if status == "True" else "Job Dequeued",
        "lastUpdateTime": updated,
        "lastTransitionTime": turned,
    }


CREATED, SUSPENDED = entry("Created"), entry("Suspended")
WAITS = queuing("True", BEFORE, BEFORE)
NEW = queuing("True", AFTER, AFTER)
MOVED = queuing("True", AFTER, BEFORE)
RELEASED = queuing("False", BEFORE, BEFORE)
STOPPED = entry("Running", "False", lastUpdateTime=AFTER, lastTransitionTime=AFTER)


def job(conditions: Any, *, version: str = "kubeflow.org/v1", **status: Any) -> dict[str, Any]:
    return {
        "apiVersion": version,
        "kind": "TFJob",
        "metadata": {"name": "train"},
        "status": {"conditions": conditions, "replicaStatuses": {}, **status},
    }


WAITING = [
    pytest.param([], [NEW], id="no condition yet"),
    pytest.param(None, [NEW], id="null"),
    pytest.param([CREATED, SUSPENDED], [CREATED, SUSPENDED, NEW], id="held"),
    pytest.param([CREATED, WAITS, SUSPENDED], [CREATED, SUSPENDED, MOVED], id="overtaken"),
    pytest.param([RELEASED, SUSPENDED], [SUSPENDED, NEW], id="evicted"),
    pytest.param([entry("Running"), SUSPENDED], [STOPPED, SUSPENDED, NEW], id="running left true"),
    pytest.param([entry("Running"), WAITS], [STOPPED, MOVED], id="running beside it"),
    pytest.param([WAITS, RELEASED, CREATED], [CREATED, NEW], id="doubled"),
    pytest.param([entry("Running", "False")], [entry("Running", "False"), NEW], id="not running"),
]


@pytest.mark.parametrize(("before", "after"), WAITING)
def test_a_waiting_job_shows_it_last(before, after):
    patch = waiting_patch(job(before), NOW)
    assert patch is not None
    assert patch.body == {"status": {"conditions": after}}
    assert shows_waiting(after)


DEQUEUED = [
    pytest.param([CREATED, SUSPENDED, WAITS], [CREATED, SUSPENDED], id="last"),
    pytest.param([WAITS, entry("Running")], [entry("Running")], id="the job runs already"),
]


@pytest.mark.parametrize(("before", "others"), DEQUEUED)
def test_at_a_release_the_entry_steps_back_to_the_front(before, others):
    patch = dequeued_patch(job(before), NOW)
    assert patch is not None
    assert patch.body == {"status": {"conditions": [queuing("False", AFTER, AFTER), *others]}}
    assert not shows_waiting(patch.body["status"]["conditions"])


SAID = [
    pytest.param(waiting_patch, [CREATED, WAITS], id="waits"),
    pytest.param(waiting_patch, [{"type": "Queuing", "status": "True"}], id="in other words"),
    pytest.param(dequeued_patch, [CREATED, SUSPENDED], id="never waited"),
    pytest.param(dequeued_patch, [RELEASED, CREATED], id="released"),
    pytest.param(dequeued_patch, None, id="no conditions"),
]


@pytest.mark.parametrize(("patch_of", "conditions"), SAID)
def test_what_is_said_is_not_said_again(patch_of, conditions):
    assert patch_of(job(conditions), NOW) is None


@pytest.mark.parametrize("value", [None, [], "x"])
def test_crds_that_demand_replica_statuses_get_an_empty_map(value):
    for patch_of, conditions in ((waiting_patch, []), (dequeued_patch, [WAITS])):
        patch = patch_of(job(conditions, replicaStatuses=value), NOW)
        assert patch is not None
        assert patch.body["status"]["replicaStatuses"] == {}


def test_replica_statuses_that_are_there_stay():
    patch = waiting_patch(job([], replicaStatuses={"Worker": {"active": 1}}), NOW)
    assert patch is not None
    assert "replicaStatuses" not in patch.body["status"]


@pytest.mark.parametrize(
    ("version", "shows"),
    [
        ("kubeflow.org/v1", True),
        ("kubeflow.org/v2beta1", True),
        ("kubeflow.org/v1alpha1", False),
        ("batch/v1", False),
        ("jobset.x-k8s.io/v1alpha2", False),
        ("trainer.kubeflow.org/v1alpha1", False),
        (None, False),
    ],
)
def test_only_kinds_whose_operators_keep_conditions_show_it(version, shows):
    """The status of an MPIJob v1alpha1 has no place for conditions."""
    assert (waiting_patch(job([], version=version), NOW) is not None) is shows
    assert (dequeued_patch(job([WAITS], version=version), NOW) is not None) is shows


VALUES = st.none() | st.booleans() | st.integers() | st.sampled_from(["True", "False", "Queuing"])
ENTRIES = (
    VALUES
    | st.dictionaries(st.sampled_from(["type", "status", "reason"]), VALUES)
    | st.sampled_from([CREATED, SUSPENDED, WAITS, RELEASED, entry("Running")])
)
STATUS = st.none() | st.fixed_dictionaries(
    {}, optional={"conditions": VALUES | st.lists(ENTRIES, max_size=5), "replicaStatuses": VALUES}
)


@given(status=STATUS)
def test_whatever_the_status_is_it_comes_to_rest_after_one_patch(status):
    waiting = {"apiVersion": "kubeflow.org/v1", "metadata": {"name": "train"}, "status": status}
    before = copy.deepcopy(waiting)
    foreign = others(waiting)
    for patch_of, waits in ((waiting_patch, True), (dequeued_patch, False), (waiting_patch, True)):
        patch = patch_of(waiting, NOW)
        waiting = patch.apply(waiting) if patch else waiting
        assert patch_of(waiting, NOW) is None
        assert shows_waiting(waiting["status"]["conditions"]) is waits
        assert others(waiting) == foreign
    assert before["status"] == status


def others(job: dict[str, Any]) -> list[Any]:
    """The conditions that are not ours to change, in their order."""
    conditions = (job["status"] or {}).get("conditions")
    listed = conditions if isinstance(conditions, list) else []
    maps = [each for each in listed if isinstance(each, dict)]
    return [each for each in maps if each.get("type") not in ("Queuing", "Running")]
