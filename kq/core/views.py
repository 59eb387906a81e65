"""Objects as the API server sends them, read into views.

One function a kind, bytes in, view out. What cannot be read at all raises DecodeError; a part that
cannot be read is told on the view (`defect`), so that one bad object never hides others.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from kq.core import codec, unitread
from kq.core.checks import answers
from kq.core.codec import integer, listed, mapping
from kq.core.model import (
    UNTOLD,
    Consumer,
    Grant,
    NamespaceView,
    PodSet,
    Queue,
    QueueUnit,
    Requeue,
)
from kq.core.nesting import shallow
from kq.core.resources import Resources, parse_resources
from kq.core.shared import share
from kq.errors import DecodeError

PSEUDO_POD_SET = "koord-queue/default-requirement"
_decode: Callable[[bytes], dict[str, Any]] = msgspec.json.Decoder(dict[str, Any]).decode


def decode_object(raw: bytes) -> dict[str, Any]:
    """The object as a map; msgspec.DecodeError for what is no JSON map."""
    try:
        return _decode(raw)
    except RecursionError:
        return _decode(shallow(bytes(raw)))


def unit(raw: bytes, texts_of: unitread.TextsOf | None = None) -> QueueUnit:
    """A QueueUnit; forms of others are read by spec 2.11."""
    try:
        wire = unitread.read(raw)
        return unitread.view(wire, texts_of) if wire.spec.podSet else unit_of_any_form(raw)
    except msgspec.ValidationError:
        return unit_of_any_form(raw)
    except RecursionError:
        return unit_of_any_form(shallow(bytes(raw)))


def unit_of_any_form(raw: bytes) -> QueueUnit:
    """A unit that somebody else wrote: each part for itself, whatever stands there (22.1)."""
    body = decode_object(raw)
    meta, spec, status = (mapping(body, part) for part in ("metadata", "spec", "status"))
    pod_sets, defect = _pod_sets(spec)
    phase = str(status.get("phase") or "")
    pods = mapping(status, "podState")
    owner = next(iter(codec.owners(meta)), None)
    return QueueUnit(
        **codec.metadata(meta),
        created=codec.parse_time(meta.get("creationTimestamp")) or codec.EPOCH,
        deleting=bool(meta.get("deletionTimestamp")),
        labels=share(codec.strings(meta.get("labels"))),
        annotations=codec.kept_annotations(meta.get("annotations")),
        owner_uid=owner.uid if owner else "",
        consumer=_consumer(mapping(spec, "consumerRef")),
        priority=integer(spec.get("priority")),
        priority_class=str(spec.get("priorityClassName") or ""),
        queue=str(spec.get("queue") or ""),
        pod_sets=pod_sets,
        resource=_resources(spec.get("resource")),
        active=spec.get("active") is not False,
        longest_seconds=integer(spec.get("maximumExecutionTimeSeconds")),
        phase=unitread.PHASES.get(phase),
        raw_phase=phase,
        message=str(status.get("message") or ""),
        attempts=integer(status.get("attempts")) or 0,
        allocated=codec.parse_time(status.get("lastAllocateTime")),
        updated=codec.parse_time(status.get("lastUpdateTime")),
        grants=_grants(status),
        pods_running=integer(pods.get("running")) or 0,
        pods_pending=integer(pods.get("pending")) or 0,
        past_seconds=integer(status.get("accumulatedPastExecutionTimeSeconds")) or 0,
        requeue=_requeue(status.get("requeueState")),
        conditions=codec.conditions(status.get("conditions")),
        checks=answers(status.get("admissionChecks")),
        defect=defect,
    )


def queue(raw: bytes) -> Queue:
    """A Queue; annotations under spec are read where metadata has none (spec 3.1)."""
    body = decode_object(raw)
    meta, spec, status = (mapping(body, part) for part in ("metadata", "spec", "status"))
    annotations = codec.strings(spec.get("annotations"))
    annotations = {
        key: text
        for key, text in annotations.items()
        if key.startswith(("koord-queue/", "kube-queue/"))
    }
    counts = [
        integer(status.get(f"{each}Units", UNTOLD)) or 0
        for each in ("pending", "reserving", "admitted")
    ]
    active = mapping(status, "queueItemDetails").get("active")
    return Queue(
        **codec.metadata(meta),
        created=codec.parse_time(meta.get("creationTimestamp")) or codec.EPOCH,
        deleting=bool(meta.get("deletionTimestamp")),
        labels=codec.strings(meta.get("labels")),
        annotations=annotations | codec.strings(meta.get("annotations")),
        policy=str(spec.get("queuePolicy") or ""),
        priority=integer(spec.get("priority")) or 0,
        stop_policy=str(spec.get("stopPolicy") or "None"),
        conditions=codec.conditions(status.get("conditions")),
        counts=(counts[0], counts[1], counts[2]),
        items=tuple(
            (
                str(each.get("name")),
                str(each.get("namespace")),
                integer(each.get("priority")) or 0,
                integer(each.get("position")) or 0,
            )
            for each in (active if isinstance(active, list) else ())
            if isinstance(each, Mapping)
        ),
        usage=codec.strings(status.get("usage")),
        generation=integer(meta.get("generation")) or 0,
        observed=integer(status.get("observedGeneration")) or 0,
    )


def namespace(raw: bytes) -> NamespaceView:
    """A Namespace."""
    meta = mapping(body := decode_object(raw), "metadata")
    return NamespaceView(
        **{**codec.metadata(meta), "namespace": ""},
        labels=codec.strings(meta.get("labels")),
        terminating=bool(meta.get("deletionTimestamp"))
        or mapping(body, "status").get("phase") == "Terminating",
    )


def _pod_sets(spec: Mapping[str, Any]) -> tuple[tuple[PodSet, ...], str | None]:
    """podSet, else a pseudo pod set of request, else of resource (spec 2.11)."""
    given = listed(spec, "podSet")
    if given:
        sets = tuple(_pod_set(each) for each in given if isinstance(each, Mapping))
        return sets, next((each.template.defect for each in sets if each.template.defect), None)
    whole = spec.get("request") or spec.get("resource")
    if not whole:
        return (), None
    container = {"name": "main", "resources": {"requests": whole}}
    template = codec.template_of({"spec": {"containers": [container]}})
    return (PodSet(name=PSEUDO_POD_SET, count=1, wanted=1, template=template),), template.defect


def _pod_set(value: Mapping[str, Any]) -> PodSet:
    count = integer(value.get("count"))
    count = 1 if count is None else max(0, count)
    template = codec.template_of(mapping(value, "template"))
    return PodSet(
        name=share(str(value.get("name") or "main")),
        count=count,
        wanted=count,
        template=template,
        min_count=integer(value.get("minCount")),
    )


def _grants(status: Mapping[str, Any]) -> tuple[Grant, ...]:
    """The grants; negative replicas read as 0, running as at most replicas (spec 22.1)."""
    grants = []
    for each in listed(status, "admissions"):
        if not isinstance(each, Mapping):
            continue
        replicas = max(0, integer(each.get("replicas")) or 0)
        running = min(replicas, max(0, integer(each.get("running")) or 0))
        grants.append(
            Grant(
                name=share(str(each.get("name") or "main")),
                replicas=replicas,
                running=running,
                resources=_resources(each.get("resources")),
                reclaim=max(0, integer(mapping(each, "reclaimState").get("replicas")) or 0),
            )
        )
    return tuple(grants)


def _requeue(value: object) -> Requeue | None:
    if not isinstance(value, Mapping):
        return None
    return Requeue(integer(value.get("count")) or 0, codec.parse_time(value.get("requeueAt")))


def _consumer(value: Mapping[str, Any]) -> Consumer | None:
    if not value.get("name"):
        return None
    fields = ("apiVersion", "kind", "name", "namespace", "uid")
    api_version, kind, name, namespace, uid = (str(value.get(each) or "") for each in fields)
    return Consumer(share(api_version), share(kind), name, share(namespace), uid)


def _resources(value: object) -> Resources | None:
    try:
        return parse_resources(value, "resources") if isinstance(value, Mapping) else None
    except DecodeError:
        return None
