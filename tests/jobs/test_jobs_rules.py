"""Rules of the job kinds one by one, each with other inputs than its golden cases."""

from typing import Any

import pytest
from builders import job_view, situation

from kq.core.model import JobView
from kq.core.resources import Resources
from kq.decide.situation import PodFacts
from kq.jobs import INTEGRATIONS
from kq.jobs.options import JobOptions

Spec = dict[str, Any]
TRAINING = "kubeflow.org/v1"
BY_ROLE = {
    "tfjob": "tfReplicaSpecs",
    "pytorchjob": "pytorchReplicaSpecs",
    "xgboostjob": "xgbReplicaSpecs",
    "paddlejob": "paddleReplicaSpecs",
}


def seen(key: str, spec: Spec, api: str = TRAINING, **more: Any) -> JobView:
    """A job of the kind with that spec."""
    job = {"apiVersion": api, "metadata": {"name": "j", "uid": "u"}, "spec": spec, **more}
    return INTEGRATIONS[key](JobOptions()).view(job)


# -- 5.7: jobs that somebody else manages


IN_SPEC = {
    "job": "kubernetes.io/job-controller",
    "jobset": "jobset.sigs.k8s.io/jobset-controller",
    "rayjob": "ray.io/kuberay-operator",
    "raycluster": "ray.io/kuberay-operator",
    "trainjob": "trainer.kubeflow.org/trainjob-controller",
}
IN_POLICY = dict.fromkeys(BY_ROLE, "kubeflow.org/training-operator")
MULTI_KUEUE = "kueue.x-k8s.io/multikueue"


@pytest.mark.parametrize("key", [*IN_SPEC, *IN_POLICY])
def test_a_job_of_another_manager_is_foreign_and_one_of_its_own_is_not(key: str) -> None:
    """Spec 5.7: absent, null and empty are the kind's own."""
    own = {**IN_SPEC, **IN_POLICY}[key]

    def managed(by: Any) -> bool:
        said = {"managedBy": by}
        return seen(key, said if key in IN_SPEC else {"runPolicy": said}).managed_by_other

    assert [managed(by) for by in (own, None, "")] == [False] * 3
    assert [managed(by) for by in (MULTI_KUEUE, own.upper(), "x")] == [True] * 3
    # In the place of another kind it says nothing.
    elsewhere = {"runPolicy": {"managedBy": "x"}} if key in IN_SPEC else {"managedBy": "x"}
    assert not seen(key, elsewhere).managed_by_other


@pytest.mark.parametrize(
    ("api", "own"),
    [
        ("kubeflow.org/v2beta1", "kubeflow.org/mpi-operator"),
        (TRAINING, "kubeflow.org/training-operator"),
    ],
)
def test_an_mpi_job_is_foreign_by_the_operator_of_its_version(api: str, own: str) -> None:
    """Spec 5.7."""
    assert not seen("mpijob", {"runPolicy": {"managedBy": own}}, api).managed_by_other
    assert seen("mpijob", {"runPolicy": {"managedBy": MULTI_KUEUE}}, api).managed_by_other


def test_a_ray_job_that_uses_a_cluster_which_is_there_is_not_managed() -> None:
    """Spec 8.13; an empty selector selects nothing."""
    assert seen("rayjob", {"clusterSelector": {"ray.io/cluster": "c"}}).managed_by_other
    assert not seen("rayjob", {"clusterSelector": {}}).managed_by_other


# -- 8.2: the order of roles, in whatever case


@pytest.mark.parametrize("key", BY_ROLE)
def test_roles_come_in_one_order_however_they_are_spelled(key: str) -> None:
    """Spec 8.2."""
    listed = ("worker", "PS", "Zebra", "EVALUATOR", "Launcher", "alpha", "master", "Chief")
    view = seen(key, {BY_ROLE[key]: {role: {} for role in listed}})
    order = ["chief", "master", "launcher", "ps", "worker", "evaluator", "alpha", "zebra"]
    assert [each.name for each in view.pod_sets] == order


# -- 8.11, 8.20: when pods are gone


@pytest.mark.parametrize(
    ("job", "pods", "gone"),
    [
        ({"suspended": True}, {}, True),
        ({"suspended": False}, {}, False),
        ({"suspended": True}, {"live": 1}, False),
        ({"suspended": True, "pods_active": 1}, {}, False),
        ({"suspended": True, "pods_terminating": 1}, {}, False),
        ({"suspended": True, "pods_active": 3, "pods_terminating": 1}, {"stuck": True}, True),
    ],
)
def test_pods_are_gone_when_neither_they_nor_the_job_say_otherwise(
    job: Spec, pods: Spec, gone: bool
) -> None:
    """Spec 8.11."""
    assert situation(job_view(**job), pods=PodFacts(**pods)).gone is gone


