"""The spec of a role as a job of each kind: so many pods of so many GPUs that run so long.

Leaders that only lead (launchers, drivers, heads, submitters) have no GPUs.
"""

from typing import Any

from kq.core.kinds import Object
from kq.show.cast import Role

GPU = "nvidia.com/gpu"
IMAGE = "registry.example/train:1"
FOREVER = "forever"
"""Of pods that end when the job's leader has."""
TRAINER_STEP = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}


def job(role: Role) -> Object:
    """A batch/v1 Job."""
    return _job(role, role.pods)


def tfjob(role: Role) -> Object:
    """A TFJob that has workers only."""
    return _training("tfReplicaSpecs", {"Worker": _replicas(role, "tensorflow", role.pods)})


def pytorchjob(role: Role) -> Object:
    """A PyTorchJob: a master, and workers beside it."""
    return _training("pytorchReplicaSpecs", _master_and_workers(role, "pytorch"))


def xgboostjob(role: Role) -> Object:
    """An XGBoostJob: a master, and workers beside it."""
    return _training("xgbReplicaSpecs", _master_and_workers(role, "xgboost"))


def paddlejob(role: Role) -> Object:
    """A PaddleJob: a master, and workers beside it."""
    return _training("paddleReplicaSpecs", _master_and_workers(role, "paddle"))


def mpijob(role: Role) -> Object:
    """An MPIJob whose workers go when its launcher has ended."""
    launcher = {"replicas": 1, "template": _pod(_container("launcher"), f"{role.seconds}s")}
    workers = _replicas(role, "worker", role.pods, runs=FOREVER)
    return _training("mpiReplicaSpecs", {"Launcher": launcher, "Worker": workers})


def jobset(role: Role) -> Object:
    """A JobSet of one Job."""
    return {"replicatedJobs": [{"name": "workers", "template": {"spec": _job(role, role.pods)}}]}


def trainjob(role: Role) -> Object:
    """A TrainJob with a node for each pod; what they are is said by a runtime of its name."""
    return {
        "runtimeRef": {
            "apiGroup": "trainer.kubeflow.org",
            "kind": "TrainingRuntime",
            "name": role.name,
        },
        "trainer": {"numNodes": role.pods, "resourcesPerNode": _resources(role)},
    }


def training_runtime(role: Role) -> Object:
    """The runtime that a TrainJob names."""
    step = {"metadata": {"labels": TRAINER_STEP}, "spec": {"template": _of(role, "node")}}
    nodes = {"replicatedJobs": [{"name": "node", "template": step}]}
    return {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": nodes}}


def raycluster(role: Role) -> Object:
    """A RayCluster: a head, and workers, for as long as somebody wants it."""
    workers = {
        "groupName": "workers",
        "replicas": role.pods,
        "minReplicas": role.pods,
        "maxReplicas": role.pods,
        "rayStartParams": {},
        "template": _of(role, "ray-worker", runs=FOREVER),
    }
    head = {"rayStartParams": {}, "template": _pod(_container("ray-head"), FOREVER)}
    return {"headGroupSpec": head, "workerGroupSpecs": [workers]}


def rayjob(role: Role) -> Object:
    """A RayJob with such a cluster of its own."""
    submitter = _pod(_container("ray-job-submitter"), f"{role.seconds}s")
    return {
        "entrypoint": f"python {role.name}.py",
        "shutdownAfterJobFinishes": True,
        "submitterPodTemplate": submitter,
        "rayClusterSpec": raycluster(role),
    }


def sparkapplication(role: Role) -> Object:
    """A SparkApplication whose executors go when its driver has ended."""
    gpu = {"name": GPU, "quantity": role.gpus}
    ends, stays = ({"annotations": {"run-for": each}} for each in (f"{role.seconds}s", FOREVER))
    return {
        "type": "Python",
        "mode": "cluster",
        "image": IMAGE,
        "mainApplicationFile": f"local:///{role.name}.py",
        "sparkVersion": "4.0.0",
        "restartPolicy": {"type": "Never"},
        "driver": {"cores": 1, "memory": "1g", **ends},
        "executor": {"cores": 1, "memory": "1g", "instances": role.pods, "gpu": gpu, **stays},
    }


def workflow(role: Role) -> Object:
    """A Workflow of one step, which is one pod."""
    pod = _of(role)
    (container,) = pod["spec"]["containers"]
    step = {"name": "step", "metadata": pod["metadata"], "container": container}
    return {"entrypoint": "step", "templates": [step]}


def _job(role: Role, count: int) -> dict[str, Any]:
    return {"parallelism": count, "completions": count, "template": _of(role)}


def _training(field: str, replicas: Object) -> Object:
    return {"runPolicy": {"cleanPodPolicy": "Running"}, field: replicas}


def _master_and_workers(role: Role, container: str) -> Object:
    master = {"Master": _replicas(role, container, 1)}
    if role.pods == 1:
        return master
    return {**master, "Worker": _replicas(role, container, role.pods - 1)}


def _replicas(role: Role, container: str, count: int, *, runs: str = "") -> dict[str, Any]:
    return {
        "replicas": count,
        "restartPolicy": "Never",
        "template": _of(role, container, runs=runs),
    }


def _of(role: Role, container: str = "main", *, runs: str = "") -> dict[str, Any]:
    """A pod of the role, with its GPUs."""
    told = {
        **_container(container),
        "command": ["python", f"{role.name}.py"],
        "resources": _resources(role),
    }
    return _pod(told, runs or f"{role.seconds}s")


def _pod(container: Object, runs: str) -> dict[str, Any]:
    # Nobody runs its command here: the simulated nodes are told how long it takes.
    played = {"annotations": {"run-for": runs}}
    return {"metadata": played, "spec": {"restartPolicy": "Never", "containers": [container]}}


def _container(name: str) -> dict[str, Any]:
    return {"name": name, "image": IMAGE}


def _resources(role: Role) -> dict[str, Any]:
    return {"limits": {GPU: str(role.gpus)}}
