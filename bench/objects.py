"""What is submitted, as Python objects and as the bytes that are sent."""

from collections.abc import Mapping
from typing import Any

import msgspec

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, JOB

Object = dict[str, Any]

NAMESPACE = "bench"
QUOTA = "bench"
OF_KQ: Mapping[str, str] = {keys.QUOTA_LABEL: QUOTA}
"""What a job carries to be queued by kq."""

MILLICPU = 100
"""What each job asks for: so the two nodes have room for 20,000 at once."""

REVIEWED_BYTES = 6000
FOREVER = "forever"


def quota(places: int) -> Object:
    """A quota with room for so many jobs."""
    limits = {"cpu": f"{places * MILLICPU}m"}
    return {
        "apiVersion": ELASTIC_QUOTA.api_version,
        "kind": ELASTIC_QUOTA.kind,
        "metadata": {"name": QUOTA, "namespace": NAMESPACE},
        "spec": {"max": limits, "min": limits},
    }


def job(
    name: str,
    run_for: str,
    environment: Mapping[str, str] | None = None,
    labels: Mapping[str, str] = OF_KQ,
) -> Object:
    """A job of one pod that runs that long, as a person writes it: without `suspend`."""
    container: Object = {
        "name": "main",
        "image": "busybox:stable",
        "resources": {"requests": {"cpu": f"{MILLICPU}m"}},
    }
    if environment:
        container["env"] = [{"name": key, "value": text} for key, text in environment.items()]
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": dict(labels)},
        "spec": {
            "template": {
                "metadata": {"annotations": {"run-for": run_for}},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            }
        },
    }


def jobs(count: int, run_for: str, labels: Mapping[str, str] = OF_KQ) -> list[bytes]:
    """So many jobs, ready to be sent."""
    names = [f"job-{number:05}" for number in range(count)]
    return [msgspec.json.encode(job(name, run_for, labels=labels)) for name in names]


def reviewed_job() -> Object:
    """A job of about 6 kB: most of it environment, as with jobs of people."""
    environment: dict[str, str] = {}
    made = job("reviewed", "0s")
    while len(msgspec.json.encode(made)) < REVIEWED_BYTES:
        environment[f"SETTING_{len(environment):03}"] = f"value-{len(environment):040}"
        made = job("reviewed", "0s", environment)
    return made


def reviews(count: int) -> list[bytes]:
    """AdmissionReviews of its creation as API servers send them; only the uid differs."""
    made = reviewed_job()
    return [msgspec.json.encode(_review(made, number)) for number in range(count)]


def _review(made: Object, number: int) -> Object:
    kind = {"group": JOB.group, "version": JOB.version, "kind": JOB.kind}
    resource = {"group": JOB.group, "version": JOB.version, "resource": JOB.plural}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": f"705ab4f5-6393-11e8-b7cc-{number:012x}",
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": made["metadata"]["name"],
            "namespace": NAMESPACE,
            "operation": "CREATE",
            "userInfo": {
                "username": "kubernetes-admin",
                "groups": ["system:masters", "system:authenticated"],
            },
            "object": made,
            "oldObject": None,
            "dryRun": False,
            "options": {
                "kind": "CreateOptions",
                "apiVersion": "meta.k8s.io/v1",
                "fieldManager": "kubectl-create",
                "fieldValidation": "Strict",
            },
        },
    }
