"""Rules of requests and priority that concern all kinds: what a job asks for, and how urgent it is.

Each as the specification says it; the tables of one kind are beside that kind's module.
"""

from typing import Any

import pytest
from builders import amounts
from hypothesis import given
from hypothesis import strategies as st

from kq.core import wire
from kq.core.podrequests import pod_limits, pod_request
from kq.core.priority import PriorityClassView, derive
from kq.jobs import INTEGRATIONS
from kq.jobs.options import JobOptions

CLASSES = {
    name: PriorityClassView(name=name, value=value)
    for name, value in (("high", 100), ("mid", 50), ("low", 1))
}
Json = dict[str, Any]


def view(key: str, spec: Json, kind: str = "", api_version: str = ""):
    meta = {"namespace": "team-a", "name": "j", "uid": "u", "resourceVersion": "1"}
    body = {"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": spec}
    return INTEGRATIONS[key](JobOptions()).view(body)


def pod(cpu: Any = None, cls: str = "", number: int | None = None, **fields: Any) -> Json:
    resources = {"requests": {"cpu": cpu}} if cpu is not None else {}
    spec: Json = {"containers": [{"name": "c", "resources": resources}], **fields}
    if cls:
        spec["priorityClassName"] = cls
    if number is not None:
        spec["priority"] = number
    return {"spec": spec}


def container(cpu: str, *, always: bool = False, limit: bool = False) -> Json:
    part = "limits" if limit else "requests"
    made: Json = {"name": "c", "resources": {part: {"cpu": cpu}}}
    return made | {"restartPolicy": "Always"} if always else made


SIDECAR, FIRST, APP = container("100m", always=True), container("200m"), container("100m")


@pytest.mark.parametrize(
    ("init", "cpu"),
    [
        pytest.param([SIDECAR, FIRST], "300m", id="A: the sidecar runs beside the init container"),
        pytest.param([FIRST, SIDECAR], "200m", id="B: it starts after that has ended"),
        pytest.param([SIDECAR, FIRST, SIDECAR], "300m", id="one before and one after"),
        pytest.param([SIDECAR, SIDECAR, FIRST], "400m", id="two before"),
        pytest.param([FIRST, FIRST], "200m", id="init containers run one after the other"),
        pytest.param([SIDECAR] * 3, "400m", id="sidecars alone add up with the container"),
    ],
)
def test_12_1_sidecars_count_with_whatever_runs_beside_them(init, cpu):
    """Spec 12.1, case B1; and limits likewise, spec 12.2."""
    spec = {"initContainers": init, "containers": [APP]}
    assert pod_request(spec, None) == amounts(cpu=cpu)
    as_limits = {
        key: [{**each, "resources": {"limits": each["resources"]["requests"]}} for each in part]
        for key, part in spec.items()
    }
    assert pod_limits(as_limits, None) == amounts(cpu=cpu)


milli = st.integers(0, 500)


@given(st.lists(st.tuples(milli, st.booleans()), max_size=4), st.lists(milli, max_size=3))
def test_12_1_a_pod_asks_for_its_largest_moment(init, apps):
    """Spec 12.1, played moment by moment: each init container, then all containers."""
    running, moments = 0, []
    for cpu, always in init:
        moments.append(running + cpu)
        running += cpu if always else 0
    moments.append(running + sum(apps))
    spec = {
        "initContainers": [container(f"{cpu}m", always=always) for cpu, always in init],
        "containers": [container(f"{cpu}m") for cpu in apps],
    }
    assert pod_request(spec, None).get("cpu") == max(moments)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), min_size=1, max_size=4))
def test_12_4_a_unit_asks_for_each_pod_of_each_role(roles):
    """Spec 12.4."""
    replicas = {
        f"Role{number}": {"replicas": count, "template": pod(f"{cpu}00m")}
        for number, (count, cpu) in enumerate(roles)
    }
    seen = view("tfjob", {"tfReplicaSpecs": replicas}, "TFJob", "kubeflow.org/v1")
    total = wire.total_request(seen.pod_sets)
    assert total.get("cpu") == sum(count * cpu * 100 for count, cpu in roles)


def ray_job(**fields: Any) -> Json:
    head = {"template": pod("1")}
    cluster = {"headGroupSpec": head, **fields.pop("cluster", {})}
    return {"rayClusterSpec": cluster, **fields}


@pytest.mark.parametrize(
    ("spec", "cpu", "memory"),
    [
        pytest.param(ray_job(), 1500, 200 * 2**20, id="the default submitter"),
        pytest.param(
            ray_job(submitterPodTemplate=pod("2")), 3000, 0, id="a submitter of the user's own"
        ),
        pytest.param(ray_job(submissionMode="HTTPMode"), 1000, 0, id="none in HTTPMode"),
        pytest.param(
            ray_job(submissionMode="SidecarMode"), 1500, 200 * 2**20, id="beside the head"
        ),
        pytest.param(
            ray_job(submissionMode="HTTPMode", cluster={"enableInTreeAutoscaling": True}),
            1500,
            512 * 2**20,
            id="an autoscaler",
        ),
        pytest.param(
            ray_job(
                submissionMode="HTTPMode",
                cluster={
                    "enableInTreeAutoscaling": True,
                    "autoscalerOptions": {"resources": {"requests": {"cpu": "2"}}},
                },
            ),
            3000,
            0,
            id="an autoscaler of the user's own size",
        ),
    ],
)
def test_12_6_what_ray_adds_to_a_job_counts(spec, cpu, memory):
    """Spec 12.6."""
    total = wire.total_request(view("rayjob", spec, "RayJob", "ray.io/v1").pod_sets)
    assert (total.get("cpu"), total.get("memory")) == (cpu, memory)


