"""What is special about jobs of the training, MPI, JobSet and Trainer operators."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from controlplane.cluster import Cluster
from controlplane.kq import Kq
from ground import Object
from kind_cases import Played, of_kinds
from kind_cases_kubeflow import JOB_SET, MPI_JOB, PYTORCH_JOB, TF_JOB, TRAIN_JOB, train_job
from kind_world import KindWorld, waiting_for
from reading import condition_of, conditions_of
from webhook_orders import check_both_orders, check_refused, denied
from world import World

from kq.core import keys
from kq.core.kinds import JOB, QUEUE_UNIT, ResourceKind


def children(jobs: KindWorld, kinds: Sequence[ResourceKind]) -> list[Object]:
    """What operators made in the namespace."""
    found = [each for kind in kinds for each in jobs.world.ground.items(kind, jobs.world.namespace)]
    return [each for each in found if each["metadata"].get("ownerReferences")]


def check_left_alone(made: Sequence[Object], count: int) -> None:
    assert len(made) == count
    marks = {key for each in made for key in each["metadata"].get("annotations", {})}
    assert not [each for each in marks if each.startswith("koord-queue/")]


@pytest.mark.parametrize(
    ("case", "kinds", "count"),
    [
        pytest.param(case, kinds, count, id=case.id, marks=pytest.mark.operators(*case.operators))
        for case, kinds, count in (
            (MPI_JOB, [JOB], 1),
            (JOB_SET, [JOB], 2),
            (TRAIN_JOB, [JOB_SET.kind, JOB], 2),
        )
    ],
)
def test_what_an_operator_makes_of_a_job_is_left_alone(
    world: World, jobs: KindWorld, kinds: Sequence[ResourceKind], count: int
) -> None:
    a = world.quota("a", cpu=jobs.case.cpu)
    world.submit(world.manifest("blocker", a, cpu=1))
    world.wait_granted("blocker")
    jobs.submit("first", a)
    jobs.wait("first", jobs.case.is_noticed)
    world.wait_message(jobs.unit("first"), waiting_for(a, jobs.case.cpu))
    check_left_alone(children(jobs, kinds), count)
    world.delete_job("blocker")
    jobs.wait_running("first")
    check_left_alone(children(jobs, kinds), count)
    units = world.ground.items(QUEUE_UNIT, world.namespace)
    assert {each["metadata"]["name"] for each in units} <= {"blocker", jobs.unit("first")}


@of_kinds((TF_JOB, PYTORCH_JOB, MPI_JOB, JOB_SET))
def test_a_job_that_was_stopped_for_a_moment_runs_again_when_its_last_pod_is_gone(
    world: World, jobs: KindWorld
) -> None:
    """Resumed beside its ending pods, a TFJob fails for good, and others run twice."""
    cpu = jobs.case.cpu
    a = world.quota("a", cpu=cpu)
    jobs.submit("first", a, linger_for="4s")
    jobs.wait_running("first")
    world.wait_phase(jobs.unit("first"), "Running")
    jobs.activate("first", False)
    jobs.wait("first", jobs.case.is_held)
    jobs.activate("first", True)
    world.wait_unit(jobs.unit("first"), lambda unit: unit["status"]["attempts"] == 2)
    jobs.wait_running("first")
    world.wait_phase(jobs.unit("first"), "Running")
    assert condition_of(jobs.wait("first", bool), "Failed") is None
    assert jobs.onlooker.faults(cpu) == []


@of_kinds((TF_JOB,))
def test_kubectl_shows_that_a_job_is_in_the_queue(
    world: World, jobs: KindWorld, kubectl: Callable[..., Any]
) -> None:
    def state() -> str:
        listed = kubectl("get", "tfjob", "first", "-n", world.namespace, "--no-headers").stdout
        return str(listed.split()[1])

    a = world.quota("a", cpu=3)
    world.submit(world.manifest("blocker", a, cpu=1))
    world.wait_granted("blocker")
    jobs.submit("first", a)
    world.ground.until(lambda: state() == "Queuing", "it is shown as queuing")
    world.delete_job("blocker")
    world.ground.until(lambda: state() == "Running", "it is shown as running")
    queuing = entry(jobs, "Queuing")
    assert (queuing["status"], queuing["message"]) == ("False", "Job Dequeued")
    jobs.activate("first", False)
    world.ground.until(lambda: state() == "Queuing", "it is shown as queuing again")
    assert entry(jobs, "Running")["status"] == "False"


def entry(jobs: KindWorld, condition: str) -> Object:
    """The one condition of that type."""
    [found] = [
        each for each in conditions_of(jobs.wait("first", bool)) if each["type"] == condition
    ]
    return dict(found)


@of_kinds((TF_JOB, JOB_SET))
def test_a_person_who_suspends_a_running_job_gets_it_back_when_telling_so(
    world: World, jobs: KindWorld
) -> None:
    cpu = jobs.case.cpu
    a = world.quota("a", cpu=cpu)
    jobs.submit("first", a, linger_for="1s")
    jobs.wait_running("first")
    world.wait_phase(jobs.unit("first"), "Running")
    world.submit(world.manifest("second", a, cpu=cpu, run_for="1s"))
    jobs.change("first", jobs.case.suspension)
    world.wait_unit(jobs.unit("first"), lambda unit: unit["spec"].get("active") is False)
    world.wait_complete("second")
    jobs.change("first", {"metadata": {"annotations": {keys.ACTIVE: "true"}}})
    jobs.wait_running("first")
    assert jobs.onlooker.faults(cpu) == []


@of_kinds((TF_JOB, TRAIN_JOB))
def test_a_job_that_started_without_the_webhook_is_held_and_runs_when_its_quota_allows(
    world: World, mortal_kq: Kq, jobs: KindWorld
) -> None:
    cpu = jobs.case.cpu
    a = world.quota("a", cpu=cpu)
    world.submit(world.manifest("blocker", a, cpu=1))
    world.wait_granted("blocker")
    mortal_kq.kill_webhook()
    jobs.submit("first", a, linger_for="2s")
    world.wait_event("first", "SlippedThrough", jobs.case.kind)
    jobs.wait("first", jobs.case.is_held)
    mortal_kq.start_webhook()
    world.delete_job("blocker")
    world.wait_phase(jobs.unit("first"), "Running")
    jobs.wait_running("first")
    assert condition_of(jobs.wait("first", bool), "Failed") is None


def patched_train_job(name: str, played: Played) -> Object:
    """A TrainJob with a patch of somebody's, of which Trainer notes the time."""
    labels = {"metadata": {"labels": {"team": "a"}}}
    patch = {"manager": "example.com/a", "trainingRuntimeSpec": {"template": labels}}
    job = train_job(name, played)
    return {**job, "spec": {**job["spec"], "runtimePatches": [patch]}}


@of_kinds((JOB_SET, replace(TRAIN_JOB, manifest=patched_train_job)))
def test_the_defaults_of_an_operator_and_our_hold_give_the_same_in_both_orders(
    control_plane: Cluster, jobs: KindWorld
) -> None:
    check_both_orders(control_plane, jobs)


@pytest.mark.parametrize(
    ("case", "name", "webhook"),
    [
        pytest.param(case, *told, id=case.id, marks=pytest.mark.operators(*case.operators))
        for case, *told in (
            (TF_JOB, "no.label", "validator.tfjob.training-operator.kubeflow.org"),
            (JOB_SET, "a" * 63, "vjobset.kb.io"),
            (TRAIN_JOB, "without-runtime", "validator.trainjob.trainer.kubeflow.org"),
        )
    ],
)
def test_what_an_operator_refuses_leaves_nothing_in_the_queue(
    jobs: KindWorld, name: str, webhook: str
) -> None:
    check_refused(jobs, name, denied(webhook))
