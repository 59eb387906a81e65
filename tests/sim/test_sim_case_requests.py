"""What jobs of all kinds ask for, as a namespace and annotations add to it: B2, B9, C3, E7."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import kind_cases_data as data
import kind_cases_kubeflow as kubeflow
import pytest
from case_plays import altered
from kind_cases import KindCase
from kind_world import KindWorld
from mode_objects import limit
from reading import message_of
from sim_case import TEAM
from simulated_ground import manifests, simulated_ground
from test_sim_case_kinds import SERVICE_ACCOUNT, is_live, stage_of
from world import World

from kq.core import keys
from kq.core.kinds import LIMIT_RANGE, NAMESPACE, RESOURCE_QUOTA, RUNTIME_CLASS
from kq.core.resources import parse_resources
from kq.settings import parse
from kq.sim.operators import extensions
from kq.sim.world import Terms

TEMPLATED = (
    kubeflow.TF_JOB,
    kubeflow.MPI_JOB,
    kubeflow.JOB_SET,
    data.RAY_CLUSTER,
    data.WORKFLOW,
)
"""Three pods each; a Workflow counts its largest."""


def asked(jobs: KindWorld) -> dict[str, int]:
    """Thousandths of cpu and bytes of memory of a job's unit."""
    wire = jobs.world.unit(jobs.unit("first"))["spec"]["resource"]
    amounts = dict(parse_resources(wire, "").items())
    return {name: amounts.get(name, 0) for name in ("cpu", "memory")}


def without_requests(part: dict[str, Any]) -> None:
    part.pop("resources", None)
    part.pop("koord-queue/min-resources", None)


def defaults(cpu: str, memory: str) -> dict[str, Any]:
    item = {"defaultRequest": {"cpu": cpu}, "default": {"cpu": "1", "memory": memory}}
    return {"spec": {"limits": [{"type": "Container", **item}]}}


@pytest.mark.parametrize("kind", TEMPLATED, ids=lambda kind: kind.id)
def test_b2_defaults_of_the_namespace_count_as_they_are_now(kind: KindCase) -> None:
    """Case B2, spec 12.3a: 250m and 512Mi a container, then 500m and 1Gi."""
    with stage_of(kind) as case:
        world, jobs = case.world, KindWorld.of(case.world, kind)
        quota = world.quota("a", cpu=4)
        world.job("holds", quota, cpu=4)
        world.wait_phase("holds", "Running")
        ranges = {"metadata": {"name": "lr", "namespace": TEAM}, **defaults("250m", "512Mi")}
        case.ground.create(LIMIT_RANGE, ranges)
        job = altered(jobs.manifest("first", quota), without_requests)
        job["metadata"].pop("annotations", None)
        world.submit(job)
        case.passes(3)
        pods = 1 if kind is data.WORKFLOW else 3
        assert asked(jobs) == {"cpu": pods * 250, "memory": pods * 512 * 2**20}
        world.change(LIMIT_RANGE, "lr", defaults("500m", "1Gi"))
        case.passes(3)
        assert asked(jobs) == {"cpu": pods * 500, "memory": pods * 2**30}


@pytest.mark.parametrize("kind", TEMPLATED[:-1], ids=lambda kind: kind.id)
def test_the_overhead_of_a_runtime_class_counts_once_a_pod(kind: KindCase) -> None:
    """Spec 12.1."""
    with stage_of(kind) as case:
        world, jobs = case.world, KindWorld.of(case.world, kind)
        quota = world.quota("a", cpu=3)
        overhead = {"podFixed": {"cpu": "250m"}}
        body = {"metadata": {"name": "kata"}, "handler": "kata", "overhead": overhead}
        case.ground.create(RUNTIME_CLASS, body)

        def in_kata(part: dict[str, Any]) -> None:
            if "containers" in part:
                part["runtimeClassName"] = "kata"

        world.submit(altered(jobs.manifest("first", quota), in_kata))
        never = f"cannot start: 3750m cpu requested, but max of quota {quota} is 3"
        world.wait_message(jobs.unit("first"), never)


# -- B9, C3


BAD = [
    pytest.param("cpu 5", "koord-queue/min-resources is 'cpu 5', not a map", id="no map"),
    pytest.param("cpu: -1", "cpu in koord-queue/min-resources is -1, not", id="negative"),
    pytest.param("memory: 5Gb", "memory in koord-queue/min-resources is 5Gb, not", id="5Gb"),
]


