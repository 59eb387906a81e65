"""Kinds of jobs as they play: what a role becomes, what such a job says, what belongs to it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from kq.jobs import INTEGRATIONS
from kq.jobs.integration import JobIntegration
from kq.jobs.options import JobOptions
from kq.show.cast import Role
from kq.show.kinds import KINDS, Owners, gpus_of, key_of
from kq.show.manifests import job
from kq.show.specs import GPU

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
OF_ONE_POD = ("Workflow",)
"""What is counted as its largest pod."""
COUNTED = [each for each in KINDS if each != "TrainJob"]
"""Those that say themselves what their pods are."""


def role(kind: str, pods: int = 2) -> Role:
    return Role(at=0, team="vision", name="a", gpus=3, pods=pods, seconds=9, kind=kind)


def integration(kind: str) -> JobIntegration:
    return INTEGRATIONS[KINDS[kind].key](JobOptions())


def merged(obj: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """As a merge patch changes it."""
    deeper = {
        key: merged(obj.get(key) or {}, each) if isinstance(each, Mapping) else each
        for key, each in patch.items()
    }
    return {**obj, **deeper}


@pytest.mark.parametrize("kind", COUNTED)
def test_kq_counts_of_a_job_the_gpus_that_its_role_asks_for(kind: str) -> None:
    wanted = role(kind, pods=1 if kind in OF_ONE_POD else 2)
    made = job(wanted)
    made["metadata"]["uid"] = "1"
    sets = integration(kind).view(made).pod_sets
    asked = sum(each.count * each.template.request.get(GPU) for each in sets)
    assert asked == wanted.total


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_is_seen_to_be_held_and_let_go(kind: str) -> None:
    made = job(role(kind))
    knows = integration(kind)
    held = merged(made, knows.hold(made).body)
    released = merged(held, knows.resume(held, (), NOW).body)
    assert [KINDS[kind].is_held(each) for each in (made, held, released)] == [False, True, False]


def ended(type_: str) -> dict[str, Any]:
    return {"conditions": [{"type": type_, "status": "True"}]}


ENDS = {
    "Job": ended("Complete"),
    "TFJob": ended("Succeeded"),
    "PyTorchJob": ended("Succeeded"),
    "XGBoostJob": ended("Succeeded"),
    "PaddleJob": ended("Succeeded"),
    "MPIJob": ended("Succeeded"),
    "JobSet": ended("Completed"),
    "TrainJob": ended("Complete"),
    "RayJob": {"jobDeploymentStatus": "Complete"},
    "SparkApplication": {"applicationState": {"state": "COMPLETED"}},
    "Workflow": {"phase": "Succeeded"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_has_ended_when_its_operator_says_so(kind: str) -> None:
    says = KINDS[kind].has_ended
    made = job(role(kind))
    assert not says(made)
    assert not says({**made, "status": ended("Failed")})
    assert says({**made, "status": ENDS.get(kind, {})}) is KINDS[kind].ends


def test_only_a_cluster_does_not_end_by_itself() -> None:
    assert [name for name, each in KINDS.items() if not each.ends] == ["RayCluster"]


def thing(kind: str, uid: str, *owners: tuple[str, bool]) -> dict[str, Any]:
    references = [{"uid": each, "controller": controls} for each, controls in owners]
    return {"kind": kind, "metadata": {"uid": uid, "ownerReferences": references}}


def test_an_object_belongs_to_the_job_at_the_end_of_its_controllers() -> None:
    owners = Owners()
    owners.job_of(thing("TrainJob", "top"))
    owners.job_of(thing("JobSet", "set", ("top", True)))
    owners.job_of(thing("Job", "job", ("set", True)))
    assert owners.job_of(thing("Pod", "pod", ("other", False), ("job", True))) == "top"


def test_a_unit_belongs_to_the_job_that_it_stands_for() -> None:
    unit = {**thing("QueueUnit", "unit"), "spec": {"consumerRef": {"uid": "top"}}}
    assert Owners().job_of(unit) == "top"


def test_what_nobody_made_belongs_to_itself() -> None:
    assert Owners().job_of(thing("Pod", "pod", ("node", False))) == "pod"


def test_gpus_are_those_of_all_containers() -> None:
    containers = [{"resources": {"limits": {GPU: "2"}}}, {"resources": {"limits": {GPU: "1"}}}, {}]
    assert gpus_of({"spec": {"containers": containers}}) == 3


def test_a_kind_is_stored_under_its_plural_and_group() -> None:
    assert key_of(KINDS["Job"].resource) == "jobs.batch"
