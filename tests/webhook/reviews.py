"""Builders of reviews and answers for the tests of the webhook."""

import base64
import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import jsonpatch

from kq.core.keys import is_label_value
from kq.core.model import NamespaceView
from kq.jobs import make_integrations
from kq.jobs.options import JobOptions
from kq.quota.resolve import labelled_quota
from kq.settings import Settings
from kq.webhook.mutate import mutate
from kq.webhook.review import Request, Response, decode, encode

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
QUOTA_LABEL = "quota.scheduling.koordinator.sh/name"
UID = "705ab4f5-6393-11e8-b7cc-42010a800002"

ENABLED = {
    (each.kinds[0].group, each.kinds[0].kind): each
    for each in make_integrations(["job"], JobOptions())
}


@dataclass(frozen=True)
class FakeWorld:
    """Namespaces, and the quota to which each is mapped; labels go first."""

    namespaces: Mapping[str, NamespaceView] = field(default_factory=dict)
    mapped: Mapping[str, str] = field(default_factory=lambda: {"team-a": "team-a"})

    def namespace(self, name: str) -> NamespaceView | None:
        return self.namespaces.get(name)

    def quota_of(self, labels: Mapping[str, str], namespace: str) -> str | None:
        return labelled_quota(labels) or self.mapped.get(namespace)

    def label_of(self, quota: str) -> str | None:
        return quota if is_label_value(quota) else None


def namespace(name: str, **labels: str) -> NamespaceView:
    return NamespaceView(
        name=name, labels={key.replace("__", "/"): value for key, value in labels.items()}
    )


def a_job(**metadata: Any) -> dict[str, Any]:
    """The Job of case A1."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j1", "namespace": "team-a", **metadata},
        "spec": {
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [
                        {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}
                    ],
                }
            }
        },
    }


def a_review(job: Any = None, **request: Any) -> dict[str, Any]:
    """The review that an API server sends for the CREATE of a job."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": UID,
            "kind": {"group": "batch", "version": "v1", "kind": "Job"},
            "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
            "requestKind": {"group": "batch", "version": "v1", "kind": "Job"},
            "name": "j1",
            "namespace": "team-a",
            "operation": "CREATE",
            "userInfo": {"username": "alice", "groups": ["system:authenticated"]},
            "object": a_job() if job is None else job,
            "oldObject": None,
            "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
            **request,
        },
    }


def asked(job: Any = None, **request: Any) -> Request:
    """The same, decoded."""
    found = decode(json.dumps(a_review(job, **request)).encode())
    assert isinstance(found, Request)
    return found


def answer(
    job: Any = None, *, world: Any = None, settings: Settings | None = None, **request: Any
) -> Response:
    """What the webhook says to the CREATE of a job."""
    return mutate(
        asked(job, **request),
        integrations=ENABLED,
        world=world or FakeWorld(),
        settings=settings or Settings(),
        now=NOW,
    )


def stored(job: dict[str, Any], response: Response) -> dict[str, Any]:
    """The job as the API server would store it: the answer's patch, applied by another library."""
    return applied(job, json.loads(encode(response)))


def applied(job: dict[str, Any], review: dict[str, Any]) -> dict[str, Any]:
    """The job with the patch of an answer as it came over the wire."""
    said = review["response"]
    assert said["allowed"]
    assert ("patch" in said) == ("patchType" in said)
    operations = json.loads(base64.b64decode(said["patch"])) if "patch" in said else []
    patched: dict[str, Any] = jsonpatch.apply_patch(copy.deepcopy(job), operations)
    return patched


def held(job: dict[str, Any], injected: str, quota: str = "team-a") -> dict[str, Any]:
    """The job as it must be once it is held."""
    job = copy.deepcopy(job)
    job["spec"]["suspend"] = True
    metadata = job["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), QUOTA_LABEL: quota}
    metadata["annotations"] = {
        **(metadata.get("annotations") or {}),
        "koord-queue/job-has-enqueued": "true",
        "koord-queue/job-enqueue-timestamp": "2026-03-01T12:00:00Z",
        "koord-queue/injected": injected,
    }
    template = job["spec"]["template"]
    template["metadata"] = {**(template.get("metadata") or {})}
    template["metadata"]["labels"] = {
        **(template["metadata"].get("labels") or {}),
        QUOTA_LABEL: quota,
    }
    return job