@pytest.mark.parametrize(("text", "told"), BAD)
@pytest.mark.parametrize("kind", [data.WORKFLOW, kubeflow.TF_JOB], ids=lambda kind: kind.id)
def test_b9_a_bad_annotation_is_a_warning_and_a_better_one_lets_the_job_start(
    kind: KindCase, text: str, told: str
) -> None:
    """Case B9: message and event name it; other jobs go on."""
    key = keys.MIN_RESOURCES[0]
    with stage_of(kind) as case:
        world, jobs = case.world, KindWorld.of(case.world, kind)
        quota = world.quota("a", cpu=4)
        job = dict(jobs.manifest("first", quota))
        job["metadata"] = {**job["metadata"], "annotations": {key: text}}
        world.submit(job)
        unit = world.wait_unit(jobs.unit("first"), lambda unit: told in message_of(unit))
        event = world.wait_event("first", "InvalidAnnotation", kind.kind)
        assert (event["type"], event["message"]) == ("Warning", message_of(unit))
        world.job("other", quota, cpu=1, run_for="1s")
        world.wait_complete("other")
        case.passes(30)
        events = world.events("first", kind.kind)
        assert [each.get("count", 1) for each in events if each["type"] == "Warning"] == [1]
        jobs.change("first", {"metadata": {"annotations": {key: "cpu: 2"}}})
        world.wait_phase(jobs.unit("first"), "Running", "Succeed")


@pytest.mark.parametrize(
    "kind",
    [kubeflow.TF_JOB, kubeflow.JOB_SET, data.RAY_CLUSTER, data.SPARK_APPLICATION],
    ids=lambda kind: kind.id,
)
def test_c3_what_is_negative_makes_no_room(kind: KindCase) -> None:
    """Case C3: it waits and says why; usage stays, and nobody else starts because of it."""

    def owing(part: dict[str, Any]) -> None:
        for key, amount in (("cpu", "-4"), ("cores", -4)):
            if key in part:
                part[key] = amount

    with stage_of(kind) as case:
        world, jobs = case.world, KindWorld.of(case.world, kind)
        quota = world.quota("a", cpu=4)
        world.job("full", quota, cpu=4)
        world.wait_phase("full", "Running")
        world.submit(altered(jobs.manifest("first", quota), owing))
        unit = world.wait_unit(jobs.unit("first"), lambda unit: " is -4, not " in message_of(unit))
        world.job("other", quota, cpu=1)
        case.passes(20)
        assert case.phases() == {
            "full": "Running",
            unit["metadata"]["name"]: "Enqueued",
            "other": "Enqueued",
        }
        assert world.queue(quota)["status"]["usage"] == {"cpu": "4"}


# -- E7


@contextmanager
def limited(kind: KindCase, **hard: Any) -> Iterator[KindWorld]:
    """A namespace with a ResourceQuota, on a cluster in that mode, and the operator of a kind."""
    enabled = list(extensions(kind.operators))
    plugins = [{"name": "ResourceQuota"}]
    settings = parse({"jobs": {"enabled": enabled}, "plugins": plugins})
    terms = Terms(objects=manifests(), settings=settings, operators=kind.operators)
    with simulated_ground(terms=terms) as ground:
        ground.create(NAMESPACE, {"metadata": {"name": TEAM}})
        ground.wait(SERVICE_ACCOUNT, TEAM, "default", bool)
        world = World(ground=ground, namespace=TEAM)
        limit(world, "rq", hard)
        yield KindWorld.of(world, kind)


LACKING = (
    kubeflow.TF_JOB,
    kubeflow.MPI_JOB,
    kubeflow.JOB_SET,
    kubeflow.TRAIN_JOB,
    data.RAY_CLUSTER,
)


@pytest.mark.parametrize("kind", LACKING, ids=lambda kind: kind.id)
def test_e7_a_job_whose_pods_would_be_refused_waits_and_says_what_it_lacks(kind: KindCase) -> None:
    """Case E7: the first container without a limit is named; without that demand it starts."""
    hard = {"requests.cpu": 4, "limits.memory": "8Gi", "pods": 3}
    with limited(kind, **hard) as jobs:
        jobs.prepare("first")
        jobs.world.submit(jobs.manifest("first"))
        first, count = kind.pod_sets[0]
        name = jobs.unit("first")
        demands = f"resource quota {TEAM}/rq demands limits.memory of every container; container "
        unit = jobs.world.wait_unit(name, lambda unit: message_of(unit).startswith(demands))
        assert message_of(unit).endswith(f" of pod set {first} sets none")
        assert count > 0
        assert kind.is_held(jobs.wait("first", bool))
        softer = {"spec": {"hard": {"limits.memory": None}}}
        jobs.world.change(RESOURCE_QUOTA, "rq", softer)
        jobs.wait_running("first")


def test_e7_spark_sets_limits_by_itself_and_counts_with_them() -> None:
    """Case E7, spec 11.14: three pods of 896Mi."""
    with limited(data.SPARK_APPLICATION, **{"limits.memory": "3Gi", "pods": 3}) as jobs:
        jobs.submit("first", "")
        jobs.wait_running("first")
        jobs.submit("second", "")
        short = "2688Mi limits.memory requested, not enough free of 3Gi"
        pods = "3 pods requested, not enough free of 3"
        jobs.world.wait_message(
            jobs.unit("second"), f"waiting for quota {TEAM}/rq: {short}; {pods}"
        )
        assert [each for each in jobs.pods("second") if is_live(each)] == []
        jobs.delete("first")
        jobs.wait_running("second")
