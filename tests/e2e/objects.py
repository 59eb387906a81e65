"""Manifests of what scenarios submit, as a person would write them."""

from collections.abc import Mapping
from typing import Any

from ground import Object

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, JOB, QUEUE_UNIT

Amounts = Mapping[str, int | str]


def elastic_quota(
    name: str,
    namespace: str,
    limits: Amounts,
    *,
    minimum: Amounts | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """A quota by its max."""
    return {
        "apiVersion": ELASTIC_QUOTA.api_version,
        "kind": ELASTIC_QUOTA.kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
        },
        "spec": {"max": amounts(limits), "min": amounts(minimum or {})},
    }


def job(
    name: str,
    namespace: str,
    requests: Amounts,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    played: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
    pod_spec: Mapping[str, Any] | None = None,
) -> Object:
    """A Job of one container; `played` steers how its pods run."""
    container = {"name": "main", "image": "busybox:stable"}
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
        },
        "spec": {
            **(spec or {}),
            "template": {
                "metadata": {"annotations": dict(played or {})},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{**container, "resources": {"requests": amounts(requests)}}],
                    **(pod_spec or {}),
                },
            },
        },
    }


def queue_unit(name: str, namespace: str, spec: Mapping[str, Any], quota: str = "") -> Object:
    """A unit made by hand."""
    labels = {keys.QUOTA_LABEL: quota} if quota else {}
    return {
        "apiVersion": QUEUE_UNIT.api_version,
        "kind": QUEUE_UNIT.kind,
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": dict(spec),
    }


def amounts(given: Amounts) -> dict[str, str]:
    """Quantities as texts."""
    return {name: str(amount) for name, amount in given.items()}
