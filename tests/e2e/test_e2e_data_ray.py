"""What is said of Ray alone: a RayJob, and the cluster and the Job that it makes (spec 8.13)."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from controlplane.errors import ControlPlaneError
from controlplane.kq import Kq
from ground import Change, Object
from kind_cases import KindCase, Played, of_kinds
from kind_cases_data import RAY_CLUSTER, RAY_JOB, ray_cluster, ray_job, status_is
from kind_world import KindWorld, waiting_for
from reading import is_suspended, phase_of, reason_of
from webhook_orders import check_refused
from world import World

from kq.core.kinds import JOB, QUEUE_UNIT

REFUSED = "a RayJob can be queued only with shutdownAfterJobFinishes: true"
SUBMITTED_BY_THE_OPERATOR = replace(RAY_JOB, pods=3, pod_sets=(("head", 1), ("small", 2)))
complete = status_is("Complete", "jobDeploymentStatus")


def kept_cluster(name: str, played: Played) -> Object:
    """A RayJob as one writes it who has not heard of shutdownAfterJobFinishes."""
    job = ray_job(name, played)
    del job["spec"]["shutdownAfterJobFinishes"]
    job["spec"]["ttlSecondsAfterFinished"] = 2
    return job


def interactive(name: str, played: Played) -> Object:
    """A RayJob that waits for its user to submit something to its cluster."""
    job = ray_job(name, played)
    del job["spec"]["submitterPodTemplate"], job["spec"]["entrypoint"]
    job["spec"]["submissionMode"] = "InteractiveMode"
    return job


def never_valid(name: str, played: Played) -> Object:
    """A RayJob that KubeRay takes for wrong once it has been made."""
    job = ray_job(name, played)
    job["spec"]["activeDeadlineSeconds"] = -1
    return job


def cluster_of_twins(name: str, played: Played) -> Object:
    """A RayCluster with two groups of one name."""
    job = ray_cluster(name, played)
    [group] = job["spec"]["workerGroupSpecs"]
    return {**job, "spec": {**job["spec"], "workerGroupSpecs": [group, group]}}


def made_as(case: KindCase, manifest: Callable[[str, Played], Object]) -> list[KindCase]:
    return [replace(case, manifest=manifest)]


@of_kinds([RAY_JOB])
def test_what_a_ray_job_makes_is_never_held_nor_queued(
    world: World, jobs: KindWorld, mortal_kq: Kq
) -> None:
    a = world.quota("a", cpu=3)
    kinds = (RAY_CLUSTER.kind, JOB, QUEUE_UNIT)
    since = {kind: world.ground.version(kind, world.namespace) for kind in kinds}
    jobs.submit("first", a, run_for="8s")
    jobs.wait_running("first")
    mortal_kq.stop_manager()
    mortal_kq.start_manager()
    jobs.wait_over("first")
    changes = world.ground.changes(world.namespace, since)
    made = [each for each in changes if each.kind != QUEUE_UNIT]
    assert {each.kind for each in made} == {RAY_CLUSTER.kind, JOB}
    assert [each.version for each in made if is_suspended(each.thing)] == []
    assert len({each.thing["metadata"]["uid"] for each in made}) == 2
    assert names_of(changes, QUEUE_UNIT) == {jobs.unit("first")}


@of_kinds(made_as(RAY_JOB, kept_cluster))
def test_a_ray_job_ends_for_the_queue_when_its_cluster_is_gone(
    world: World, jobs: KindWorld
) -> None:
    a = world.quota("a", cpu=3)
    kinds = (RAY_CLUSTER.kind, QUEUE_UNIT)
    since = {kind: world.ground.version(kind, world.namespace) for kind in kinds}
    said = jobs.submit("first", a, run_for="1s")
    assert "shutdownAfterJobFinishes set to true: a RayJob cannot be queued without it" in said
    jobs.wait("first", complete)
    assert world.phase(jobs.unit("first")) == "Running"
    jobs.wait_over("first")
    changes = world.ground.changes(world.namespace, since)
    gone = next(each for each in changes if each.kind == RAY_CLUSTER.kind and each.gone)
    ended = next(each for each in changes if phase_of(each.thing) == "Succeed")
    assert gone.version < ended.version


@of_kinds([RAY_JOB])
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"shutdownAfterJobFinishes": False}, id="keeps its cluster"),
        pytest.param(
            {
                "deletionStrategy": {
                    "deletionRules": [
                        {"policy": "DeleteCluster", "condition": {"jobStatus": "FAILED"}}
                    ]
                }
            },
            id="has rules of its own",
        ),
    ],
)
def test_a_ray_job_that_cannot_be_suspended_is_refused(
    world: World, jobs: KindWorld, spec: Object
) -> None:
    a = world.quota("a", cpu=3)
    body = jobs.manifest("first", a)
    with pytest.raises(ControlPlaneError, match=REFUSED):
        world.submit({**body, "spec": {**body["spec"], **spec}})
    world.submit({**body, "spec": {**body["spec"], **spec}, "metadata": unmanaged(body)})


@of_kinds(made_as(RAY_JOB, never_valid))
def test_a_ray_job_that_is_not_valid_fails_while_it_waits(world: World, jobs: KindWorld) -> None:
    a = world.quota("a", cpu=3)
    world.submit(world.manifest("blocker", a, cpu=3))
    world.wait_pods("blocker")
    jobs.submit("first", a)
    unit = world.wait_phase(jobs.unit("first"), "Failed")
    assert "KubeRay never leaves this state, submit a new RayJob" in unit["status"]["message"]


@of_kinds(made_as(SUBMITTED_BY_THE_OPERATOR, interactive))
def test_a_ray_job_that_waits_for_its_user_cannot_be_stopped(world: World, jobs: KindWorld) -> None:
    a = world.quota("a", cpu=3)
    jobs.submit("first", a)
    jobs.wait_running("first")
    jobs.wait("first", status_is("Waiting", "jobDeploymentStatus"))
    jobs.activate("first", False)
    world.wait_event("first", "NotEvictable", RAY_JOB.kind)
    unit = world.unit(jobs.unit("first"))
    assert phase_of(unit) in ("Dequeued", "Running")
    assert reason_of(unit, "Evicted") == "NotEvictable"
    assert not is_suspended(jobs.wait("first", bool))


@of_kinds([RAY_CLUSTER])
def test_a_cluster_that_a_person_suspends_frees_its_quota_and_stays_down(
    world: World, jobs: KindWorld
) -> None:
    a = world.quota("a", cpu=3)
    jobs.submit("first", a, linger_for="1s")
    jobs.wait_running("first")
    world.wait_phase(jobs.unit("first"), "Running")
    world.submit(world.manifest("second", a, cpu=3))
    world.wait_message("second", waiting_for(a, 3))
    jobs.change("first", RAY_CLUSTER.suspension)
    world.wait_pods("second")
    assert jobs.pods("first") == []
    world.delete_job("second")
    unit = world.wait_unit(jobs.unit("first"), lambda unit: phase_of(unit) == "Enqueued")
    assert unit["spec"]["active"] is False
    assert jobs.onlooker.faults(3) == []


@of_kinds(made_as(RAY_CLUSTER, cluster_of_twins))
def test_what_ray_refuses_leaves_nothing_in_the_queue(jobs: KindWorld) -> None:
    check_refused(jobs, "first", "worker group names must be unique")


def names_of(changes: list[Change], kind: object) -> set[str]:
    return {each.thing["metadata"]["name"] for each in changes if each.kind == kind}


def unmanaged(body: Object) -> Object:
    """The metadata of a job without a quota, so that no queue has to do with it."""
    return {**body["metadata"], "labels": {}}
