"""Jobs of KubeRay, Argo and the Spark operator."""

from collections.abc import Callable

from controlplane.operators import examples
from ground import Object
from kind_cases import KindCase, Played, spec_suspends

from kq.core.kinds import ResourceKind


def status_is(value: str, *path: str) -> Callable[[Object], bool]:
    """Whether that is what the status says at a place."""

    def check(job: Object) -> bool:
        seen = job.get("status", {})
        for key in path:
            seen = seen.get(key, {})
        return bool(seen == value)

    return check


def ray_job(name: str, played: Played) -> Object:
    """A head, two workers, and the submitter that decides when the job ends."""
    job = examples.ray_job(name, run_for=played.run_for)
    del job["spec"]["suspend"]
    for pod in (*ray_pods(job["spec"]["rayClusterSpec"]), job["spec"]["submitterPodTemplate"]):
        pod["metadata"]["annotations"]["linger-for"] = played.linger_for
    return job


def ray_cluster(name: str, played: Played) -> Object:
    """A head and two workers, which never end."""
    job = examples.ray_cluster(name)
    del job["spec"]["suspend"]
    for pod in ray_pods(job["spec"]):
        pod["metadata"]["annotations"]["linger-for"] = played.linger_for
    return job


def ray_pods(cluster: Object) -> list[Object]:
    """The pod templates of a Ray cluster: its head's first."""
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    return [each["template"] for each in groups]


def spark_application(name: str, played: Played) -> Object:
    """A driver and two executors, which end with it."""
    job = examples.spark_application(name, run_for=played.run_for)
    del job["spec"]["suspend"]
    marks = {"run-for": played.run_for, "linger-for": played.linger_for}
    for role in ("driver", "executor"):
        job["spec"][role]["annotations"] = marks
    return job


def workflow(name: str, played: Played) -> Object:
    """Two steps at once, which is what it says it needs."""
    job = examples.workflow(name, suspend=False, run_for=played.run_for)
    job["metadata"]["annotations"] = {"koord-queue/min-resources": "cpu: 2"}
    job["spec"]["podMetadata"]["annotations"]["linger-for"] = played.linger_for
    del job["spec"]["templates"][1]["steps"][1]
    return job


RAY_JOB = KindCase(
    kind=ResourceKind("ray.io", "v1", "RayJob", "rayjobs"),
    operators=("ray",),
    suffix="-ray-qu",
    manifest=ray_job,
    pods=4,
    cpu=3,
    pod_sets=(("head", 1), ("small", 2), ("submitter", 1)),
    is_held=spec_suspends,
    is_noticed=status_is("Suspended", "jobDeploymentStatus"),
    is_ended=status_is("Complete", "jobDeploymentStatus"),
    suspension={"spec": {"suspend": True}},
)
RAY_CLUSTER = KindCase(
    kind=ResourceKind("ray.io", "v1", "RayCluster", "rayclusters"),
    operators=("ray",),
    suffix="-raycluster-qu",
    manifest=ray_cluster,
    pods=3,
    cpu=3,
    pod_sets=(("head", 1), ("small", 2)),
    is_held=spec_suspends,
    is_noticed=status_is("suspended", "state"),
    is_ended=None,
    suspension={"spec": {"suspend": True}},
)
SPARK_APPLICATION = KindCase(
    kind=ResourceKind("sparkoperator.k8s.io", "v1beta2", "SparkApplication", "sparkapplications"),
    operators=("spark",),
    suffix="-spark-qu",
    manifest=spark_application,
    pods=3,
    cpu=3,
    pod_sets=(("driver", 1), ("executor", 2)),
    is_held=spec_suspends,
    is_noticed=status_is("SUSPENDED", "applicationState", "state"),
    is_ended=status_is("COMPLETED", "applicationState", "state"),
    suspension={"spec": {"suspend": True}},
)
WORKFLOW = KindCase(
    kind=ResourceKind("argoproj.io", "v1alpha1", "Workflow", "workflows"),
    operators=("argo",),
    suffix="",
    manifest=workflow,
    pods=2,
    cpu=2,
    pod_sets=(("default", 1),),
    is_held=spec_suspends,
    is_noticed=status_is("Running", "phase"),
    is_ended=status_is("Succeeded", "phase"),
    suspension={"spec": {"suspend": True}},
    evictable=False,
)

CASES = (RAY_JOB, RAY_CLUSTER, SPARK_APPLICATION, WORKFLOW)
