"""What KubeRay makes of a RayJob: its cluster, and the Job that submits to it."""

from collections.abc import Mapping
from typing import Any, Final

from kq.core.kinds import Object
from kq.sim.control.objects import JOBS, controller_reference, place_of, status_of
from kq.sim.control.writes import Create
from kq.sim.ray.parts import OPERATOR, RAY_CLUSTERS

CONTAINER: Final = "ray-job-submitter"
RESOURCES: Final = {
    "limits": {"cpu": "1", "memory": "1Gi"},
    "requests": {"cpu": "500m", "memory": "200Mi"},
}
BACKOFF_LIMIT: Final = 2
MODE: Final = "K8sJobMode"


def is_submitted_by_job(job: Object) -> bool:
    """Whether a Job of its own submits it."""
    return bool((job["spec"].get("submissionMode") or MODE) == MODE)


def cluster_of(job: Object) -> Create:
    """The cluster of a RayJob, by the name that its status has for it."""
    namespace, _ = place_of(job)
    mode = job["spec"].get("submissionMode") or MODE
    labels = {**_origin(job), "ray.io/job-submission-mode": mode}
    meta = {
        "name": status_of(job)["rayClusterName"],
        "labels": {**(job["metadata"].get("labels") or {}), **labels},
        "annotations": dict(job["metadata"].get("annotations") or {}),
        "ownerReferences": [controller_reference(job)],
    }
    body = {
        "apiVersion": job["apiVersion"],
        "kind": "RayCluster",
        "metadata": meta,
        "spec": _with_sidecar(job) if mode == "SidecarMode" else job["spec"]["rayClusterSpec"],
    }
    return Create(kind=RAY_CLUSTERS, namespace=namespace, body=body)


def submitter_of(job: Object) -> Create:
    """The Job that submits it, which has the RayJob's name."""
    namespace, name = place_of(job)
    limit = (job["spec"].get("submitterConfig") or {}).get("backoffLimit")
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "labels": {"app.kubernetes.io/created-by": OPERATOR, **_origin(job)},
            "ownerReferences": [controller_reference(job)],
        },
        "spec": {
            "backoffLimit": BACKOFF_LIMIT if limit is None else limit,
            "template": job["spec"].get("submitterPodTemplate") or _template(job),
        },
    }
    return Create(kind=JOBS, namespace=namespace, body=body)


def _with_sidecar(job: Object) -> Mapping[str, Any]:
    """The cluster's spec with a head that submits the job."""
    spec = job["spec"]["rayClusterSpec"]
    group = spec["headGroupSpec"]
    pod = group["template"]["spec"]
    containers = [*pod["containers"], _container(job)]
    pod = {**pod, "containers": containers, "restartPolicy": "Never"}
    group = {**group, "template": {**group["template"], "spec": pod}}
    return {**spec, "headGroupSpec": group}


def _origin(job: Object) -> dict[str, str]:
    return {
        "ray.io/originated-from-cr-name": place_of(job)[1],
        "ray.io/originated-from-crd": "RayJob",
    }


def _template(job: Object) -> Mapping[str, Any]:
    return {"spec": {"restartPolicy": "Never", "containers": [_container(job)]}}


def _container(job: Object) -> Mapping[str, Any]:
    head = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
    return {"name": CONTAINER, "image": head["image"], "resources": RESOURCES}
