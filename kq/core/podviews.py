"""Pods, and what decides how they are counted, read into views (see `kq.core.views`)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from kq.core import codec, keys
from kq.core.codec import mapping
from kq.core.demand import demand_of_pod
from kq.core.holders import controlled_by, of_app, of_unit
from kq.core.kinds import POD
from kq.core.model import Owner, PodView
from kq.core.podrequests import pod_request
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
    "training.kubeflow.org/job-role",
    "ray.io/group",
    "spark-role",
    "jobset.sigs.k8s.io/replicatedjob-name",
)
RAY_HEAD = {"headgroup": "head"}
JOB_UID = "batch.kubernetes.io/controller-uid"
JOB_NAME = "batch.kubernetes.io/job-name"
SPARK_APP = "sparkoperator.k8s.io/app-name"

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


def pod_decoder(
    owners: Collection[str], *, counts_foreign: bool, by_namespace: bool = False
) -> Callable[[bytes], PodView | None]:
    """Reads Pods that may be of a queued job; None for those that count nowhere (spec 11.9).

    `owners` are the kinds of objects that own the pods of such jobs. `by_namespace`: each pod
    counts to its namespace, for all that ResourceQuotas may count of it (spec 11.16).
    """
    kinds = frozenset(owners)

    def decode(raw: bytes) -> PodView | None:
        try:
            wire = _read(raw)
        except (msgspec.ValidationError, RecursionError):
            wire = _made_readable(raw)
        meta = wire.metadata
        owner = _owner_of(meta)
        led = owner is not None and owner.kind in kinds
        # A driver may be gone before its executors: they say themselves whose they are.
        by_pod = owner is not None and owner.kind == POD.kind
        holder = _holder(meta) if by_pod or not led else ""
        if not (led or holder or counts_foreign):
            return None
        if by_namespace:
            return _view(wire, owner, holder, meta.namespace, demand_of_pod(raw))
        labels = meta.labels or {}
        quota = next((labels[key] for key in keys.QUOTA_LABELS if labels.get(key)), "")
        return _view(wire, owner, holder, quota)

    return decode


def _owner_of(meta: _Meta) -> Owner | None:
    """Its controller; of a pod whose Job was deleted without it, the Job that it was of."""
    found = next((each for each in meta.ownerReferences or () if each.controller), None)
    if found is not None:
        return controlled_by(share(found.apiVersion), share(found.kind), found.name, found.uid)
    labels = meta.labels or {}
    uid = labels.get(JOB_UID)
    name = labels.get(JOB_NAME, "")
    return controlled_by("batch/v1", "Job", name, uid) if uid else None


def _holder(meta: _Meta) -> str:
    """What stands for the job of a pod whose owners lead to none (spec 8.23)."""
    unit = (meta.annotations or {}).get(keys.RELATED_UNIT, "")
    if unit.partition("/")[0] == meta.namespace and unit.partition("/")[2]:
        return of_unit(unit)
    app = (meta.labels or {}).get(SPARK_APP)
    return of_app(meta.namespace, app) if app else ""


def _view(
    wire: _Pod, owner: Owner | None, holder: str, quota: str, demand: Resources | None = None
) -> PodView | None:
    """A Pod that somebody answers for or that counts to a quota; None for any other."""
    meta = wire.metadata
    if owner is None and not holder and not quota:
        return None
    return PodView(
        namespace=share(meta.namespace),
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resourceVersion,
        owner=owner,
        holder=share(holder),
        quota=share(quota),
        pod_set=share(_role(meta.labels or {}, meta.annotations or {}).lower()),
        phase=share(wire.status.phase or "Pending"),
        deleted_at=codec.parse_time(meta.deletionTimestamp),
        request=demand
        or _request(
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


def _role(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """The pod set that the pod says it belongs to."""
    said = annotations.get(keys.RELATED_POD_SET)
    found = said or next((labels[key] for key in POD_SET_LABELS if labels.get(key)), "")
    return RAY_HEAD.get(found, found)


def _asked(containers: Sequence[_Container] | None) -> tuple[Asked, ...]:
    return tuple((bytes(each.resources), each.restartPolicy) for each in containers or ())


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
