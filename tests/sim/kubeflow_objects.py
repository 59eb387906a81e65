"""Jobs of the kubeflow kinds as the API server stores them, and one look at them at a time."""

from collections.abc import Mapping, Sequence
from typing import Any

from cluster_objects import NOW, accepted, ago, driven, owned_by

from kq.sim.control.objects import PODS
from kq.sim.control.view import Known
from kq.sim.control.writes import Create, Delete, Replace, Write
from kq.sim.kubeflow.trades import TF, Trade
from kq.sim.kubeflow.training import TrainingJobs

Object = dict[str, Any]

CREATED = {"type": "Created", "status": "True", "reason": "Created", "message": ""}
SUSPENDED = {"type": "Suspended", "status": "True", "reason": "Suspended", "message": ""}


def custom(
    api_version: str,
    kind: str,
    spec: Mapping[str, Any],
    *,
    status: Mapping[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Object:
    """An object of a custom kind that is called a."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": "a",
            "namespace": "n",
            "uid": "uid-a",
            "resourceVersion": "7",
            "creationTimestamp": ago(60),
            "generation": 1,
            **(meta or {}),
        },
        "spec": dict(spec),
        **({"status": dict(status)} if status is not None else {}),
    }


def template(container: str, **meta: Any) -> Object:
    """A pod template of one container."""
    return {"metadata": meta, "spec": {"containers": [{"name": container, "image": "i"}]}}


def training_job(
    trade: Trade = TF,
    *,
    policy: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    restart: str = "Never",
    spec: Mapping[str, Any] | None = None,
    **replicas: int,
) -> Object:
    """A job of training-operator with so many replicas by role."""
    roles = {
        role: {
            "replicas": count,
            "restartPolicy": restart,
            "template": template(trade.container, labels={"team": "x"}),
        }
        for role, count in (replicas or {"Chief": 1, "Worker": 2}).items()
    }
    body = {"runPolicy": dict(policy or {}), trade.replicas: roles, **(spec or {})}
    begun = {"conditions": [CREATED], "startTime": ago(30)}
    return custom("kubeflow.org/v1", trade.name, body, status=begun if status is None else status)


def member(
    job: Object,
    role: str,
    index: int,
    phase: str = "Running",
    *,
    deleted: bool = False,
    **more: Any,
) -> Object:
    """A pod of such a job."""
    name = f"{job['metadata']['name']}-{role}-{index}"
    meta = {
        "name": name,
        "namespace": "n",
        "uid": f"uid-{name}",
        "resourceVersion": "3",
        "labels": {
            "training.kubeflow.org/replica-type": role,
            "training.kubeflow.org/replica-index": str(index),
        },
        "ownerReferences": [owned_by(job)],
    }
    if deleted:
        meta["deletionTimestamp"] = ago(-30)
    return {"metadata": meta, "spec": {}, "status": {"phase": phase, **more}}


def exited(code: int, container: str = "tensorflow") -> Object:
    """What the status of a pod says of a container that ended."""
    ended = {"terminated": {"exitCode": code}}
    return {"containerStatuses": [{"name": container, "state": ended}]}


def look(job: Object, pods: Sequence[Object] = (), trade: Trade = TF) -> list[Write]:
    """All that one look at a job writes."""
    known = [Known(PODS, each) for each in pods]
    return driven(TrainingJobs(trade).sync(job, known, NOW), accepted)[0]


def status_in(writes: Sequence[Write], old: Object | None = None) -> Object:
    """The status that is written; what was before if none is."""
    written = [
        each.body for each in writes if isinstance(each, Replace) and each.subresource == "status"
    ]
    return dict(written[-1]["status"]) if written else dict((old or {}).get("status") or {})


def said(status: Mapping[str, Any]) -> list[str]:
    """The conditions that are True, in their order, and those that are not with a minus."""
    return [
        each["type"] if each["status"] == "True" else f"-{each['type']}"
        for each in status.get("conditions") or ()
    ]


def message(status: Mapping[str, Any]) -> str:
    """What the last condition says."""
    return str(status["conditions"][-1]["message"])


def made(writes: Sequence[Write]) -> list[str]:
    """The names of what is created."""
    return [str(each.body["metadata"]["name"]) for each in writes if isinstance(each, Create)]


def deleted(writes: Sequence[Write]) -> list[str]:
    """The names of what is deleted."""
    return [each.name for each in writes if isinstance(each, Delete)]
