"""Which changes of jobs and pods are worth a look at the job, and how soon."""

from typing import Any

import builders
import pytest
from builders import NOW, at, job_view, pod
from modes import node, resource_quota, tree
from msgspec.structs import replace

from kq.core import keys
from kq.core.model import Condition, JobState, Phase
from kq.core.quotaviews import Scope
from kq.reconcile.wakes import (
    COUNTS,
    job_matters,
    pod_matters,
    queues_below,
    queues_of,
    quota_matters,
    structure_of,
)

RUNS = job_view("runs", suspended=False, released_at=NOW)
GRANTED = builders.unit("runs", phase=Phase.DEQUEUED)
RUNNING = builders.unit("runs", phase=Phase.RUNNING)
EVICTED = (Condition("Evicted", True, "Deactivated", ""),)

COUNTED: list[Any] = [
    pytest.param({"pods_active": 2}, id="active"),
    pytest.param({"pods_terminating": 1}, id="terminating"),
    pytest.param({"has_run": True, "started": at(1)}, id="started"),
]


@pytest.mark.parametrize("change", COUNTED)
def test_what_a_running_job_counts_wakes_nobody(change: dict[str, Any]) -> None:
    assert not job_matters(RUNS, replace(RUNS, resource_version="9", **change), GRANTED)


@pytest.mark.parametrize("change", COUNTED)
@pytest.mark.parametrize(
    ("job", "unit"),
    [
        pytest.param(replace(RUNS, suspended=True), GRANTED, id="held"),
        pytest.param(replace(RUNS, deleting=True), GRANTED, id="on its way out"),
        pytest.param(replace(RUNS, state=JobState.FAILED), GRANTED, id="ended"),
        pytest.param(RUNS, None, id="without a unit"),
        pytest.param(RUNS, builders.unit("runs"), id="without a grant"),
        pytest.param(RUNS, replace(RUNNING, active=False), id="deactivated"),
        pytest.param(RUNS, replace(RUNNING, conditions=EVICTED), id="evicted"),
        pytest.param(RUNS, replace(RUNNING, deleting=True), id="unit on its way out"),
    ],
)
def test_the_counts_of_any_other_job_are_looked_at(
    job: Any, unit: Any, change: dict[str, Any]
) -> None:
    assert job_matters(job, replace(job, **change), unit)


