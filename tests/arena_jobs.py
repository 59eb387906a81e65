"""Jobs as Arena sends them, and what its list says of them."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]

QUEUE = {"scheduling.x-k8s.io/suspend": "true"}
"""What `--queue` adds, to the job and to every pod template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One submission, and what its unit has to count."""

    command: str
    job: Object
    pods: Mapping[str, int]
    asks: Mapping[str, str]


def marks(kind: str, created_by: str, *, queue: bool = True) -> Object:
    """Metadata of a job, and, but for its name, of its pods."""
    labels = {
        "app": kind,
        "release": "j1",
        "chart": f"{kind}-0.1.0",
        "heritage": "Helm",
        "createdBy": created_by,
        "arena.kubeflow.org/uid": "63a9f0ea7bb98050796b649e85481845",
    }
    annotations = {"arena.kubeflow.org/username": "root", "requestGPUsOfJobOwner": "2"}
    return {"labels": labels, "annotations": {**annotations, **(QUEUE if queue else {})}}


def pod(container: str, meta: Object, resources: Object, **more: Any) -> Object:
    """A pod template with the volume and the environment that Arena adds."""
    dshm = {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}}
    env = [{"name": "workers", "value": "2"}, {"name": "gpus", "value": "0"}]
    return {
        "metadata": meta,
        "spec": {
            "volumes": [dshm],
            "containers": [
                {"name": container, "image": "x", "env": env, "resources": resources, **more}
            ],
        },
    }


def both(**amounts: str) -> Object:
    """Requests that are limits."""
    named = {key.replace("gpu", "nvidia.com/gpu"): each for key, each in amounts.items()}
    return {"requests": named, "limits": dict(named)}


def roles(container: str, meta: Object, **listed: tuple[int, str, Object]) -> Object:
    return {
        name: {"replicas": count, "restartPolicy": policy, "template": pod(container, meta, asks)}
        for name, (count, policy, asks) in listed.items()
    }


def job(api: str, kind: str, meta: Object, spec: Object) -> Object:
    named = {"name": "j1", "namespace": "team-a", **meta}
    # As it comes over the wire, no part of it is another part.
    made: Object = json.loads(json.dumps({"metadata": named, "spec": spec}))
    return {"apiVersion": api, "kind": kind, **made}


def tf_job(
    policy: Object | None, *, queue: bool = True, **listed: tuple[int, str, Object]
) -> Object:
    """Its fields of run policy stand in spec on Arena's own definitions."""
    meta = marks("tfjob", "TFJob", queue=queue)
    spec: Object = {"tfReplicaSpecs": roles("tensorflow", meta, **listed)}
    limits = {"cleanPodPolicy": "Running", "activeDeadlineSeconds": 3600}
    spec |= limits if policy is None else {"runPolicy": {**limits, **policy}}
    return job("kubeflow.org/v1", "TFJob", meta, spec)


def pytorch_job(policy: Object | None, *, workers: int) -> Object:
    meta = marks("pytorchjob", "PyTorchJob")
    leader = {**meta, "labels": {**meta["labels"], "master-pod-name": "j1-master-0"}}
    asks = both(cpu="1", memory="1Gi", gpu="1")
    listed = roles("pytorch", leader, Master=(1, "Never", asks))
    if workers:
        listed |= roles("pytorch", meta, Worker=(workers, "OnFailure", asks))
    spec: Object = {"pytorchReplicaSpecs": listed}
    limits = {"backoffLimit": 3, "cleanPodPolicy": "Running"}
    spec |= limits if policy is None else {"runPolicy": {**limits, **policy}}
    return job("kubeflow.org/v1", "PyTorchJob", meta, spec)


def mpi_job() -> Object:
    meta = marks("mpijob", "MPIJob")
    spec = {
        "replicas": 2,
        "launcherResources": {},
        "backoffLimit": 1,
        "cleanPodPolicy": "All",
        "mountsOnLauncher": False,
        "template": pod("mpi", meta, both(cpu="2", memory="2Gi", gpu="1")),
    }
    return job("kubeflow.org/v1alpha1", "MPIJob", meta, spec)


def ray_job(**more: Any) -> Object:
    meta = marks("rayjob", "RayJob")
    head = pod("ray-head", meta, both(cpu="1", memory="1Gi"))
    worker = pod("ray-worker", meta, both(cpu="2", memory="2Gi"))
    counts = {"replicas": 2, "minReplicas": 2, "maxReplicas": 2}
    spec = {
        "entrypoint": "python -c pass",
        "ttlSecondsAfterFinished": 10,
        "activeDeadlineSeconds": 120,
        "rayClusterSpec": {
            "rayVersion": "2.9.0",
            "headGroupSpec": {"rayStartParams": {}, "template": head},
            "workerGroupSpecs": [{"groupName": "default-group", **counts, "template": worker}],
        },
        **more,
    }
    return job("ray.io/v1", "RayJob", meta, spec)


