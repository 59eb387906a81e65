"""Holds that somebody takes off, or that are lost, on the simulated cluster: case I4, spec 8.12."""

from collections.abc import Mapping
from typing import Any

import kind_cases_data as data
import kind_cases_kubeflow as kubeflow
import pytest
from kind_cases import KindCase
from kind_world import KindWorld
from reading import message_of
from sim_case import Case
from test_sim_case_kinds import is_live, stage_of

FIELD = {"spec": {"suspend": None}}
POLICY_FIELD = {"spec": {"runPolicy": {"suspend": None}}}
POLICY = {"spec": {"runPolicy": None}}
BY_ROLE = (kubeflow.TF_JOB, kubeflow.MPI_JOB)
TAKEN_OUT = [
    *(pytest.param(each, POLICY_FIELD, id=f"{each.id}, its field") for each in BY_ROLE),
    *(pytest.param(each, POLICY, id=f"{each.id}, its run policy") for each in BY_ROLE),
    *(
        pytest.param(each, FIELD, id=each.id)
        for each in (
            kubeflow.JOB_SET,
            kubeflow.TRAIN_JOB,
            data.SPARK_APPLICATION,
            data.RAY_JOB,
            data.RAY_CLUSTER,
        )
    ),
]
SWITCH = "scheduling.x-k8s.io/suspend"
LEFT_TO_OPERATORS = [
    pytest.param(each, value, id=f"{each.id}, {value}")
    for each in (kubeflow.TF_JOB, data.SPARK_APPLICATION)
    for value in ("false", None)
]


def told(case: Case, jobs: KindWorld, reason: str) -> int:
    """How often the owner of the job was told of that."""
    events = case.world.events("first", jobs.case.kind)
    return sum(each.get("count", 1) for each in events if each["reason"] == reason)


@pytest.mark.parametrize("at_once", [True, False], ids=["before it is noticed", "noticed"])
@pytest.mark.parametrize(("kind", "patch"), TAKEN_OUT)
def test_i4_a_hold_that_is_taken_out_instead_of_off_is_put_back(
    kind: KindCase, patch: Mapping[str, Any], at_once: bool
) -> None:
    """Case I4: an annotation that still says so is no hold where the operator goes by the field."""
    with stage_of(kind) as case:
        jobs = KindWorld.of(case.world, kind)
        quota = case.world.quota("a", cpu=1)
        jobs.submit("first", quota)
        if not at_once:
            jobs.wait("first", kind.is_noticed)
            case.passes(5)
        for times in (1, 2, 3):
            jobs.change("first", patch)
            case.passes(20)
            assert kind.is_held(jobs.wait("first", bool))
            assert [each for each in jobs.pods("first") if is_live(each)] == []
            assert told(case, jobs, "SlippedThrough") == times
        assert told(case, jobs, "HoldIneffective") == 0
        assert case.phases() == {jobs.unit("first"): "Enqueued"}
        assert case.world.queue(quota)["status"]["usage"] == {"cpu": "0"}
        case.onlooker.wrongs.clear()


@pytest.mark.parametrize(("kind", "value"), LEFT_TO_OPERATORS)
def test_i4_the_annotation_alone_lets_nobody_go(kind: KindCase, value: str | None) -> None:
    with stage_of(kind) as case:
        jobs = KindWorld.of(case.world, kind)
        jobs.submit("first", case.world.quota("a", cpu=1))
        jobs.wait("first", kind.is_noticed)
        jobs.change("first", {"metadata": {"annotations": {SWITCH: value}}})
        case.passes(20)
        assert kind.is_held(jobs.wait("first", bool))
        assert jobs.pods("first") == []
        assert case.phases() == {jobs.unit("first"): "Enqueued"}


LINGERING = [kubeflow.TF_JOB, data.SPARK_APPLICATION, data.RAY_JOB]


@pytest.mark.parametrize("kind", LINGERING, ids=lambda kind: kind.id)
def test_a_held_job_whose_pods_end_one_after_the_other_does_not_defy_its_hold(
    kind: KindCase,
) -> None:
    """Spec 8.12, 9.15: executors go after their driver; its unit was deleted meanwhile."""
    with stage_of(kind) as case:
        jobs = KindWorld.of(case.world, kind)
        quota = case.world.quota("a", cpu=kind.cpu)
        jobs.submit("first", quota, linger_for="40s")
        jobs.wait_running("first")
        unit = jobs.unit("first")
        jobs.activate("first", False)
        case.passes(3)
        case.world.delete_unit(unit)
        case.passes(25)
        assert case.phases() == {unit: "Enqueued"}
        assert message_of(case.world.unit(unit)) == "waiting for pods of the last run to end"
        case.until(lambda: case.phases()[unit] == "Running", "it has its turn again", 120)
        assert told(case, jobs, "HoldIneffective") == 0
        assert message_of(case.world.unit(unit)) == "Running"
        assert case.world.unit(unit)["status"]["attempts"] == 1