def tf(scheduling: str = "", **roles: Json) -> Json:
    spec: Json = {"tfReplicaSpecs": {name: {"template": each} for name, each in roles.items()}}
    if scheduling:
        spec["runPolicy"] = {"schedulingPolicy": {"priorityClass": scheduling}}
    return spec


def ray(head: str, *groups: str) -> Json:
    workers = [
        {"groupName": f"g{n}", "replicas": 1, "template": pod(1, cls)}
        for n, cls in enumerate(groups)
    ]
    return {"headGroupSpec": {"template": pod(1, head)}, "workerGroupSpecs": workers}


def spark(batch: str, driver: str, executor: str) -> Json:
    parts = {"driver": {"priorityClassName": driver}, "executor": {"priorityClassName": executor}}
    return {**parts, "batchSchedulerOptions": {"priorityClassName": batch}}


def flow(pods: str = "", entry: str = "", number: int | None = None) -> Json:
    templates = [{"name": "other", "priorityClassName": "high"}, {"name": "main"}]
    if entry:
        templates[1]["priorityClassName"] = entry
    spec: Json = {"entrypoint": "main", "templates": templates}
    if pods:
        spec["podPriorityClassName"] = pods
    return spec | ({"priority": number} if number is not None else {})


def job_set(*classes: str) -> Json:
    jobs = [
        {"name": f"r{n}", "template": {"spec": {"template": pod(1, cls)}}}
        for n, cls in enumerate(classes)
    ]
    return {"replicatedJobs": jobs}


@pytest.mark.parametrize(
    ("key", "spec", "expected"),
    [
        pytest.param("job", {"template": pod(1, "mid", 7)}, 50, id="Job: its class"),
        pytest.param("job", {"template": pod(1, number=7)}, 7, id="Job: else its number"),
        pytest.param("job", {"template": pod(1)}, None, id="Job: nothing"),
        pytest.param(
            "tfjob", tf("low", Chief=pod(1, "high")), 1, id="kubeflow: the scheduling policy first"
        ),
        pytest.param(
            "tfjob",
            tf(Worker=pod(1, "low"), PS=pod(1, "mid"), Master=pod(1, "high"), Chief=pod(1)),
            100,
            id="kubeflow: chief sets none, master does",
        ),
        pytest.param(
            "tfjob",
            tf(Evaluator=pod(1, "high"), PS=pod(1, "mid"), Worker=pod(1, "low")),
            1,
            id="kubeflow: the worker before ps and evaluator",
        ),
        pytest.param(
            "tfjob",
            tf(Zeta=pod(1, "high"), Alpha=pod(1, number=3)),
            3,
            id="kubeflow: others by name, by number too",
        ),
        pytest.param("raycluster", ray("low", "high"), 1, id="Ray: the head"),
        pytest.param("raycluster", ray("", "", "mid", "high"), 50, id="Ray: groups in order"),
        pytest.param("sparkapp", spark("low", "mid", "high"), 1, id="Spark: of the batch"),
        pytest.param("sparkapp", spark("", "mid", "high"), 50, id="Spark: the driver"),
        pytest.param("sparkapp", spark("", "", "high"), 100, id="Spark: the executor"),
        pytest.param("workflow", flow("low", "mid", 9), 1, id="Workflow: of all pods"),
        pytest.param("workflow", flow("", "mid", 9), 50, id="Workflow: of the entry"),
        pytest.param("workflow", flow(number=9), 9, id="Workflow: its number"),
        pytest.param("workflow", flow("none", "mid", 9), 9, id="Workflow: no such class (12.8)"),
        pytest.param("workflow", flow("", "none", 9), 9, id="Workflow: no such class of the entry"),
        pytest.param("workflow", flow("none", "mid"), None, id="Workflow: no such class alone"),
        pytest.param("jobset", job_set("", "mid", "high"), 50, id="JobSet: the first that sets"),
    ],
)
def test_12_9_who_is_asked_for_the_priority_and_in_which_order(key, spec, expected):
    """Spec 12.9."""
    versions = {
        "tfjob": ("TFJob", "kubeflow.org/v1"),
        "raycluster": ("RayCluster", "ray.io/v1"),
        "sparkapp": ("SparkApplication", "sparkoperator.k8s.io/v1beta2"),
        "workflow": ("Workflow", "argoproj.io/v1alpha1"),
        "jobset": ("JobSet", "jobset.x-k8s.io/v1alpha2"),
        "job": ("Job", "batch/v1"),
    }
    seen = view(key, spec, *versions[key])
    found = derive({}, templates_of(seen), CLASSES)
    assert found.value == expected


def templates_of(seen) -> list[Json]:
    """As the manager asks them: where a kind says nothing of it, its pods in their order."""
    asked = seen.priorities or [
        (each.template.priority_class, each.template.priority) for each in seen.pod_sets
    ]
    return [{"spec": {"priorityClassName": name, "priority": number}} for name, number in asked]