def spark_job() -> Object:
    sized = {"cores": 1, "memory": "500m"}
    spec = {
        "type": "Scala",
        "mode": "cluster",
        "restartPolicy": {"type": "Never"},
        "driver": {**sized, "serviceAccount": "spark", "labels": {"version": "2.4.5"}},
        "executor": {**sized, "instances": 2, "labels": {"version": "2.4.5"}},
    }
    meta = {"labels": {"app": "sparkjob", "release": "j1", "createdBy": "SparkJob"}}
    return job("sparkoperator.k8s.io/v1beta2", "SparkApplication", meta, spec)


def evaluation() -> Object:
    """Limits only, and a selector of its own."""
    meta = {"labels": {"jobId": "7", "createdBy": "EvaluateJob"}}
    template = pod("evaluate", meta, {"limits": {"cpu": "2", "memory": "1Gi"}})
    template["spec"]["restartPolicy"] = "Never"
    spec = {
        "manualSelector": True,
        "selector": {"matchLabels": {"jobId": "7"}},
        "backoffLimit": 6,
        "template": template,
    }
    return job("batch/v1", "Job", meta, spec)


ONE, TWO = both(cpu="1", memory="1Gi"), both(cpu="2", memory="2Gi", gpu="1")
NEVER = "Never"
PS_WORKER = {"PS": (1, NEVER, ONE), "Worker": (2, NEVER, TWO)}
PS_WORKER_ASKS = {"cpu": "5", "memory": "5Gi", "nvidia.com/gpu": "2"}
FALSE = {"suspend": False}
SENT: Sequence[Sent] = (
    Sent(
        command="submit tfjob --ps 1 --workers 2",
        job=tf_job(FALSE, **PS_WORKER),
        pods={"ps": 1, "worker": 2},
        asks=PS_WORKER_ASKS,
    ),
    Sent(
        command="submit tfjob --ps 1 --workers 2, on its own definitions",
        job=tf_job(None, **PS_WORKER),
        pods={"ps": 1, "worker": 2},
        asks=PS_WORKER_ASKS,
    ),
    Sent(
        command="submit tfjob --ps 1 --workers 2, without --queue",
        job=tf_job(FALSE, queue=False, **PS_WORKER),
        pods={"ps": 1, "worker": 2},
        asks=PS_WORKER_ASKS,
    ),
    Sent(
        command="submit tfjob --workers 1",
        job=tf_job(FALSE, Chief=(1, NEVER, {})),
        pods={"chief": 1},
        asks={},
    ),
    Sent(
        command="submit tfjob --chief --evaluator --gpus 1",
        job=tf_job(
            {},
            Chief=(1, NEVER, both(gpu="1")),
            Worker=(2, "OnFailure", both(gpu="1")),
            Evaluator=(1, NEVER, both(gpu="1")),
            PS=(1, NEVER, {}),
        ),
        pods={"chief": 1, "ps": 1, "worker": 2, "evaluator": 1},
        asks={"nvidia.com/gpu": "4"},
    ),
    Sent(
        command="submit pytorchjob --workers 3",
        job=pytorch_job(FALSE, workers=2),
        pods={"master": 1, "worker": 2},
        asks={"cpu": "3", "memory": "3Gi", "nvidia.com/gpu": "3"},
    ),
    Sent(
        command="submit pytorchjob --workers 1, on its own definitions",
        job=pytorch_job(None, workers=0),
        pods={"master": 1},
        asks={"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"},
    ),
    Sent(
        command="submit mpijob --workers 2",
        job=mpi_job(),
        pods={"launcher": 1, "worker": 2},
        asks={"cpu": "4", "memory": "4Gi", "nvidia.com/gpu": "2"},
    ),
    Sent(
        command="submit rayjob",
        job=ray_job(shutdownAfterJobFinishes=True),
        pods={"head": 1, "default-group": 2, "submitter": 1},
        asks={"cpu": "5500m", "memory": "5320Mi"},
    ),
    Sent(
        command="submit rayjob --shutdown-after-finished=false",
        job=ray_job(),
        pods={"head": 1, "default-group": 2, "submitter": 1},
        asks={"cpu": "5500m", "memory": "5320Mi"},
    ),
    Sent(
        command="submit sparkjob",
        job=spark_job(),
        pods={"driver": 1, "executor": 2},
        asks={"cpu": "3", "memory": "2652Mi"},
    ),
    Sent(
        command="evaluate model",
        job=evaluation(),
        pods={"j1": 1},
        asks={"cpu": "2", "memory": "1Gi"},
    ),
)


def listed(job: Object, pods: Iterable[Object] = ()) -> str:
    """What Arena's list says of a TFJob or PyTorchJob that it made, by conditions and pods."""
    said = job.get("status", {}).get("conditions") or []
    true = {each["type"] for each in said if each["status"] == "True"}
    states: list[tuple[str, Callable[[], bool]]] = [
        ("SUCCEEDED", lambda: "Succeeded" in true),
        ("FAILED", lambda: "Failed" in true),
        ("PENDING", lambda: "Running" in true and any(map(is_pending, pods))),
        ("RUNNING", lambda: "Running" in true),
        ("QUEUING", lambda: "Queuing" in true),
    ]
    return next((state for state, holds in states if holds()), "PENDING")


def is_pending(pod: Object) -> bool:
    return pod.get("status", {}).get("phase", "Pending") == "Pending"
