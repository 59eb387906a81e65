"""What ends the reason for which a unit takes no part in cycles, one sentence each (spec 10.7).

In the order in which `kq.decide.standing` finds these reasons, so that the first that holds is the
one that the unit is told.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches

import msgspec

from kq.core import codec, keys
from kq.core.messages import Reason
from kq.core.model import Phase, Queue, QueueUnit
from kq.core.plugins import Problem
from kq.decide.queuesettings import is_stopped
from kq.decide.standing import JobFacts, Surroundings, namespace_of, queue_name, quota_of

MOST_NAMES = 10
"""Of quotas, in one sentence (as R6)."""


class Cure(msgspec.Struct, frozen=True, kw_only=True):
    """What to do, and how things are once it is done; without `unit` that cannot be told."""

    text: str
    unit: QueueUnit | None = None
    facts: JobFacts = JobFacts()
    around: Surroundings | None = None


def cure(unit: QueueUnit, facts: JobFacts, around: Surroundings) -> Cure | None:
    """What is to be done first; None where nothing is."""
    steps: tuple[Callable[[QueueUnit, JobFacts, Surroundings], Iterable[Cure]], ...] = (
        _of_phase,
        _of_job,
        _of_unit,
        _of_quota,
        _of_queue,
    )
    return next((each for step in steps for each in step(unit, facts, around)), None)


def nearest(name: str, unit: QueueUnit, around: Surroundings) -> list[str]:
    """Quotas that the unit's namespace may use, those whose names are like this one before all."""
    namespace, quotas = namespace_of(unit.namespace, around), around.quotas
    usable = [
        each
        for each in quotas.names()
        if quotas.barred(namespace, each) is None and not isinstance(quotas.chain(each), Problem)
    ]
    spelled = {form: each for each in usable for form in quotas.spellings(each)}
    near = get_close_matches(name, spelled, n=MOST_NAMES)
    return list(dict.fromkeys(spelled[each] for each in near)) or usable[:MOST_NAMES]


def _of_phase(unit: QueueUnit, facts: JobFacts, around: Surroundings) -> Iterator[Cure]:
    queued = msgspec.structs.replace(unit, phase=Phase.ENQUEUED, raw_phase="Enqueued")
    if unit.phase is None:
        text = f"set status.phase of unit {unit.key} to Enqueued, or delete the unit"
        yield Cure(text=text, unit=queued, facts=facts, around=around)
    elif unit.deleting:
        yield Cure(text="nothing can be done: the unit is being deleted")
    elif unit.phase is Phase.BACKOFF and not unit.active:
        active = msgspec.structs.replace(queued, active=True)
        yield Cure(text=_activate(unit), unit=active, facts=facts, around=around)
    elif unit.phase is Phase.BACKOFF:
        at = unit.requeue.at if unit.requeue else None
        when = f"at {codec.format_time(at)}" if at is not None else "when its back-off ends"
        text = f"wait: it is queued again {when}"
        yield Cure(text=text, unit=queued, facts=facts, around=around)


def _of_job(unit: QueueUnit, facts: JobFacts, around: Surroundings) -> Iterator[Cure]:
    consumer = unit.consumer
    name = f"{consumer.namespace or unit.namespace}/{consumer.name}" if consumer else unit.key
    if consumer and consumer.namespace and consumer.namespace != unit.namespace:
        text = f"name a job of namespace {unit.namespace} in spec.consumerRef of unit {unit.key}"
        yield Cure(text=text)
    elif facts.other_unit is not None:
        yield Cure(text=f"delete unit {unit.key}: job {name} waits as {facts.other_unit}")
    elif facts.deleting:
        yield Cure(text=f"nothing can be done: to queue job {name} again, submit it again")
    elif facts.missing:
        there = _without(facts, missing=False)
        text = f"create job {name}, or delete unit {unit.key}"
        yield Cure(text=text, unit=unit, facts=there, around=around)
    elif consumer and consumer.kind == "TrainJob" and not unit.pod_sets:
        yield Cure(text=f"wait until Trainer has made the JobSet of TrainJob {name}")


