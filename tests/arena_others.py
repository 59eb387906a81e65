"""What Arena sends that is no job of a kind that is queued: elastic jobs, and Crons.

Of an elastic job its operator makes pods, and no job. Of a Cron another makes a TFJob at each turn.
"""

from collections.abc import Mapping
from typing import Any

from arena_jobs import PS_WORKER, PS_WORKER_ASKS, Object, Sent, both, job, marks, pod, tf_job

from kq.core.keys import QUOTA_LABELS

Kind = tuple[str, str, str]
"""API version, kind, plural name."""
ELASTIC: Kind = ("kai.alibabacloud.com/v1alpha1", "TrainingJob", "trainingjobs")
CRON: Kind = ("apps.kubedl.io/v1alpha1", "Cron", "crons")
OF_JOBS = ("app", "chart", "createdBy", "heritage", "release")
"""Labels that Arena puts on jobs and pods, but not on a Cron."""


def elastic_job() -> Object:
    """`submit etjob --workers 2 --cpu 1 --memory 1Gi --gpus 1 --queue`."""
    meta = marks("etjob", "etjob")
    leader = {**meta, "labels": {**meta["labels"], "master-pod-name": "j1-launcher"}}
    counts = {"replicas": 2, "minReplicas": 1, "maxReplicas": 1000}
    worker = pod("et", meta, both(cpu="1", memory="1Gi", gpu="1"))
    spec = {
        "backoffLimit": 6,
        "cleanPodPolicy": "Running",
        "etReplicaSpecs": {
            "launcher": {"replicas": 1, "template": pod("et", leader, both(cpu="1", memory="1Gi"))},
            "worker": {**counts, "template": worker},
        },
    }
    return job(*ELASTIC[:2], meta, spec)


def cron() -> Object:
    """`cron tfjob --ps 1 --workers 2 --queue`: the policy of the run stands in spec."""
    whole = tf_job(None, **PS_WORKER)
    meta = marks("tfjob", "Cron")
    del whole["metadata"]["name"], whole["metadata"]["namespace"]
    whole["metadata"] = meta
    del whole["spec"]["activeDeadlineSeconds"]
    for each in whole["spec"]["tfReplicaSpecs"].values():
        labels = {key: meta["labels"][key] for key in OF_JOBS}
        each["template"]["metadata"] = {**meta, "labels": labels}
        del each["template"]["spec"]["volumes"]
    own = {key: each for key, each in meta["labels"].items() if key not in OF_JOBS}
    spec = {
        "schedule": "0 3 * * *",
        "concurrencyPolicy": "Allow",
        "historyLimit": 10,
        "template": {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "workload": whole},
    }
    return job(*CRON[:2], {**meta, "labels": own}, spec)


def turn_of(cron: Object, *, at: int = 1772334000) -> Object:
    """The job that the Cron's operator makes at a time."""
    workload: Object = cron["spec"]["template"]["workload"]
    meta, name = workload["metadata"], cron["metadata"]["name"]
    named = {
        "name": f"{name}-{at}",
        "namespace": cron["metadata"]["namespace"],
        "labels": {**meta["labels"], "kubedl.io/cron-name": name},
        "ownerReferences": [owned_by(cron)],
    }
    return {**workload, "metadata": {**meta, **named}}


def owned_by(owner: Object) -> Object:
    """The reference to the object that made another."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"].get("uid", "u-1"),
        "controller": True,
        "blockOwnerDeletion": True,
    }


TURN = Sent(
    command="cron tfjob --ps 1 --workers 2, at its turn",
    job=turn_of(cron()),
    pods={"ps": 1, "worker": 2},
    asks=PS_WORKER_ASKS,
)


def looks(value: Any) -> Any:
    """What a queue may look at of an object, without what differs from place to place."""
    if isinstance(value, list):
        return [looks(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    return {
        key: sorted(each.keys() - ADDED) if key in ("labels", "annotations") else looks(each)
        for key, each in value.items()
        if each != {} and key not in PLACED
    }


ADDED = {QUOTA_LABELS[0], "kubectl.kubernetes.io/last-applied-configuration"}
IN_METADATA = ("name", "namespace", "uid", "creationTimestamp", "generation", "managedFields")
IN_CONTAINERS = ("command", "env", "image", "imagePullPolicy", "ports", "volumeMounts")
PLACED = {*IN_METADATA, "resourceVersion", *IN_CONTAINERS, "volumes", "workingDir"}
