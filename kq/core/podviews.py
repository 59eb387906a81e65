"""Pods, and what decides how they are counted, read into views (see `kq.core.views`)."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from kq.core import codec, keys
from kq.core.codec import integer, mapping
from kq.core.model import Owner, PodView
from kq.core.podrequests import pod_request
from kq.core.priority import PriorityClassView
from kq.core.resources import ZERO, Resources
from kq.core.shared import share
from kq.core.unitread import NOTHING
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


Asked = tuple[bytes, str | None]
"""What one container asks for, as JSON, and its restart policy."""


class _Owner(msgspec.Struct, frozen=True, gc=False):
    apiVersion: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class _Meta(msgspec.Struct, frozen=True, gc=False):
    name: str
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""
    deletionTimestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    ownerReferences: list[_Owner] | None = None


class _Container(msgspec.Struct, frozen=True, gc=False):
    resources: msgspec.Raw = NOTHING
    restartPolicy: str | None = None


class _Spec(msgspec.Struct, frozen=True, gc=False):
    containers: list[_Container] | None = None
    initContainers: list[_Container] | None = None
    overhead: msgspec.Raw = NOTHING
    resources: msgspec.Raw = NOTHING


class _Status(msgspec.Struct, frozen=True, gc=False):
    phase: str = "Pending"


class _Pod(msgspec.Struct, frozen=True, gc=False):
    metadata: _Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()


_read: Callable[[bytes], _Pod] = msgspec.json.Decoder(_Pod).decode


def pod(raw: bytes) -> PodView | None:
    """A Pod that a controller owns or that carries a quota label; None for any other."""
    try:
        wire = _read(raw)
    except (msgspec.ValidationError, RecursionError):
        wire = _made_readable(raw)
    meta = wire.metadata
    labels = meta.labels or {}
    owner = next((each for each in meta.ownerReferences or () if each.controller), None)
    name = next((labels[key] for key in keys.QUOTA_LABELS if labels.get(key)), "")
    if owner is None and not name:
        return None
    return PodView(
        namespace=share(meta.namespace),
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resourceVersion,
        owner=_owner(owner) if owner else None,
        quota=share(name),
        pod_set=share(_role(labels, meta.annotations or {}).lower()),
        phase=share(wire.status.phase or "Pending"),
        deleted_at=codec.parse_time(meta.deletionTimestamp),
        request=_request(
            _asked(wire.spec.containers),
            _asked(wire.spec.initContainers),
            bytes(wire.spec.overhead),
            bytes(wire.spec.resources),
        ),
    )


def _made_readable(raw: bytes) -> _Pod:
    """A pod of which some part is of no right type: that part counts as absent, none hides others.

    The API server takes no such pod; if one came all the same, it would run and must count.
    """
    body = decode_object(raw)
    meta, spec, status = (mapping(body, part) for part in ("metadata", "spec", "status"))
    known = codec.metadata(meta)
    whole = {
        "metadata": {
            "name": known["name"],
            "namespace": known["namespace"],
            "uid": known["uid"],
            "resourceVersion": known["resource_version"],
            "deletionTimestamp": meta.get("deletionTimestamp"),
            "labels": codec.strings(meta.get("labels")),
            "annotations": codec.strings(meta.get("annotations")),
            "ownerReferences": [
                {
                    "apiVersion": each.api_version,
                    "kind": each.kind,
                    "name": each.name,
                    "uid": each.uid,
                    "controller": each.controller,
                }
                for each in codec.owners(meta)
            ],
        },
        "spec": {
            "containers": _readable(codec.listed(spec, "containers")),
            "initContainers": _readable(codec.listed(spec, "initContainers")),
            "overhead": spec.get("overhead"),
            "resources": spec.get("resources"),
        },
        "status": {"phase": str(status.get("phase") or "Pending")},
    }
    try:
        return _read(msgspec.json.encode(whole))
    except msgspec.ValidationError as err:
        raise DecodeError(f"not a Pod: {err}") from err


def _readable(containers: Sequence[object]) -> list[dict[str, Any]]:
    """Of containers that are maps, what is read of them."""
    return [
        {
            "resources": each.get("resources"),
            "restartPolicy": codec.strings(each).get("restartPolicy"),
        }
        for each in containers
        if isinstance(each, Mapping)
    ]


def _owner(wire: _Owner) -> Owner:
    return Owner(share(wire.apiVersion), share(wire.kind), wire.name, wire.uid, controller=True)


def _role(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """The pod set that the pod says it belongs to."""
    return annotations.get(keys.RELATED_POD_SET) or next(
        (labels[key] for key in POD_SET_LABELS if labels.get(key)), ""
    )


def _asked(containers: Sequence[_Container] | None) -> tuple[Asked, ...]:
    return tuple((bytes(each.resources), each.restartPolicy) for each in containers or ())


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


@lru_cache(8192)
def _request(
    containers: tuple[Asked, ...], inits: tuple[Asked, ...], overhead: bytes, resources: bytes
) -> Resources:
    """What such a pod asks; nothing if it cannot be read, as the API server takes no such pod."""
    spec = {
        "containers": list(map(_container, containers)),
        "initContainers": list(map(_container, inits)),
        "overhead": msgspec.json.decode(overhead),
        "resources": msgspec.json.decode(resources),
    }
    try:
        return pod_request(spec)
    except DecodeError:
        return ZERO


def _container(asked: Asked) -> dict[str, Any]:
    return {"resources": msgspec.json.decode(asked[0]), "restartPolicy": asked[1]}
