"""Where a unit stands: candidate of a Queue, or kept back with a reason of its own (spec 10.7)."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from kq.core import keys, messages
from kq.core.messages import Reason
from kq.core.model import NamespaceView, Phase, Queue, QueueUnit
from kq.core.plugins import Problem, QuotaPlugin
from kq.decide.queuesettings import is_stopped


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """It takes part in the cycles of that Queue."""

    queue: str
    quota: str


class KeptBack(msgspec.Struct, frozen=True):
    """It waits for something else; `problem` is None while that needs no word yet."""

    queue: str | None
    problem: Problem | None


class NotWaiting(msgspec.Struct, frozen=True):
    """It holds quota, has ended, or is in back-off."""

    queue: str | None


Standing = Candidate | KeptBack | NotWaiting


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What decides a unit's standing beside itself."""

    quotas: QuotaPlugin
    queues: Mapping[str, Queue]
    namespaces: Mapping[str, NamespaceView]


class JobFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the job that the unit stands for."""

    missing: bool = False
    adopted: bool = True
    deleting: bool = False
    lingering_pods: bool = False
    other_unit: str | None = None


def quota_of(unit: QueueUnit, around: Surroundings) -> str | None:
    """The unit's quota: by label, annotation, namespace, or that of the Queue it names (10.3)."""
    named = unit.annotations.get(keys.UNIT_QUOTA)
    if named and not is_labelled(unit):
        return named
    found = around.quotas.quota_of(unit.labels, namespace_of(unit.namespace, around))
    if found or not unit.queue:
        return found
    made = around.quotas.auto_made(unit.queue)
    return made.quota if made is not None else None


def named_quota(unit: QueueUnit, around: Surroundings) -> str | None:
    """The quota that the unit itself names, whatever its namespace has; None if it names none."""
    return quota_of(unit, around) if is_labelled(unit) else unit.annotations.get(keys.UNIT_QUOTA)


def is_labelled(unit: QueueUnit) -> bool:
    """Whether a label of the unit names a quota."""
    return any(unit.labels.get(key) for key in keys.QUOTA_LABELS)


def queue_name(unit: QueueUnit, quota: str, around: Surroundings) -> tuple[str, bool]:
    """The unit's Queue, and whether a person named it (spec 10.1)."""
    named = next((unit.annotations[k] for k in keys.QUEUE_NAME if unit.annotations.get(k)), "")
    if not named and names_queue(unit):
        named = unit.queue
    own = around.quotas.queue_of(quota)
    return (named, named != own) if named else (own, False)


def names_queue(unit: QueueUnit) -> bool:
    """Whether what its spec says of its Queue is a person's word, not the manager's (10.1)."""
    marks = unit.annotations
    return bool(unit.queue) and (keys.JOB_CREATION not in marks or keys.QUEUE_BY_HAND in marks)


def namespace_of(name: str, around: Surroundings) -> NamespaceView:
    """The namespace; one that is not known has no labels."""
    return around.namespaces.get(name) or NamespaceView(name=name)


def standing_of(unit: QueueUnit, job: JobFacts, around: Surroundings) -> Standing:
    """Where the unit stands now."""
    quota = quota_of(unit, around)
    queue = queue_name(unit, quota, around)[0] if quota else (unit.queue or None)
    if unit.phase is None:
        return KeptBack(queue, Problem(Reason.MISCONFIGURED, messages.m27(unit.raw_phase)))
    if unit.phase is not Phase.ENQUEUED or unit.deleting:
        return NotWaiting(queue)
    reason = _own_reason(unit, job)
    if reason is not None:
        return KeptBack(queue, reason)
    if not job.adopted:
        # Made by hand: it asks what its job asks, and its job has not been read into it yet.
        return KeptBack(queue, None)
    if quota is None or queue is None:
        return KeptBack(queue, Problem(Reason.MISCONFIGURED, messages.m3(unit.namespace)))
    return _at_queue(unit, quota, around)


def _own_reason(unit: QueueUnit, job: JobFacts) -> Problem | None:
    """What in the unit or its job keeps it back, whatever its quota."""
    consumer = unit.consumer
    name = f"{consumer.namespace or unit.namespace}/{consumer.name}" if consumer else ""
    if consumer and consumer.namespace and consumer.namespace != unit.namespace:
        return Problem(Reason.MISCONFIGURED, messages.m18(name))
    by_job = _reason_of_job(unit, job, name)
    if by_job is not None:
        return by_job
    if not unit.active:
        return Problem(Reason.INACTIVE, _inactive_message(unit))
    defect = unit.annotations.get(keys.DEFECT) or unit.defect
    if defect:
        return Problem(Reason.MISCONFIGURED, defect)
    if job.lingering_pods:
        return Problem(Reason.PENDING, messages.M32)
    return None


def _reason_of_job(unit: QueueUnit, job: JobFacts, name: str) -> Problem | None:
    if job.other_unit is not None:
        return Problem(Reason.MISCONFIGURED, messages.m19(name, job.other_unit))
    if job.deleting:
        return Problem(Reason.INACTIVE, messages.m31(name))
    if job.missing:
        return Problem(Reason.PENDING, messages.m21(name))
    if unit.consumer and unit.consumer.kind == "TrainJob" and not unit.pod_sets:
        return Problem(Reason.PENDING, messages.M30)
    return None


def _inactive_message(unit: QueueUnit) -> str:
    """What it was told when it became inactive stays; else M28."""
    condition = unit.condition("QuotaReserved")
    told = condition is not None and condition.reason == Reason.INACTIVE and unit.message
    return unit.message if told else messages.M28


def _at_queue(unit: QueueUnit, quota: str, around: Surroundings) -> Standing:
    """The checks of quota and Queue."""
    name, named = queue_name(unit, quota, around)
    namespace = namespace_of(unit.namespace, around)
    if namespace.terminating:
        return KeptBack(name, None)
    barred = around.quotas.barred(namespace, quota)
    if barred is not None:
        return KeptBack(name, barred)
    chain = around.quotas.chain(quota)
    if isinstance(chain, Problem):
        return KeptBack(name, chain)
    refused = around.quotas.refuses(quota, unit.pod_sets)
    if refused is not None:
        return KeptBack(name, refused)
    queue = around.queues.get(name)
    if queue is None or queue.deleting:
        missing = Problem(Reason.MISCONFIGURED, messages.m6(name)) if named else None
        return KeptBack(name, missing)
    if named and not _accepts(queue, around.quotas.spellings(quota)):
        return KeptBack(name, Problem(Reason.MISCONFIGURED, messages.m6(name, quota)))
    if is_stopped(queue):
        return KeptBack(name, Problem(Reason.STOPPED, messages.m22(name)))
    return _candidate(name, quota)


@lru_cache(4096)
def _candidate(queue: str, quota: str) -> Candidate:
    """The same object for all of one quota in one Queue."""
    return Candidate(queue, quota)


def _accepts(queue: Queue, spellings: Sequence[str]) -> bool:
    """By the Queue's list of quotas; one without a list takes all."""
    listed = queue.annotations.get(keys.AVAILABLE_QUOTA)
    if listed is None:
        return True
    return not {"*", *spellings}.isdisjoint(each.strip() for each in listed.split(","))
