"""Pods, and what decides how they are counted, read into views (see `kq.core.views`)."""

from collections.abc import Mapping
from typing import Any

import msgspec

from kq.core import codec, keys
from kq.core.codec import integer, mapping
from kq.core.model import PodView
from kq.core.podrequests import pod_request
from kq.core.priority import PriorityClassView
from kq.core.resources import ZERO, Resources
from kq.core.shared import share
from kq.core.views import decode_object
from kq.errors import DecodeError

POD_SET_LABELS = (
    "pytorch-replica-type",
    "job-role",
    "training.kubeflow.org/replica-type",
    "replica-type",
    "ray.io/group",
    "spark-role",
    "jobset.sigs.k8s.io/replicatedjob-name",
)


def pod(raw: bytes) -> PodView | None:
    """A Pod that a controller owns or that carries a quota label; None for any other."""
    body = decode_object(raw)
    meta, spec, status = (mapping(body, part) for part in ("metadata", "spec", "status"))
    labels = codec.strings(meta.get("labels"))
    owner = next((each for each in codec.owners(meta) if each.controller), None)
    name = next((labels[key] for key in keys.QUOTA_LABELS if labels.get(key)), "")
    if owner is None and not name:
        return None
    annotations = codec.strings(meta.get("annotations"))
    role = annotations.get(keys.RELATED_POD_SET) or next(
        (labels[key] for key in POD_SET_LABELS if labels.get(key)), ""
    )
    return PodView(
        **codec.metadata(meta),
        owner=owner,
        quota=share(name),
        pod_set=share(role.lower()),
        phase=share(str(status.get("phase") or "Pending")),
        deleted_at=codec.parse_time(meta.get("deletionTimestamp")),
        request=_request(spec),
    )


class PriorityClass(msgspec.Struct, frozen=True, kw_only=True):
    """A PriorityClass in the informer's terms."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    view: PriorityClassView


def priority_class(raw: bytes) -> PriorityClass:
    """A PriorityClass."""
    body = decode_object(raw)
    meta = codec.metadata(mapping(body, "metadata"))
    return PriorityClass(
        **meta,
        view=PriorityClassView(
            name=meta["name"],
            value=integer(body.get("value")) or 0,
            global_default=body.get("globalDefault") is True,
            preemption_policy=str(body.get("preemptionPolicy") or "PreemptLowerPriority"),
        ),
    )


class Raw(msgspec.Struct, frozen=True, kw_only=True):
    """A small object of which a part is kept as it is (LimitRange spec, RuntimeClass overhead)."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    body: dict[str, Any]


def limit_range(raw: bytes) -> Raw:
    """A LimitRange; its body is the object without metadata but the name."""
    body = decode_object(raw)
    return Raw(
        **codec.metadata(mapping(body, "metadata")), body={"spec": dict(mapping(body, "spec"))}
    )


def runtime_class(raw: bytes) -> Raw:
    """A RuntimeClass; its body is `overhead.podFixed`."""
    body = decode_object(raw)
    fixed = mapping(mapping(body, "overhead"), "podFixed")
    return Raw(**codec.metadata(mapping(body, "metadata")), body=dict(fixed))


def _request(spec: Mapping[str, Any]) -> Resources:
    """What the pod asks; nothing if it cannot be read, as the API server takes no such pod."""
    try:
        return pod_request(spec)
    except DecodeError:
        return ZERO
