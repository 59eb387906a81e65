"""Cases of the job kinds on the simulated cluster: B5, B10, I5, I6 and I9."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import kind_cases_data as data
import kind_cases_kubeflow as kubeflow
import pytest
from controlplane.operators import examples
from kind_cases import KindCase, has
from kind_world import KindWorld
from reading import message_of, phase_of
from sim_case import TEAM, Case, on_stage
from simulated_ground import manifests

from kq.core.kinds import POD, ResourceKind
from kq.settings import parse
from kq.sim.faults import Asked
from kq.sim.operators import extensions
from kq.sim.world import Terms

TF_JOB, PYTORCH_JOB = kubeflow.TF_JOB, kubeflow.PYTORCH_JOB
SERVICE_ACCOUNT = ResourceKind("", "v1", "ServiceAccount", "serviceaccounts")


@contextmanager
def stage_of(case: KindCase, **jobs: Any) -> Iterator[Case]:
    """A cluster with the operator of a kind; what its settings say of jobs."""
    enabled = list(extensions(case.operators))
    settings = parse({"jobs": {"enabled": enabled, **jobs}})
    terms = Terms(objects=manifests(), settings=settings, operators=case.operators)
    with on_stage(terms=terms) as stage:
        stage.ground.wait(SERVICE_ACCOUNT, TEAM, "default", bool)
        yield stage


def named(case: KindCase, name: str, quota: str, spec: dict[str, Any]) -> dict[str, Any]:
    """A job of the kind with that spec."""
    labels = {"quota.scheduling.koordinator.sh/name": quota}
    return {
        "apiVersion": case.kind.api_version,
        "kind": case.kind.kind,
        "metadata": {"name": name, "namespace": TEAM, "labels": labels},
        "spec": spec,
    }


def role(container: str, replicas: int, cpu: int, run_for: str = "60s") -> dict[str, Any]:
    resources = {"requests": {"cpu": str(cpu), "memory": "1Gi"}}
    pod = {"containers": [{"name": container, "image": "busybox", "resources": resources}]}
    return {
        "replicas": replicas,
        "restartPolicy": "Never",
        "template": {"metadata": {"annotations": {"run-for": run_for}}, "spec": pod},
    }


# -- B5


def vendor_job(name: str, quota: str, workers: int = 2, servers: int = 1) -> dict[str, Any]:
    roles = {"PS": role("tensorflow", servers, 1, "1h"), "Worker": role("tensorflow", workers, 1)}
    return named(
        TF_JOB, name, quota, {"tfReplicaSpecs": roles, "runPolicy": {"cleanPodPolicy": "Running"}}
    )


@pytest.mark.parametrize("policy", ["Priority", "Block"])
def test_b5_the_example_of_the_vendor_needs_three_cores_and_runs_one_at_a_time(policy: str) -> None:
    """Case B5, spec 23.1: PS and two workers of one core each; a small one passes, or does not."""
    with stage_of(TF_JOB) as case:
        world = case.world
        quota = world.quota("a", policy=policy, cpu=4, memory="4Gi")
        world.submit(vendor_job("job1", quota), vendor_job("job2", quota))
        unit = world.wait_phase("job1-tf-qu", "Running")
        assert unit["spec"]["resource"] == {"cpu": "3", "memory": "3Gi"}
        short = "3 cpu requested, not enough free of 4; 3Gi memory requested"
        assert short in case.message("job2-tf-qu")
        world.submit(vendor_job("job3", quota, workers=1, servers=0))
        case.passes(5)
        phase = {"Priority": "Running", "Block": "Enqueued"}[policy]
        assert case.phases()["job3-tf-qu"] == phase
        case.until(lambda: case.phases()["job1-tf-qu"] == "Succeed", "the first ends", 90)
        case.until(lambda: case.phases()["job2-tf-qu"] == "Running", "the second runs", 10)
        assert case.phases()["job3-tf-qu"] in ("Running", "Succeed")


# -- B10


def test_b10_an_elastic_job_is_counted_as_it_grows_and_shrinks() -> None:
    """Case B10, spec 9.17: what is missing is never hidden, what is given back is offered."""
    with stage_of(PYTORCH_JOB) as case:
        world = case.world
        quota = world.quota("a", cpu=40)
        roles = {"Worker": role("pytorch", 4, 8, "1h")}
        policy = {"minReplicas": 2, "maxReplicas": 6}
        spec = {"pytorchReplicaSpecs": roles, "elasticPolicy": policy}
        world.submit(named(PYTORCH_JOB, "elastic", quota, spec))
        name = "elastic-py-qu"
        world.wait_phase(name, "Running")
        assert held_of(world.unit(name)) == "32"
        scale = {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 6}}}}
        case.onlooker.wrongs.clear()
        world.change(PYTORCH_JOB.kind, "elastic", scale)
        case.passes(5)
        assert held_of(world.unit(name)) == "48"
        assert len(case.ground.items(POD, TEAM)) == 6
        world.job("small", quota, cpu=1)
        case.passes(30)
        assert case.phases()["small"] == "Enqueued"
        assert world.queue(quota)["status"]["usage"] == {"cpu": "48"}
        scale["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 2
        world.change(PYTORCH_JOB.kind, "elastic", scale)
        case.until(lambda: case.phases()["small"] == "Running", "what is given back is used", 10)
        assert held_of(world.unit(name)) == "16"
        case.onlooker.wrongs.clear()


def held_of(unit: dict[str, Any]) -> str:
    """What of cpu a unit holds."""
    [grant] = unit["status"]["admissions"]
    return str(grant["resources"]["cpu"])


# -- I5


def workflow(name: str, quota: str, *, gate: bool = False, **spec: Any) -> dict[str, Any]:
    made = examples.workflow(name, suspend=False)
    templates = made["spec"]["templates"]
    if gate:
        templates += [{"name": "koord-queue-suspend", "suspend": {}}]
        templates[1]["steps"].insert(0, [{"name": "gate", "template": "koord-queue-suspend"}])
    body = named(data.WORKFLOW, name, quota, {**made["spec"], **spec})
    body["metadata"]["annotations"] = {"koord-queue/min-resources": "cpu: 2"}
    return body


def test_i5_a_workflow_held_in_two_ways_goes_on_and_one_that_is_over_does_not() -> None:
    """Case I5, spec 8.15, 8.15a."""
    with stage_of(data.WORKFLOW) as case:
        world = case.world
        quota = world.quota("a", cpu=2)
        world.job("blocker", quota, cpu=2)
        world.wait_phase("blocker", "Running")
        world.submit(
            workflow("both", quota, gate=True, suspend=True),
            workflow("stopped", quota, shutdown="Stop"),
            workflow("broken", quota),
        )
        case.passes(5)
        assert case.phases()["both"] == "Enqueued"
        assert case.phases()["stopped"] == "Failed"
        world.change(data.WORKFLOW.kind, "broken", {"status": {"phase": "Error"}})
        case.passes(5)
        assert case.phases()["broken"] == "Failed"
        world.delete_job("blocker")
        case.until(lambda: case.phases()["both"] == "Succeed", "it goes on to its end", 60)
        world.job("next", quota, cpu=2)
        world.wait_phase("next", "Running")
        pods = [each["metadata"]["name"] for each in case.ground.items(POD, TEAM)]
        assert not [each for each in pods if each.startswith(("stopped", "broken"))]


# -- I6


def released(case: Case, kind: KindCase) -> list[Asked]:
    """What was written to jobs of that kind, but for their status."""
    return [each for each in case.asked("patch", kind.kind.plural) if not each.subresource]


AGAIN = [
    pytest.param(TF_JOB, True, id="TFJob that went unseen"),
    pytest.param(data.RAY_JOB, True, id="RayJob that went unseen"),
    pytest.param(data.SPARK_APPLICATION, False, id="SparkApplication"),
]


@pytest.mark.parametrize(("kind", "killed"), AGAIN)
def test_i6_a_job_made_again_under_its_name_is_queued_from_scratch(
    kind: KindCase, killed: bool
) -> None:
    """Case I6: the unit of the old one releases nobody, also if nobody saw that one go."""
    with stage_of(kind) as case:
        world, jobs = case.world, KindWorld.of(case.world, kind)
        quota = world.quota("a", cpu=kind.cpu)
        jobs.submit("first", quota, linger_for="4s")
        jobs.wait_running("first")
        # Case I1: one write lets it run.
        assert len(released(case, kind)) == 1
        old = jobs.wait("first", bool)["metadata"]["uid"]
        world.submit(world.manifest("next", quota, cpu=kind.cpu, priority=9))
        if killed:
            case.ground.run(case.simulation.kill_manager())
        jobs.delete("first")
        case.until(lambda: jobs.seen("first") is None, "the old one is gone", 20)
        jobs.submit("first", quota)
        job = jobs.wait("first", kind.is_held)
        assert job["metadata"]["uid"] != old
        if killed:
            case.ground.run(case.simulation.start_manager())
        case.until(lambda: case.phases()["next"] == "Running", "the other one goes first", 20)
        unit = world.unit(jobs.unit("first"))
        assert unit["spec"]["consumerRef"]["uid"] == job["metadata"]["uid"]
        assert phase_of(unit) == "Enqueued"
        assert kind.is_held(jobs.wait("first", bool))
        world.delete_job("next")
        jobs.wait_running("first")


# -- I9


def failing_spark(name: str, quota: str, interval: int, retries: int = 2) -> dict[str, Any]:
    made = examples.spark_application(name)["spec"]
    del made["suspend"]
    policy = {"onFailureRetries": retries, "onFailureRetryInterval": interval}
    made["restartPolicy"] = {"type": "OnFailure", **policy}
    made["driver"]["annotations"] = {"fail-after": "3s"}
    return named(data.SPARK_APPLICATION, name, quota, made)


def failing_ray(name: str, quota: str, interval: int, retries: int = 2) -> dict[str, Any]:
    made = examples.ray_job(name)["spec"]
    del made["suspend"]
    made["backoffLimit"] = retries
    made["submitterConfig"] = {"backoffLimit": 0}
    made["submitterPodTemplate"]["metadata"]["annotations"] = {"fail-after": "3s"}
    return named(data.RAY_JOB, name, quota, made)


def is_live(pod: dict[str, Any]) -> bool:
    return pod["status"].get("phase") not in ("Succeeded", "Failed")


def attempts(job: dict[str, Any]) -> int:
    status = job.get("status", {})
    return int(status.get("executionAttempts") or status.get("failed") or 0)


@pytest.mark.parametrize(
    ("kind", "made"),
    [(data.SPARK_APPLICATION, failing_spark), (data.RAY_JOB, failing_ray)],
    ids=["SparkApplication", "RayJob"],
)
def test_i9_between_two_attempts_a_job_keeps_what_it_holds(kind: KindCase, made: Any) -> None:
    """Case I9: there are no pods for a while, and nobody else gets its quota; then it ends."""
    with stage_of(kind) as case:
        world, jobs = case.world, KindWorld.of(case.world, kind)
        quota = world.quota("a", cpu=kind.cpu)
        world.submit(made("again", quota, 20))
        jobs.wait_running("again")
        world.submit(world.manifest("other", quota, cpu=kind.cpu))
        pauses = 0

        def is_over() -> bool:
            nonlocal pauses
            pauses += not any(map(is_live, jobs.pods("again")))
            phase = case.phases()[jobs.unit("again")]
            assert phase in ("Dequeued", "Running", "Failed")
            if phase != "Failed":
                assert case.phases()["other"] == "Enqueued"
            return phase == "Failed"

        case.until(is_over, "the last attempt fails", 300)
        assert pauses
        assert attempts(jobs.wait("again", bool)) == 3
        case.until(lambda: case.phases()["other"] == "Running", "then the next one runs", 20)


def test_i9_a_pause_that_is_too_long_gives_the_quota_to_others() -> None:
    """Case I9, spec 9.12: it is suspended, backs off, and is queued again."""
    patience = {"sparkapp": {"runningTimeout": "1m", "backoffTimeout": "10s"}}
    with stage_of(data.SPARK_APPLICATION, **patience) as case:
        world, jobs = case.world, KindWorld.of(case.world, data.SPARK_APPLICATION)
        quota = world.quota("a", cpu=3)
        world.submit(failing_spark("again", quota, 150))
        jobs.wait_running("again")
        world.submit(world.manifest("other", quota, cpu=3, run_for="30s"))
        case.until(lambda: case.phases()["other"] == "Running", "the other one runs", 120)
        unit = world.unit("again-spark-qu")
        assert phase_of(unit) in ("TimeoutBackoff", "Enqueued")
        assert data.SPARK_APPLICATION.is_held(jobs.wait("again", bool))
        if phase_of(unit) == "TimeoutBackoff":
            assert message_of(unit) == "Backoff due to running timeout"
        case.until(lambda: len(jobs.pods("again")) == 3, "it has its turn again", 200)


# -- I3, I4: all kinds in one cluster


ALL = [
    TF_JOB,
    kubeflow.MPI_JOB,
    kubeflow.JOB_SET,
    data.RAY_JOB,
    data.SPARK_APPLICATION,
    data.WORKFLOW,
]


@contextmanager
def stage_of_all() -> Iterator[Case]:
    operators = sorted({name for kind in ALL for name in kind.operators})
    with stage_of(replace(TF_JOB, operators=operators)) as stage:
        yield stage


def short(jobs: KindWorld) -> str:
    """A name for the job of that kind."""
    return jobs.case.kind.kind.lower()


def test_i3_finished_jobs_of_all_kinds_stay_finished_after_a_restart() -> None:
    """Case I3: their units are gone; none comes again, and nothing is written to the jobs."""
    with stage_of_all() as case:
        world, quota = case.world, case.world.quota("a", cpu=30)
        stories = [KindWorld.of(world, kind) for kind in ALL]
        for jobs in stories:
            jobs.submit(short(jobs), quota, run_for="2s")
        units = {jobs.unit(short(jobs)) for jobs in stories}
        ended = dict.fromkeys(units, "Succeed")
        case.until(lambda: case.phases() == ended, "all have succeeded", 120)
        case.ground.run(case.simulation.kill_manager())
        for name in units:
            world.delete_unit(name)
        case.heard.clear()
        case.ground.run(case.simulation.start_manager())
        case.passes(60)
        assert case.phases() == {}
        ours = {kind.kind.plural for kind in ALL} | {"queueunits"}
        assert [each for each in case.writes() if each.plural in ours] == []
        world.job("next", quota, cpu=30)
        world.wait_phase("next", "Running")


def test_i4_jobs_of_all_kinds_that_somebody_lets_go_are_held_again() -> None:
    """Case I4, spec 5.13: what ran in between counts until it is gone; one event tells of it."""
    with stage_of_all() as case:
        world, quota = case.world, case.world.quota("a", cpu=1)
        stories = [KindWorld.of(world, kind) for kind in ALL if kind.evictable]
        for jobs in stories:
            jobs.submit(short(jobs), quota)
            jobs.wait(short(jobs), jobs.case.is_noticed)
        case.passes(5)
        case.onlooker.wrongs.clear()
        for jobs in stories:
            jobs.change(short(jobs), {"spec": {"suspend": False, "runPolicy": {"suspend": False}}})
        case.passes(30)
        for jobs in stories:
            assert jobs.case.is_held(jobs.wait(short(jobs), bool)), jobs.case.id
            assert [each for each in jobs.pods(short(jobs)) if is_live(each)] == [], jobs.case.id
            told = [each for each in world.events(short(jobs), jobs.case.kind)]
            slipped = [each for each in told if each["reason"] == "SlippedThrough"]
            assert len(slipped) == 1, jobs.case.id
        assert set(case.phases().values()) == {"Enqueued"}
        case.onlooker.wrongs.clear()


# -- 8.22


def test_a_job_that_was_deleted_before_its_end_was_seen_has_ended() -> None:
    """Spec 8.22: by its own time to live, say; its quota is free when its pods are gone."""
    with stage_of(TF_JOB) as case:
        world, jobs = case.world, KindWorld.of(case.world, TF_JOB)
        quota = world.quota("a", cpu=3)
        jobs.submit("first", quota, run_for="5s", linger_for="8s")
        jobs.wait_running("first")
        world.submit(world.manifest("next", quota, cpu=3))
        case.ground.run(case.simulation.kill_manager())
        jobs.wait("first", has("Succeeded"))
        jobs.delete("first")
        case.ground.run(case.simulation.start_manager())
        case.until(lambda: case.phases() == {"next": "Running"}, "the next one runs", 30)


# -- A6


def test_a6_what_a_workflow_makes_is_not_queued_and_not_charged_beside_it() -> None:
    """Case A6, spec 5.6: jobs of other kinds as its steps; one that nobody made is queued."""
    with stage_of_all() as case:
        world, quota = case.world, case.world.quota("a", cpu=2)
        world.submit(workflow("flow", quota))
        world.wait_phase("flow", "Running")
        uid = world.ground.wait(data.WORKFLOW.kind, TEAM, "flow", bool)["metadata"]["uid"]
        named_as = {"apiVersion": data.WORKFLOW.kind.api_version, "kind": "Workflow"}
        owner = {**named_as, "name": "flow", "uid": uid, "controller": True}
        children = [KindWorld.of(world, kind) for kind in ALL if kind.evictable]
        for jobs in children:
            made = jobs.manifest(short(jobs), quota)
            made["metadata"]["ownerReferences"] = [owner]
            world.submit(made)
        for jobs in children:
            jobs.wait_running(short(jobs))
        case.passes(5)
        assert case.phases() == {"flow": "Running"} or case.phases() == {"flow": "Succeed"}
        tf_jobs = children[0]
        tf_jobs.submit("alone", quota)
        assert tf_jobs.case.is_held(tf_jobs.wait("alone", bool))
        case.onlooker.wrongs.clear()
