"""QueueUnits as they nearly always are: read in one pass into types, ten times as fast as a map.

What is not of these types raises msgspec.ValidationError; `kq.core.views` then reads it by parts.
What is equal in many units is found by its bytes: the API server sends equal values as equal bytes.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from kq.core import codec
from kq.core.checks import answers_of_json
from kq.core.model import Condition, Consumer, Grant, Phase, PodSet, QueueUnit, Requeue
from kq.core.resources import Resources, parse_resources
from kq.core.shared import share
from kq.errors import DecodeError

PHASES = {
    **{phase.value: phase for phase in Phase},
    "": Phase.ENQUEUED,
    "SchedReady": Phase.DEQUEUED,
    "SchedSucceed": Phase.DEQUEUED,
    "SchedFailed": Phase.ENQUEUED,
    "Preempted": Phase.DEQUEUED,
}
"""Phases by their names on the wire; the old ones are read and never written (spec 9.2, 2.4)."""

Texts = dict[str, str]
TextsOf = Callable[["ConsumerWire"], Sequence[str]]
NOTHING = msgspec.Raw(b"null")


class OwnerWire(msgspec.Struct, frozen=True, gc=False):
    """One of metadata.ownerReferences."""

    uid: str | None = None


class MetaWire(msgspec.Struct, frozen=True, gc=False):
    """The metadata."""

    name: str
    namespace: str | None = None
    uid: str | None = None
    resourceVersion: str | None = None
    creationTimestamp: str | None = None
    deletionTimestamp: str | None = None
    labels: Texts | None = None
    annotations: Texts | None = None
    ownerReferences: list[OwnerWire] | None = None


class ConsumerWire(msgspec.Struct, frozen=True, gc=False):
    """spec.consumerRef."""

    apiVersion: str | None = None
    kind: str | None = None
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None


class PodSetWire(msgspec.Struct, frozen=True, gc=False):
    """One of spec.podSet."""

    name: str | None = None
    count: int | None = None
    minCount: int | None = None
    template: msgspec.Raw = NOTHING


class SpecWire(msgspec.Struct, frozen=True, gc=False):
    """The spec."""

    podSet: list[PodSetWire]
    consumerRef: ConsumerWire = ConsumerWire()
    priority: int | None = None
    priorityClassName: str | None = None
    queue: str | None = None
    resource: msgspec.Raw = NOTHING
    active: bool | None = None
    maximumExecutionTimeSeconds: int | None = None


class GrantWire(msgspec.Struct, frozen=True, gc=False):
    """One of status.admissions."""

    name: str | None = None
    replicas: int | None = None
    running: int | None = None
    resources: msgspec.Raw = NOTHING
    reclaimState: dict[str, int] | None = None


class ConditionWire(msgspec.Struct, frozen=True, gc=False):
    """One of status.conditions."""

    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    lastTransitionTime: str | None = None


class PodsWire(msgspec.Struct, frozen=True, gc=False):
    """status.podState."""

    running: int | None = None
    pending: int | None = None


class RequeueWire(msgspec.Struct, frozen=True, gc=False):
    """status.requeueState."""

    count: int | None = None
    requeueAt: str | None = None


class StatusWire(msgspec.Struct, frozen=True, gc=False):
    """The status."""

    phase: str | None = None
    message: str | None = None
    attempts: int | None = None
    lastAllocateTime: str | None = None
    lastUpdateTime: str | None = None
    admissions: list[GrantWire] | None = None
    podState: PodsWire = PodsWire()
    accumulatedPastExecutionTimeSeconds: int | None = None
    requeueState: RequeueWire | None = None
    conditions: list[ConditionWire] | None = None
    admissionChecks: msgspec.Raw = NOTHING


class UnitWire(msgspec.Struct, frozen=True, gc=False):
    """A QueueUnit with pod sets, every field of its right type."""

    metadata: MetaWire
    spec: SpecWire
    status: StatusWire = StatusWire()


read: Callable[[bytes], UnitWire] = msgspec.json.Decoder(UnitWire).decode
"""The unit in its bytes; msgspec.ValidationError if a field is of another type."""


def view(wire: UnitWire, texts_of: TextsOf | None = None) -> QueueUnit:
    """A unit in the form that kq itself writes."""
    meta, spec, status = wire.metadata, wire.spec, wire.status
    # What a unit has several times, or its job has, is kept once: most bytes are those of texts.
    own = {each: each for each in (meta.name, *(texts_of(spec.consumerRef) if texts_of else ()))}
    consumer = _consumer(spec.consumerRef, own)
    pod_sets = tuple([_pod_set(each, own) for each in spec.podSet])
    phase = status.phase or ""
    namespace = share(meta.namespace or "")
    owner = (meta.ownerReferences[0].uid or "") if meta.ownerReferences else ""
    return QueueUnit(
        namespace=namespace,
        name=own[meta.name],
        uid=meta.uid or "",
        resource_version=meta.resourceVersion or "",
        created=codec.parse_time(meta.creationTimestamp) or codec.EPOCH,
        deleting=bool(meta.deletionTimestamp),
        labels=share(meta.labels or {}),
        annotations=codec.kept_annotations(meta.annotations, own),
        owner_uid=own.get(owner, owner),
        consumer=consumer,
        priority=spec.priority,
        priority_class=spec.priorityClassName or "",
        queue=share(spec.queue or ""),
        pod_sets=pod_sets,
        resource=_amounts(bytes(spec.resource)),
        active=spec.active is not False,
        longest_seconds=spec.maximumExecutionTimeSeconds,
        phase=PHASES.get(phase),
        raw_phase=share(phase),
        message=share(status.message or ""),
        attempts=status.attempts or 0,
        allocated=codec.parse_time(status.lastAllocateTime),
        updated=codec.parse_time(status.lastUpdateTime),
        grants=tuple(map(_grant, status.admissions or ())),
        pods_running=status.podState.running or 0,
        pods_pending=status.podState.pending or 0,
        past_seconds=status.accumulatedPastExecutionTimeSeconds or 0,
        requeue=_requeue(status.requeueState),
        conditions=tuple([_condition(each, own) for each in status.conditions or () if each.type]),
        checks=answers_of_json(bytes(status.admissionChecks)),
        key=f"{namespace}/{meta.name}",
        defect=next((each.template.defect for each in pod_sets if each.template.defect), None),
    )


def _consumer(wire: ConsumerWire, own: Texts) -> Consumer | None:
    """The job that is named; None if none is."""
    if not wire.name:
        return None
    return Consumer(
        share(wire.apiVersion or ""),
        share(wire.kind or ""),
        own.setdefault(wire.name, wire.name),
        share(wire.namespace or ""),
        own.setdefault(wire.uid or "", wire.uid or ""),
    )


def _pod_set(wire: PodSetWire, own: Texts) -> PodSet:
    """One pod set."""
    count = 1 if wire.count is None else max(0, wire.count)
    return PodSet(
        name=own.get(wire.name or "main") or share(wire.name or "main"),
        count=count,
        wanted=count,
        template=codec.template_of_json(bytes(wire.template)),
        min_count=wire.minCount,
    )


def _grant(wire: GrantWire) -> Grant:
    """One grant; negative replicas read as 0, running as at most replicas (spec 22.1)."""
    replicas = max(0, wire.replicas or 0)
    return Grant(
        name=share(wire.name or "main"),
        replicas=replicas,
        running=min(replicas, max(0, wire.running or 0)),
        resources=_amounts(bytes(wire.resources)),
        reclaim=max(0, (wire.reclaimState or {}).get("replicas", 0)),
    )


def _condition(wire: ConditionWire, own: Texts) -> Condition:
    """One condition."""
    return Condition(
        share(wire.type or ""),
        wire.status == "True",
        share(wire.reason or ""),
        share(wire.message or ""),
        own.setdefault(wire.lastTransitionTime or "", wire.lastTransitionTime or ""),
    )


def _requeue(wire: RequeueWire | None) -> Requeue | None:
    """The back-off of a unit that has one."""
    return Requeue(wire.count or 0, codec.parse_time(wire.requeueAt)) if wire else None


@lru_cache(8192)
def _amounts(wire: bytes) -> Resources | None:
    """A ResourceList; None if there is none, or one that cannot be read."""
    body: Any = msgspec.json.decode(wire)
    try:
        return parse_resources(body, "resources") if isinstance(body, dict) else None
    except DecodeError:
        return None
