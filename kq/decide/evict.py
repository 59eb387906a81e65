"""Taking grants back: the job is suspended first, and its quota is free once its pods are gone.

Causes so far: the unit is deactivated (row l), somebody else has suspended the job (row n), it has
run for its time (row m), has not started in time (row h), starts anew (row w), or another unit goes
first (rows f and i). Of several the weightier decides (spec 9.5).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from kq.core import keys, messages, wire
from kq.core.messages import Reason
from kq.core.model import Condition, Grant, Phase, QueueUnit, Requeue
from kq.decide.actions import (
    Action,
    HoldJob,
    PatchJob,
    PatchStatus,
    PatchUnit,
    TellJob,
    TellUnit,
)
from kq.decide.handback import ALL_OF_IT, asks_too_many
from kq.decide.ignored import ignored
from kq.decide.kinds import cannot_be_stopped, is_defied
from kq.decide.lifecycle import Event, advance, weight
from kq.decide.situation import Situation
from kq.decide.timeouts import (
    failed_once_more,
    is_last,
    past_seconds,
    seconds_to_run,
    seconds_to_start,
)

DEACTIVATED = "Deactivated"
PAUSED = "Suspended"
RESTARTED = "Restarted"
TIME_OVER = "MaximumExecutionTimeExceeded"
UNSTARTED = "PodsReadyTimeout"
PREEMPTED = "Preempted"
RECLAIMED = "Reclaimed"
FOR_OTHERS = (PREEMPTED, RECLAIMED)


@dataclass(frozen=True, slots=True)
class Cause:
    """Why grants are taken back: the event of spec 9.5, what is told, why the unit waits then."""

    event: Event
    text: str
    reason: Reason


CAUSES: Mapping[str, Cause] = {
    DEACTIVATED: Cause(Event.DEACTIVATED, messages.S10, Reason.INACTIVE),
    PAUSED: Cause(Event.PAUSED, messages.M23, Reason.INACTIVE),
    TIME_OVER: Cause(Event.TIME_OVER, messages.S11, Reason.INACTIVE),
    UNSTARTED: Cause(Event.START_TIMEOUT, messages.S9, Reason.BACKOFF),
    RESTARTED: Cause(Event.STARTED_ANEW, messages.M34, Reason.PENDING),
    PREEMPTED: Cause(Event.PREEMPTED, messages.S7, Reason.PENDING),
    RECLAIMED: Cause(Event.PREEMPTED, messages.S7, Reason.PENDING),
}
"""By the reason of the condition Evicted (spec 9.8)."""

LAST = Cause(Event.START_TIMEOUT, messages.m28(messages.S9), Reason.INACTIVE)
"""Not started in time once too often (spec 9.7)."""


def evict(now: Situation, unit: QueueUnit) -> list[Action] | None:
    """The next steps of an eviction, perhaps only to wait; None if there is no cause for one."""
    reason = cause_of(now, unit)
    if reason is None:
        return None
    cause = _cause(now, unit, reason)
    if reason == PAUSED and unit.active:
        return _park(now, unit)
    if is_defied(now, unit) or not (now.job.evictable or now.job.suspended):
        return cannot_be_stopped(now, unit, cause.text) or None
    if now.gone:
        if unit.active and (reason == TIME_OVER or cause is LAST):
            return _park(now, unit)
        return [*_finish(now, unit, reason, cause), *_unmark(now)]
    if _marked(unit) != reason:
        mark = Condition("Evicted", True, reason, cause.text)
        grants = _marked_grants(unit, reason)
        patch = wire.status_patch(unit, now.now, conditions=[mark], grants=grants)
        return [PatchStatus(unit, patch), *_told(now, unit, reason)]
    if now.job.suspended:
        return ignored(now, unit, gives_up=reason in FOR_OTHERS)
    return [HoldJob(now.job, cause.text, {keys.DEQUEUE_TIMESTAMP: ""}, {})]


def _marked_grants(unit: QueueUnit, reason: str) -> Sequence[Grant] | None:
    """What is written of its grants at the mark; a new run counts as it is now (spec 8.19)."""
    if reason == RESTARTED:
        return wire.grants_for(unit.pod_sets)
    return asked_back(unit.grants) if reason in FOR_OTHERS else None


def asked_back(grants: Sequence[Grant]) -> list[Grant]:
    """The grants with all of their replicas asked back (spec 13.5)."""
    return [msgspec.structs.replace(each, reclaim=each.replicas) for each in grants]


def cause_of(now: Situation, unit: QueueUnit) -> str | None:
    """Why grants are taken back: of what was marked and what holds now the weightiest."""
    found = [
        each
        for each in (_marked(unit), *_arisen(now, unit))
        if each and advance(unit.phase, CAUSES[each].event) is not None
    ]
    return min(found, key=lambda each: weight(CAUSES[each].event), default=None)


def _arisen(now: Situation, unit: QueueUnit) -> Iterator[str]:
    """Causes that hold now. A unit that kq itself makes inactive is not deactivated by anybody."""
    marked, is_paused = _marked(unit), _paused(now, unit)
    if is_paused:
        yield PAUSED
    elif not unit.active and not (marked in (PAUSED, TIME_OVER) or _is_marked_last(unit)):
        yield DEACTIVATED
    if marked is None:
        yield from _wanted(now, unit)
    left = seconds_to_run(now, unit)
    if left is not None and left <= 0:
        yield TIME_OVER
    if now.outgrown:
        yield RESTARTED
    left = seconds_to_start(now, unit)
    if left is not None and left <= 0 and marked is None:
        yield UNSTARTED


def _wanted(now: Situation, unit: QueueUnit) -> Iterator[str]:
    """Another unit goes first, or somebody else has said so (spec 9.2, 13.5, 13.13)."""
    if now.taken is not None:
        yield now.taken.reason
    elif unit.raw_phase == PREEMPTED:
        yield PREEMPTED
    elif asks_too_many(now, unit):
        yield RECLAIMED


def _paused(now: Situation, unit: QueueUnit) -> bool:
    """Suspended by somebody else: it was released for this grant, and is held again (5.14)."""
    released = now.job.released_at
    if not now.job.suspended or released is None:
        return False
    return unit.allocated is None or released >= unit.allocated


def _marked(unit: QueueUnit) -> str | None:
    """The cause for which its eviction was begun."""
    mark = unit.condition("Evicted")
    return mark.reason if mark and mark.status and mark.reason in CAUSES else None


def _is_marked_last(unit: QueueUnit) -> bool:
    mark = unit.condition("Evicted")
    return _marked(unit) == UNSTARTED and mark is not None and mark.message == LAST.text


def _cause(now: Situation, unit: QueueUnit, reason: str) -> Cause:
    """As it was begun, whatever the settings are by now, and whoever waits."""
    if reason in FOR_OTHERS:
        mark = unit.condition("Evicted")
        known = mark.message if mark and _marked(unit) == reason else ""
        text = known or (now.taken.text if now.taken else "")
        return replace(CAUSES[reason], text=text or CAUSES[reason].text)
    if reason != UNSTARTED:
        return CAUSES[reason]
    last = _is_marked_last(unit) if _marked(unit) == UNSTARTED else is_last(unit, now.patience)
    return LAST if last else CAUSES[reason]


def _park(now: Situation, unit: QueueUnit) -> list[Action]:
    """`active` is written first; a "true" left from before would not count as set (5.14)."""
    if now.job.annotations.get(keys.ACTIVE):
        return [PatchJob(now.job, {"metadata": {"annotations": {keys.ACTIVE: None}}})]
    body: dict[str, Any] = {"spec": {"active": False}}
    if keys.ACTIVE in unit.annotations:
        body["metadata"] = {"annotations": {keys.ACTIVE: None}}
    return [PatchUnit(unit, body)]


def _unmark(now: Situation) -> list[Action]:
    """The release is over: resumed by hand, the job would else pass for one that was let go."""
    if now.job.released_at is None:
        return []
    return [PatchJob(now.job, {"metadata": {"annotations": {keys.DEQUEUE_TIMESTAMP: ""}}})]


def _finish(now: Situation, unit: QueueUnit, reason: str, cause: Cause) -> list[Action]:
    """The job is suspended and its pods are gone: nothing is held any more (spec 9.4)."""
    row = advance(unit.phase, cause.event)
    text = cause.text
    patch = wire.status_patch(
        unit,
        now.now,
        phase=row.target if row else None,
        message=text,
        conditions=[
            Condition("Evicted", True, reason, text),
            Condition("QuotaReserved", False, cause.reason, text),
            Condition("Admitted", False, "Pending", text),
            Condition("PodsReady", False, "Pending", text),
        ],
        grants=(),
        pods=(0, 0),
        requeue=_requeue(now, unit, row.target if row else None, cause),
        past_seconds=past_seconds(unit, now.now),
    )
    told = TellUnit(unit, True, "RequeueLimitExceeded", f"{text}; set spec.active to true to retry")
    return [PatchStatus(unit, patch), *([told] if cause is LAST else [])]


def _requeue(now: Situation, unit: QueueUnit, target: Phase | None, cause: Cause) -> Requeue | None:
    """The back-off that follows; one who is taken out of the queue starts afresh (spec 9.7)."""
    if target is Phase.BACKOFF:
        return failed_once_more(unit, now.patience, now.now)
    return Requeue() if cause.reason is Reason.INACTIVE else None


def _told(now: Situation, unit: QueueUnit, reason: str) -> list[Action]:
    """The events of spec 18.4."""
    if reason in FOR_OTHERS:
        others = ALL_OF_IT if reason == RECLAIMED else messages.S7
        told = now.taken.told if now.taken is not None else others
        return [TellUnit(unit, True, reason, told), TellJob(now.job, True, reason, told)]
    text = CAUSES[reason].text
    first = (
        TellUnit(unit, False, DEACTIVATED, messages.M28)
        if reason == DEACTIVATED
        else TellUnit(unit, True, "Evicted", text)
    )
    return [first, TellJob(now.job, True, "Evicted", text)]