@pytest.mark.parametrize(
    ("status", "going"),
    [
        ({"state": "ready"}, 1),
        ({"state": "suspended"}, 0),
        ({"conditions": [{"type": "RayClusterSuspending", "status": "True"}]}, 1),
        ({"conditions": [{"type": "RayClusterSuspending", "status": "False"}]}, 0),
        ({}, 0),
    ],
)
def test_a_ray_cluster_that_goes_down_is_not_gone_yet(status: Spec, going: int) -> None:
    """Spec 8.20: its quota comes back when it is suspended by its own word too."""
    spec = {"suspend": True}
    assert seen("raycluster", spec, "ray.io/v1", status=status).pods_terminating == going
    running = seen("raycluster", {"suspend": False}, "ray.io/v1", status=status)
    assert running.pods_terminating == 0


# -- 8.13a, 8.1: what cannot be stopped


@pytest.mark.parametrize("mode", ["K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode", None])
@pytest.mark.parametrize("phase", ["Waiting", "Running", "Initializing", "Suspended", ""])
def test_only_a_ray_job_that_waits_for_its_user_cannot_be_stopped(mode: Any, phase: str) -> None:
    """Spec 8.13a."""
    view = seen("rayjob", {"submissionMode": mode}, status={"jobDeploymentStatus": phase})
    assert view.evictable is not (mode == "InteractiveMode" and phase == "Waiting")


def test_workflows_and_the_first_mpi_jobs_are_the_kinds_that_cannot_be_stopped() -> None:
    """Spec 8.1."""
    stays = {
        (key, kind.version)
        for key, make in INTEGRATIONS.items()
        for kind in make(JobOptions()).kinds
        if not seen(key, {}, kind.api_version).evictable
    }
    assert stays == {("workflow", "v1alpha1"), ("mpijob", "v1alpha1")}


# -- 8.18: MPI


@pytest.mark.parametrize(
    ("api", "policy", "warned"),
    [
        ("kubeflow.org/v2beta1", "WaitForWorkersReady", True),
        ("kubeflow.org/v2beta1", "AtStartup", False),
        ("kubeflow.org/v2beta1", None, False),
        (TRAINING, "WaitForWorkersReady", False),
        ("kubeflow.org/v1alpha1", "WaitForWorkersReady", False),
    ],
)
def test_a_launcher_that_waits_for_its_workers_is_warned_of(
    api: str, policy: Any, warned: bool
) -> None:
    """Spec 8.18: W5, where the operator knows that policy."""
    view = seen("mpijob", {"launcherCreationPolicy": policy}, api)
    assert [each for each in view.remarks if "WaitForWorkersReady" in each] == list(view.remarks)
    assert bool(view.remarks) is warned


# -- 12.1, 12.2: one pod, in the template of every kind


def cpu(text: str) -> Spec:
    return {"resources": {"requests": {"cpu": text}}}


SIDECAR = {"name": "s", "restartPolicy": "Always", **cpu("100m")}
INIT = {"name": "i", **cpu("200m")}
APP = {"name": "a", **cpu("100m")}
PODS: list[tuple[Spec, int]] = [
    ({"initContainers": [SIDECAR, INIT], "containers": [APP]}, 300),
    ({"initContainers": [INIT, SIDECAR], "containers": [APP]}, 200),
    ({"containers": [APP], "resources": {"requests": {"cpu": "1"}}}, 1000),
    ({"containers": [APP], "resources": {"limits": {"cpu": "2"}}}, 100),
    ({"containers": [{"name": "a"}], "resources": {"limits": {"cpu": "2"}}}, 2000),
    ({"containers": [APP], "overhead": {"cpu": "250m"}}, 350),
    ({"containers": [{"name": "a", "resources": {"limits": {"cpu": "3"}}}]}, 3000),
    ({"containers": []}, 0),
]


def templated(pod: Spec) -> list[tuple[str, Spec, str]]:
    template = {"spec": pod}
    job = {"template": {"spec": {"template": template}}}
    return [
        ("job", {"template": template}, "batch/v1"),
        *[
            (key, {field: {"Worker": {"template": template}}}, TRAINING)
            for key, field in BY_ROLE.items()
        ],
        ("mpijob", {"mpiReplicaSpecs": {"Worker": {"template": template}}}, "kubeflow.org/v2beta1"),
        ("mpijob", {"replicas": 1, "template": template}, "kubeflow.org/v1alpha1"),
        ("raycluster", {"headGroupSpec": {"template": template}}, "ray.io/v1"),
        ("rayjob", {"rayClusterSpec": {"headGroupSpec": {"template": template}}}, "ray.io/v1"),
        ("jobset", {"replicatedJobs": [{"name": "w", **job}]}, "jobset.x-k8s.io/v1alpha2"),
    ]


@pytest.mark.parametrize(("pod", "milli"), PODS)
def test_a_pod_asks_the_same_in_the_template_of_every_kind(pod: Spec, milli: int) -> None:
    """Case B1, spec 12.1, 12.3: sidecars by their place, the pod level, overhead."""
    for key, spec, api in templated(pod):
        pod_sets = seen(key, spec, api).pod_sets
        one = pod_sets[1] if api.endswith("v1alpha1") else pod_sets[0]
        assert dict(one.template.request.items()).get("cpu", 0) == milli, (key, api)


