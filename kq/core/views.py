"""Objects as the API server sends them, read into views.

One function a kind, bytes in, view out. What cannot be read at all raises DecodeError; a part that
cannot be read is told on the view (`defect`), so that one bad object never hides others.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from kq.core import codec, keys
from kq.core.kinds import Object
from kq.core.model import (
    Consumer,
    Grant,
    NamespaceView,
    Phase,
    PodSet,
    PodView,
    Queue,
    QueueUnit,
    Quota,
)
from kq.core.podrequests import pod_request
from kq.core.priority import PriorityClassView
from kq.core.resources import ZERO, Resources, parse_resources
from kq.core.shared import share
from kq.errors import DecodeError

OLD_PHASES = {
    "": Phase.ENQUEUED,
    "SchedReady": Phase.DEQUEUED,
    "SchedSucceed": Phase.DEQUEUED,
    "SchedFailed": Phase.ENQUEUED,
    "Preempted": Phase.DEQUEUED,
}
"""Phases that are read and never written (spec 9.2, 2.4)."""

PSEUDO_POD_SET = "koord-queue/default-requirement"
POD_SET_LABELS = (
    "pytorch-replica-type",
    "job-role",
    "training.kubeflow.org/replica-type",
    "replica-type",
    "ray.io/group",
    "spark-role",
    "jobset.sigs.k8s.io/replicatedjob-name",
)

decode_object: Callable[[bytes], dict[str, Any]] = msgspec.json.Decoder(dict[str, Any]).decode


def unit(raw: bytes) -> QueueUnit:
    """A QueueUnit; forms of others are read by spec 2.11."""
    body = decode_object(raw)
    meta, spec, status = (_map(body, part) for part in ("metadata", "spec", "status"))
    pod_sets, defect = _pod_sets(spec)
    phase = str(status.get("phase") or "")
    pods = _map(status, "podState")
    owner = next(iter(codec.owners(meta)), None)
    return QueueUnit(
        **codec.metadata(meta),
        created=codec.parse_time(meta.get("creationTimestamp")) or codec.EPOCH,
        deleting=bool(meta.get("deletionTimestamp")),
        labels=share(codec.strings(meta.get("labels"))),
        annotations=codec.own_annotations(meta.get("annotations")),
        owner_uid=owner.uid if owner else "",
        consumer=_consumer(_map(spec, "consumerRef")),
        priority=_int(spec.get("priority")),
        priority_class=str(spec.get("priorityClassName") or ""),
        queue=str(spec.get("queue") or ""),
        pod_sets=pod_sets,
        resource=_resources(spec.get("resource")),
        active=spec.get("active") is not False,
        phase=OLD_PHASES.get(phase) or (Phase(phase) if phase in list(Phase) else None),
        raw_phase=phase,
        message=str(status.get("message") or ""),
        attempts=_int(status.get("attempts")) or 0,
        allocated=codec.parse_time(status.get("lastAllocateTime")),
        updated=codec.parse_time(status.get("lastUpdateTime")),
        grants=_grants(status),
        pods_running=_int(pods.get("running")) or 0,
        pods_pending=_int(pods.get("pending")) or 0,
        conditions=codec.conditions(status.get("conditions")),
        defect=defect,
    )


def queue(raw: bytes) -> Queue:
    """A Queue; annotations under spec are read where metadata has none (spec 3.1)."""
    body = decode_object(raw)
    meta, spec, status = (_map(body, part) for part in ("metadata", "spec", "status"))
    annotations = codec.strings(spec.get("annotations"))
    annotations = {
        key: text
        for key, text in annotations.items()
        if key.startswith(("koord-queue/", "kube-queue/"))
    }
    counts = [
        _int(status.get(f"{each}Units")) or 0 for each in ("pending", "reserving", "admitted")
    ]
    active = _map(status, "queueItemDetails").get("active")
    return Queue(
        **codec.metadata(meta),
        created=codec.parse_time(meta.get("creationTimestamp")) or codec.EPOCH,
        deleting=bool(meta.get("deletionTimestamp")),
        labels=codec.strings(meta.get("labels")),
        annotations=annotations | codec.strings(meta.get("annotations")),
        policy=str(spec.get("queuePolicy") or ""),
        priority=_int(spec.get("priority")) or 0,
        stop_policy=str(spec.get("stopPolicy") or "None"),
        conditions=codec.conditions(status.get("conditions")),
        counts=(counts[0], counts[1], counts[2]),
        items=tuple(
            (
                str(each.get("name")),
                str(each.get("namespace")),
                _int(each.get("priority")) or 0,
                _int(each.get("position")) or 0,
            )
            for each in (active if isinstance(active, list) else ())
            if isinstance(each, Mapping)
        ),
        usage=codec.strings(status.get("usage")),
    )


def quota(raw: bytes) -> Quota:
    """An ElasticQuota; a limit that cannot be read counts as 0, a min that cannot as none."""
    body = decode_object(raw)
    meta, spec = _map(body, "metadata"), _map(body, "spec")
    labels = codec.strings(meta.get("labels"))
    limit, bad_limits = _limits(spec.get("max"), "max", unreadable=0)
    minimum, bad_minimums = _limits(spec.get("min"), "min", unreadable=None)
    below = tuple(
        f"max of {name} is below its min, so it counts as 0"
        for name, amount in limit.items()
        if amount < minimum.get(name, 0) and name not in {each.split(" ")[0] for each in bad_limits}
    )
    if below:
        dead = {text.split(" ")[2] for text in below}
        limit = Resources.of({k: 0 if k in dead else v for k, v in limit.items()})
    return Quota(
        **codec.metadata(meta),
        created=codec.parse_time(meta.get("creationTimestamp")) or codec.EPOCH,
        labels=labels,
        annotations=codec.strings(meta.get("annotations")),
        parent=labels.get(keys.PARENT_LABEL, ""),
        is_parent=labels.get(keys.IS_PARENT_LABEL, "").lower() == "true",
        limit=limit,
        minimum=minimum,
        defects=(*bad_limits, *bad_minimums, *below),
    )


def namespace(raw: bytes) -> NamespaceView:
    """A Namespace."""
    meta = _map(body := decode_object(raw), "metadata")
    return NamespaceView(
        **{**codec.metadata(meta), "namespace": ""},
        labels=codec.strings(meta.get("labels")),
        terminating=bool(meta.get("deletionTimestamp"))
        or _map(body, "status").get("phase") == "Terminating",
    )


def pod(raw: bytes) -> PodView | None:
    """A Pod that a controller owns or that carries a quota label; None for any other."""
    body = decode_object(raw)
    meta, spec, status = (_map(body, part) for part in ("metadata", "spec", "status"))
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
    meta = codec.metadata(_map(body, "metadata"))
    return PriorityClass(
        **meta,
        view=PriorityClassView(
            name=meta["name"],
            value=_int(body.get("value")) or 0,
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
    return Raw(**codec.metadata(_map(body, "metadata")), body={"spec": dict(_map(body, "spec"))})


def runtime_class(raw: bytes) -> Raw:
    """A RuntimeClass; its body is `overhead.podFixed`."""
    body = decode_object(raw)
    fixed = _map(_map(body, "overhead"), "podFixed")
    return Raw(**codec.metadata(_map(body, "metadata")), body=dict(fixed))


def _pod_sets(spec: Mapping[str, Any]) -> tuple[tuple[PodSet, ...], str | None]:
    """podSet, else a pseudo pod set of request, else of resource (spec 2.11)."""
    given = spec.get("podSet")
    if isinstance(given, Sequence) and given:
        sets = tuple(_pod_set(each) for each in given if isinstance(each, Mapping))
        return sets, next((each.template.defect for each in sets if each.template.defect), None)
    whole = spec.get("request") or spec.get("resource")
    if not whole:
        return (), None
    container = {"name": "main", "resources": {"requests": whole}}
    template = codec.template_of({"spec": {"containers": [container]}})
    return (PodSet(name=PSEUDO_POD_SET, count=1, wanted=1, template=template),), template.defect


def _pod_set(value: Mapping[str, Any]) -> PodSet:
    count = _int(value.get("count"))
    count = 1 if count is None else max(0, count)
    template = codec.template_of(_map(value, "template"))
    return PodSet(
        name=share(str(value.get("name") or "main")),
        count=count,
        wanted=count,
        template=template,
        min_count=_int(value.get("minCount")),
    )


def _grants(status: Mapping[str, Any]) -> tuple[Grant, ...]:
    """The grants; negative replicas read as 0, running as at most replicas (spec 22.1)."""
    grants = []
    for each in status.get("admissions") or ():
        if not isinstance(each, Mapping):
            continue
        replicas = max(0, _int(each.get("replicas")) or 0)
        running = min(replicas, max(0, _int(each.get("running")) or 0))
        grants.append(
            Grant(
                name=share(str(each.get("name") or "main")),
                replicas=replicas,
                running=running,
                resources=_resources(each.get("resources")),
            )
        )
    return tuple(grants)


def _request(spec: Mapping[str, Any]) -> Resources:
    """What the pod asks; nothing if it cannot be read, as the API server takes no such pod."""
    try:
        return pod_request(spec)
    except DecodeError:
        return ZERO


def _consumer(value: Mapping[str, Any]) -> Consumer | None:
    if not value.get("name"):
        return None
    fields = ("apiVersion", "kind", "name", "namespace", "uid")
    api_version, kind, name, namespace, uid = (str(value.get(each) or "") for each in fields)
    return Consumer(share(api_version), share(kind), name, share(namespace), uid)


def _limits(value: object, where: str, unreadable: int | None) -> tuple[Resources, tuple[str, ...]]:
    """Amounts one by one, so that a bad one spoils no other."""
    amounts: dict[str, int] = {}
    defects = []
    for name, text in value.items() if isinstance(value, Mapping) else ():
        try:
            amounts.update(parse_resources({name: text}, where).items())
        except DecodeError as err:
            defects.append(str(err))
            if unreadable is not None:
                amounts[str(name)] = unreadable
    return Resources.of(amounts), tuple(defects)


def _resources(value: object) -> Resources | None:
    try:
        return parse_resources(value, "resources") if isinstance(value, Mapping) else None
    except DecodeError:
        return None


def _map(parent: Object, key: str) -> Mapping[str, Any]:
    value = parent.get(key)
    return value if isinstance(value, Mapping) else {}


def _int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