@pytest.mark.parametrize(
    "change",
    [
        {"suspended": True},
        {"labels": {"a": "b"}},
        {"annotations": {"koord-queue/x": "y"}},
        {"state": JobState.SUCCEEDED},
        {"deleting": True},
        {"pod_sets": (builders.pod_set(count=7),)},
        {"released_at": None},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_else_changes_is_looked_at(change: dict[str, Any]) -> None:
    assert job_matters(RUNS, replace(RUNS, **change), GRANTED)


def test_a_new_version_alone_wakes_nobody() -> None:
    assert not job_matters(RUNS, replace(RUNS, resource_version="9"), None)


@pytest.mark.parametrize(("old", "new"), [(None, RUNS), (RUNS, None)], ids=["came", "went"])
def test_a_job_that_comes_or_goes_is_looked_at(old: Any, new: Any) -> None:
    assert job_matters(old, new, RUNNING)


PENDING, UP = pod("runs-0", job="runs", phase="Pending"), pod("runs-0", job="runs")
DONE = pod("runs-0", job="runs", phase="Succeeded")


@pytest.mark.parametrize(
    ("old", "new", "unit", "seconds"),
    [
        pytest.param(None, PENDING, GRANTED, None, id="made"),
        pytest.param(PENDING, UP, GRANTED, 0, id="the first that runs"),
        pytest.param(PENDING, UP, RUNNING, COUNTS, id="one more runs"),
        pytest.param(UP, DONE, RUNNING, COUNTS, id="one ended"),
        pytest.param(UP, None, RUNNING, COUNTS, id="one went"),
        pytest.param(UP, replace(UP, resource_version="9"), RUNNING, None, id="same"),
    ],
)
def test_pods_of_a_running_job_are_looked_at_now_and_then(
    old: Any, new: Any, unit: Any, seconds: float | None
) -> None:
    assert pod_matters(old, new, RUNS, unit) == seconds


@pytest.mark.parametrize(
    "job",
    [None, replace(RUNS, suspended=True), replace(RUNS, state=JobState.SUCCEEDED)],
    ids=["gone", "held", "ended"],
)
@pytest.mark.parametrize(("old", "new"), [(None, PENDING), (PENDING, UP), (UP, DONE), (UP, None)])
def test_pods_that_a_job_should_not_have_are_looked_at_at_once(
    old: Any, new: Any, job: Any
) -> None:
    assert pod_matters(old, new, job, RUNNING) == 0


@pytest.mark.parametrize(
    ("quota", "queues"),
    [
        pytest.param(None, [], id="none"),
        pytest.param(builders.quota("a", parent="p"), ["a", "p"], id="of quotas with parents"),
        pytest.param(
            tree(node("root"), node("root/a_B")), ["root", "root-a-b"], id="of all nodes of a tree"
        ),
        pytest.param(resource_quota(), ["team-a"], id="of a ResourceQuota's namespace"),
    ],
)
def test_the_queues_that_a_quota_concerns(quota: Any, queues: list[str]) -> None:
    assert list(queues_of(quota)) == queues


QUOTA = builders.quota("a", parent="p", cpu=1)
ROOT, LEAF = node("root", cpu=1), node("root/a")
TREE, RQ = tree(ROOT, LEAF), resource_quota(cpu=1)
LISTS = {keys.ALLOWED_NAMESPACES: "x"}


@pytest.mark.parametrize(
    ("old", "new", "moves"),
    [
        pytest.param(None, QUOTA, True, id="a quota that comes"),
        pytest.param(QUOTA, None, True, id="or goes"),
        pytest.param(QUOTA, replace(QUOTA, limit=builders.amounts(cpu=2)), False, id="its max"),
        pytest.param(QUOTA, replace(QUOTA, resource_version="9"), False, id="its version"),
        pytest.param(QUOTA, replace(QUOTA, parent="q"), True, id="its parent"),
        pytest.param(QUOTA, replace(QUOTA, is_parent=True), True, id="its mark"),
        pytest.param(QUOTA, replace(QUOTA, annotations=LISTS), True, id="its list"),
        pytest.param(QUOTA, replace(QUOTA, namespace="other"), True, id="made elsewhere"),
        pytest.param(QUOTA, replace(QUOTA, created=at(1)), True, id="made again, another counts"),
        pytest.param(TREE, tree(node("root", cpu=2), LEAF), False, id="the max of a node"),
        pytest.param(TREE, tree(ROOT), True, id="a node that goes"),
        pytest.param(TREE, tree(ROOT, node("root/b")), True, id="the name of a node"),
        pytest.param(TREE, tree(ROOT, node("root/a", annotations=LISTS)), True, id="its list"),
        pytest.param(
            TREE, tree(ROOT, node("root/a", namespaces=("n",))), True, id="its namespaces"
        ),
        pytest.param(TREE, replace(TREE, created=at(1)), True, id="a tree made again"),
        pytest.param(RQ, resource_quota(cpu=2), False, id="how much of a ResourceQuota"),
        pytest.param(
            RQ, replace(RQ, limit=builders.amounts(memory=1)), True, id="of what it is one"
        ),
        pytest.param(RQ, replace(RQ, scopes=(Scope("BestEffort"),)), True, id="of which pods"),
    ],
)
def test_what_of_a_quota_may_move_units(old: Any, new: Any, moves: bool) -> None:
    """Where they stand, or what they count for; all else only lets some start or not."""
    assert (structure_of(old) != structure_of(new)) is moves


@pytest.mark.parametrize(
    ("old", "new", "matters"),
    [
        pytest.param(RQ, replace(RQ, resource_version="9"), False, id="what is in use"),
        pytest.param(RQ, resource_quota(cpu=2), True, id="another amount"),
        pytest.param(None, RQ, True, id="comes"),
        pytest.param(RQ, None, True, id="goes"),
        pytest.param(QUOTA, replace(QUOTA, resource_version="9"), True, id="of another kind"),
    ],
)
def test_which_change_of_a_quota_is_looked_at(old: Any, new: Any, matters: bool) -> None:
    assert quota_matters(old, new) is matters


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param(["top"], ["a", "b", "top"], id="all below"),
        pytest.param(["a"], ["a"], id="its own"),
        pytest.param(["gone"], ["lost"], id="below one that is gone"),
        pytest.param(["by-hand"], ["by-hand"], id="one of no quota"),
        pytest.param([], [], id="none"),
    ],
)
def test_11_6_the_queues_below_a_change(changed: list[str], expected: list[str]) -> None:
    of = builders.quotas(
        builders.quota("top"),
        builders.quota("a", parent="top"),
        builders.quota("b", parent="top"),
        builders.quota("lost", parent="gone"),
    )
    queues = ["a", "b", "by-hand", "lost", "top"]
    assert list(queues_below(changed, queues, of)) == expected