# -- 12.6: what KubeRay adds


def ray(mode: Any, **more: Any) -> list[Resources]:
    head = {"spec": {"containers": [{"name": "h", **cpu("1")}]}}
    cluster = {"headGroupSpec": {"template": head}, **more.pop("cluster", {})}
    spec = {"submissionMode": mode, "rayClusterSpec": cluster, **more}
    return [each.template.request for each in seen("rayjob", spec, "ray.io/v1").pod_sets]


def milli(requests: list[Resources]) -> list[int]:
    return [dict(each.items()).get("cpu", 0) for each in requests]


def test_what_submits_a_ray_job_counts_where_it_runs() -> None:
    """Spec 12.6: a pod of its own, a container beside the head, or nothing."""
    own = {"spec": {"containers": [{"name": "s", **cpu("2")}]}}
    assert milli(ray(None)) == [1000, 500]
    assert milli(ray("K8sJobMode", submitterPodTemplate=own)) == [1000, 2000]
    assert milli(ray("SidecarMode")) == [1500]
    assert milli(ray("HTTPMode")) == [1000]
    assert milli(ray("InteractiveMode")) == [1000]


def test_the_autoscaler_counts_beside_the_head() -> None:
    """Spec 12.6."""
    scales: Spec = {"enableInTreeAutoscaling": True}
    assert milli(ray("HTTPMode", cluster=scales)) == [1500]
    own = {**scales, "autoscalerOptions": {"resources": {"requests": {"cpu": "3"}}}}
    assert milli(ray("HTTPMode", cluster=own)) == [4000]
    assert milli(ray("SidecarMode", cluster=own)) == [4500]
    off = {**own, "enableInTreeAutoscaling": False}
    assert milli(ray("HTTPMode", cluster=off)) == [1000]


# -- 12.9: which template says the priority


def named(name: str | None = None, number: int | None = None) -> Spec:
    return {"template": {"spec": {"priorityClassName": name, "priority": number}}}


def first(view: JobView) -> tuple[str, int | None]:
    """What decides: the first that sets a class or a number."""
    asked = view.priorities or [
        (each.template.priority_class, each.template.priority) for each in view.pod_sets
    ]
    return next((each for each in asked if each[0] or each[1] is not None), ("", None))


@pytest.mark.parametrize("key", BY_ROLE)
def test_the_priority_of_a_job_by_role_is_that_of_its_leader(key: str) -> None:
    """Spec 12.9: launcher, chief, master, worker, ps, evaluator, others by name."""
    order = ["launcher", "chief", "master", "worker", "ps", "evaluator", "alpha", "zebra"]
    for index, _ in enumerate(order):
        left = order[index:]
        roles = {role.title(): named(f"of-{role}") for role in reversed(left)}
        assert first(seen(key, {BY_ROLE[key]: roles})) == (f"of-{left[0]}", None)
    policy = {"schedulingPolicy": {"priorityClass": "gold"}}
    spec = {BY_ROLE[key]: {"Chief": named("x")}, "runPolicy": policy}
    assert first(seen(key, spec)) == ("gold", None)
    numbers = {"Chief": named(), "Worker": named(number=7), "PS": named("x")}
    assert first(seen(key, {BY_ROLE[key]: numbers})) == ("", 7)


OTHERS: list[tuple[str, Spec, tuple[str, int | None]]] = [
    ("job", named("a", 5), ("a", 5)),
    ("raycluster", {"headGroupSpec": named("h"), "workerGroupSpecs": [named("w")]}, ("h", None)),
    ("raycluster", {"workerGroupSpecs": [named(), named(number=3)]}, ("", 3)),
    (
        "rayjob",
        {"submitterPodTemplate": named("s")["template"], "rayClusterSpec": {}},
        ("", None),
    ),
    (
        "sparkapp",
        {
            "batchSchedulerOptions": {"priorityClassName": "b"},
            "driver": {"priorityClassName": "d"},
        },
        ("b", None),
    ),
    ("sparkapp", {"driver": {}, "executor": {"priorityClassName": "e"}}, ("e", None)),
    (
        "workflow",
        {"podPriorityClassName": "p", "priority": 9},
        ("p", 9),
    ),
    (
        "workflow",
        {
            "entrypoint": "m",
            "templates": [
                {"name": "x", "priorityClassName": "x"},
                {"name": "m", "priorityClassName": "m"},
            ],
        },
        ("m", None),
    ),
    ("workflow", {"priority": 9, "entrypoint": "m", "templates": [{"name": "m"}]}, ("", 9)),
    (
        "jobset",
        {
            "replicatedJobs": [
                {"name": "a", "template": {"spec": named()}},
                {"name": "b", "template": {"spec": named("b")}},
            ]
        },
        ("b", None),
    ),
]


@pytest.mark.parametrize(("key", "spec", "expected"), OTHERS)
def test_who_says_the_priority_of_other_kinds(
    key: str, spec: Spec, expected: tuple[str, int | None]
) -> None:
    """Spec 12.9."""
    assert first(seen(key, spec)) == expected
