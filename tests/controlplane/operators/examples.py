"""A small job of each kind, for tests: one CPU a pod, annotations that steer KWOK's stages."""

from collections.abc import Mapping, Sequence

from controlplane.cluster import Object

IMAGE = "example.com/none"
FOREVER = {"run-for": "forever"}


def training_job(
    kind: str, name: str, *, suspend: bool = True, run_for: str = "1s", **annotations: str
) -> Object:
    """A TFJob, PyTorchJob, XGBoostJob, PaddleJob or MPIJob (v1): one leader, two workers.

    The annotations are those of all pods, with underscores for dashes; run_for is the leader's.
    """
    replicas, container, leader = TRAINING[kind]
    all_pods = {key.replace("_", "-"): value for key, value in annotations.items()}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "runPolicy": {"suspend": suspend},
            replicas: {
                leader: _replica(container, 1, {"run-for": run_for, **all_pods}),
                "Worker": _replica(container, 2, {**FOREVER, **all_pods}),
            },
        },
    }


def mpi_job(name: str, *, suspend: bool = True, run_for: str = "1s") -> Object:
    """An MPIJob of v2beta1: one launcher, two workers."""
    made = training_job("MPIJob", name, suspend=suspend, run_for=run_for)
    made["apiVersion"] = "kubeflow.org/v2beta1"
    made["spec"]["runPolicy"]["cleanPodPolicy"] = "Running"
    return made


def job_set(name: str, *, suspend: bool = True, run_for: str = "1s") -> Object:
    """A JobSet of a driver and two workers."""
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {
            "suspend": suspend,
            "replicatedJobs": [
                _replicated_job("driver", 1, {"run-for": run_for}),
                _replicated_job("workers", 2, {"run-for": run_for}),
            ],
        },
    }


def training_runtime(name: str, *, run_for: str = "1s") -> Object:
    """The ClusterTrainingRuntime that a TrainJob needs."""
    node = {"containers": [{"name": "node", "image": IMAGE}]}
    template = {"metadata": {"annotations": {"run-for": run_for}}, "spec": node}
    step = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    job = {
        "name": "node",
        "template": {"metadata": {"labels": step}, "spec": {"template": template}},
    }
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": name, "labels": {"trainer.kubeflow.org/framework": "torch"}},
        "spec": {
            "mlPolicy": {"numNodes": 1, "torch": {}},
            "template": {"spec": {"replicatedJobs": [job]}},
        },
    }


def train_job(name: str, *, runtime: str, suspend: bool = True) -> Object:
    """A TrainJob of two nodes."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name},
        "spec": {
            "suspend": suspend,
            "runtimeRef": {
                "name": runtime,
                "kind": "ClusterTrainingRuntime",
                "apiGroup": "trainer.kubeflow.org",
            },
            "trainer": {"numNodes": 2, "resourcesPerNode": {"requests": {"cpu": "1"}}},
        },
    }


def ray_job(name: str, *, suspend: bool = True, run_for: str = "1s", mode: str = "") -> Object:
    """A RayJob with a head and two workers; run_for is its submitter's."""
    spec = {
        "suspend": suspend,
        "shutdownAfterJobFinishes": True,
        "entrypoint": "python -c pass",
        "rayClusterSpec": ray_cluster_spec(),
    }
    if mode:
        spec["submissionMode"] = mode
    else:
        submitter = {"name": "ray-job-submitter", "image": IMAGE}
        spec["submitterPodTemplate"] = {
            "metadata": {"annotations": {"run-for": run_for}},
            "spec": {"restartPolicy": "Never", "containers": [submitter]},
        }
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        # Without a submitter the stand-in for the dashboard reads this.
        "metadata": {"name": name, "annotations": {"run-for": run_for}},
        "spec": spec,
    }


def ray_cluster(name: str, *, suspend: bool = True) -> Object:
    """A RayCluster with a head and two workers."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name},
        "spec": {**ray_cluster_spec(), "suspend": suspend},
    }


def ray_cluster_spec() -> Object:
    """A head and two workers that never end."""
    group = {"rayStartParams": {}, "template": _ray_pod("ray-worker")}
    counts = {"replicas": 2, "minReplicas": 1, "maxReplicas": 3}
    return {
        "rayVersion": "2.46.0",
        "headGroupSpec": {"rayStartParams": {}, "template": _ray_pod("ray-head")},
        "workerGroupSpecs": [{"groupName": "small", **counts, **group}],
    }


def workflow(name: str, *, suspend: bool = True, run_for: str = "1s") -> Object:
    """A Workflow of two steps at once and a third after them."""
    container = {"image": IMAGE, "command": ["none"], "resources": _resources()}
    steps = [
        [{"name": "a", "template": "work"}, {"name": "b", "template": "work"}],
        [{"name": "c", "template": "work"}],
    ]
    spec: Object = {
        "entrypoint": "main",
        "podMetadata": {"annotations": {"run-for": run_for}},
        "templates": [
            {"name": "work", "container": container},
            {"name": "main", "steps": steps},
        ],
    }
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": name},
        # There is no false among those that are made without it.
        "spec": {"suspend": True, **spec} if suspend else spec,
    }


def spark_application(name: str, *, suspend: bool = True, run_for: str = "1s") -> Object:
    """A SparkApplication of a driver and two executors."""
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": name},
        "spec": {
            "suspend": suspend,
            "type": "Scala",
            "mode": "cluster",
            "image": IMAGE,
            "mainClass": "example.Main",
            "mainApplicationFile": "local:///example.jar",
            "sparkVersion": "3.5.0",
            "restartPolicy": {"type": "Never"},
            "driver": {"cores": 1, "memory": "512m", "annotations": {"run-for": run_for}},
            "executor": {"cores": 1, "instances": 2, "memory": "512m", "annotations": FOREVER},
        },
    }


TRAINING: Mapping[str, Sequence[str]] = {
    "TFJob": ("tfReplicaSpecs", "tensorflow", "Chief"),
    "PyTorchJob": ("pytorchReplicaSpecs", "pytorch", "Master"),
    "XGBoostJob": ("xgbReplicaSpecs", "xgboost", "Master"),
    "PaddleJob": ("paddleReplicaSpecs", "paddle", "Master"),
    "MPIJob": ("mpiReplicaSpecs", "mpi", "Launcher"),
}
"""The field of the replicas, the name of their container, and the role that leads, by kind."""


def _replica(container: str, count: int, annotations: Mapping[str, str]) -> Object:
    return {
        "replicas": count,
        "restartPolicy": "Never",
        "template": {
            "metadata": {"annotations": annotations},
            "spec": {"containers": [_container(container)]},
        },
    }


def _replicated_job(name: str, count: int, annotations: Mapping[str, str]) -> Object:
    pod = {
        "metadata": {"annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": [_container("main")]},
    }
    counts = {"parallelism": count, "completions": count, "backoffLimit": 0}
    return {"name": name, "replicas": 1, "template": {"spec": {**counts, "template": pod}}}


def _ray_pod(name: str) -> Object:
    container = _container(name)
    container["resources"] = {"requests": {"cpu": "1", "memory": "1Gi"}}
    return {"metadata": {"annotations": FOREVER}, "spec": {"containers": [container]}}


def _container(name: str) -> Object:
    return {"name": name, "image": IMAGE, "command": ["none"], "resources": _resources()}


def _resources() -> Object:
    return {"requests": {"cpu": "1"}}
