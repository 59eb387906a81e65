"""The launcher and the workers of an MPIJob, as mpi-operator makes them."""

from collections.abc import Mapping
from typing import Any

from kq.core.kinds import Object
from kq.sim.control.objects import JOBS, PODS, controller_reference, place_of
from kq.sim.control.writes import Create
from kq.sim.kubeflow.replicas import (
    JOB_NAME,
    JOB_ROLE,
    OPERATOR_NAME,
    REPLICA_INDEX,
    Role,
    is_held,
    metadata_of,
    pod_of,
    pod_spec,
    policy_of,
    spec_of,
)

OPERATOR = "mpi-operator"

_SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates")
_LIMITS = ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit")


def launcher_name(job: Object) -> str:
    """The name of the launcher's Job."""
    return f"{place_of(job)[1]}-launcher"


def worker(job: Object, role: Role, index: int) -> Create:
    """The pod of one worker."""
    namespace, job_name = place_of(job)
    name = f"{job_name}-worker-{index}"
    # The launcher is the first worker, where it works.
    number = index + 1 if spec_of(job).get("runLauncherAsWorker") else index
    labels = {**_labels(job, "worker"), REPLICA_INDEX: str(number)}
    more = {"hostname": name, "subdomain": job_name}
    return Create(kind=PODS, namespace=namespace, body=pod_of(job, role, name, labels, more))


def launcher(job: Object, role: Role) -> Create:
    """The Job whose one pod launches; suspended as the MPIJob is."""
    namespace, name = place_of(job)
    policy = policy_of(job)
    spec: dict[str, Any] = {key: policy[key] for key in _LIMITS if key in policy}
    if is_held(job):
        spec["suspend"] = True
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": launcher_name(job),
            "labels": {"app": name},
            "ownerReferences": [controller_reference(job)],
        },
        "spec": {**spec, "template": _template(job, role)},
    }
    return Create(kind=JOBS, namespace=namespace, body=body)


def released(launcher_job: Object, job: Object, role: Role) -> dict[str, Any]:
    """The launcher's Job to be resumed, with what the MPIJob says by now of where it may run."""
    spec, wanted = launcher_job["spec"], _template(job, role)
    template = spec["template"]
    meta = template.get("metadata") or {}
    merged = {
        key: {**(meta.get(key) or {}), **(wanted["metadata"].get(key) or {})}
        for key in ("labels", "annotations")
    }
    kept = {key: each for key, each in template["spec"].items() if key not in _SCHEDULING}
    placed = {key: wanted["spec"][key] for key in _SCHEDULING if key in wanted["spec"]}
    made = {"metadata": {**meta, **merged}, "spec": {**kept, **placed}}
    return {**launcher_job, "spec": {**spec, "template": made, "suspend": False}}


def _template(job: Object, role: Role) -> dict[str, Any]:
    labels = _labels(job, "launcher")
    if spec_of(job).get("runLauncherAsWorker"):
        labels[REPLICA_INDEX] = "0"
    more: Mapping[str, Any] = {"hostname": launcher_name(job), "subdomain": place_of(job)[1]}
    return {"metadata": metadata_of(role.template, labels), "spec": pod_spec(role, more)}


def _labels(job: Object, role: str) -> dict[str, str]:
    return {JOB_NAME: place_of(job)[1], JOB_ROLE: role, OPERATOR_NAME: OPERATOR}