def _of_unit(unit: QueueUnit, facts: JobFacts, around: Surroundings) -> Iterator[Cure]:
    defect = unit.annotations.get(keys.DEFECT) or unit.defect
    if not unit.active:
        active = msgspec.structs.replace(unit, active=True)
        yield Cure(text=_activate(unit), unit=active, facts=facts, around=around)
    elif defect:
        yield Cure(text=f"correct the job: {defect}")
    elif facts.lingering_pods:
        ended = _without(facts, lingering_pods=False)
        text = "wait until its pods of the last run have ended, or delete them"
        yield Cure(text=text, unit=unit, facts=ended, around=around)
    elif not facts.adopted:
        yield Cure(text="wait until its job has been read into it")


def _of_quota(unit: QueueUnit, facts: JobFacts, around: Surroundings) -> Iterator[Cure]:
    quota, quotas = quota_of(unit, around), around.quotas
    namespace = namespace_of(unit.namespace, around)
    if quota is None:
        names = nearest("", unit, around)
        text = f"label the job, or namespace {unit.namespace}, with {keys.QUOTA_LABEL}{_as(names)}"
        yield Cure(text=text)
        return
    if namespace.terminating:
        yield Cure(text=f"nothing can be done: namespace {unit.namespace} is being deleted")
    elif quotas.barred(namespace, quota) is not None:
        text = (
            f"use another quota, or allow namespace {unit.namespace} by annotation "
            f"{keys.ALLOWED_NAMESPACES} on quota {quota}"
        )
        yield Cure(text=text)
    elif isinstance(quotas.chain(quota), Problem):
        yield Cure(text=_chain_cure(unit, quota, around))
    elif (refused := quotas.refuses(quota, unit.pod_sets)) is not None:
        yield Cure(text=f"set what is demanded: {refused.message}")


def _chain_cure(unit: QueueUnit, quota: str, around: Surroundings) -> str:
    """What to do about a quota that takes no units (M4, M7, M33)."""
    quotas, ancestry = around.quotas, list(around.quotas.ancestry(quota))
    children = [each for each in quotas.names() if quota in list(quotas.ancestry(each))[1:]]
    if quota not in quotas.names():
        names = nearest(quota, unit, around)
        return f"create quota {quota}, or name another one{_as(names)}"
    missing = next((each for each in ancestry if each not in quotas.names()), None)
    if missing is not None:
        return f"create quota {missing}, or correct the parent of the quota below it"
    found = quotas.chain(quota)
    if isinstance(found, Problem) and found.reason == Reason.INVALID:
        return f"correct the quotas: {found.message}"
    return f"name a child of quota {quota}{_as(children[:MOST_NAMES])}"


def _of_queue(unit: QueueUnit, facts: JobFacts, around: Surroundings) -> Iterator[Cure]:
    quota = quota_of(unit, around) or ""
    name, named = queue_name(unit, quota, around)
    queue = around.queues.get(name)
    if queue is None or queue.deleting:
        own = around.quotas.queue_of(quota)
        text = f"create queue {name}" + (f", or name queue {own} of its quota" if named else "")
        yield Cure(text=text if named else f"wait until queue {name} has been made")
    elif is_stopped(queue):
        goes_on = msgspec.structs.replace(queue, stop_policy="None")
        queues: Mapping[str, Queue] = {**around.queues, name: goes_on}
        text = f"set spec.stopPolicy of queue {name} to None"
        started = msgspec.structs.replace(around, queues=queues)
        yield Cure(text=text, unit=unit, facts=facts, around=started)
    elif named:
        text = f"add quota {quota} to annotation {keys.AVAILABLE_QUOTA} of queue {name}"
        listed = {**queue.annotations, keys.AVAILABLE_QUOTA: "*"}
        accepts = {**around.queues, name: msgspec.structs.replace(queue, annotations=listed)}
        takes = msgspec.structs.replace(around, queues=accepts)
        yield Cure(text=text, unit=unit, facts=facts, around=takes)


def _activate(unit: QueueUnit) -> str:
    return f"set spec.active of unit {unit.key} to true"


def _without(facts: JobFacts, **changes: bool) -> JobFacts:
    return msgspec.structs.replace(facts, **changes)


def _as(names: Sequence[str]) -> str:
    return f", as {', '.join(names)}" if names else ""
