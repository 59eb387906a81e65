"""Taking grants back: the job is suspended first, and its quota is free once its pods are gone.

Why that is done says `kq.decide.causes`.
"""

from collections.abc import Sequence
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
from kq.decide.causes import (
    CHECK,
    DEACTIVATED,
    FOR_OTHERS,
    PAUSED,
    REFUSED,
    RESTARTED,
    Cause,
    cause_of,
    is_last_failure,
    marked,
    parks,
    told_cause,
)
from kq.decide.handback import ALL_OF_IT, RECLAIMED
from kq.decide.ignored import ignored, not_held
from kq.decide.kinds import cannot_be_stopped, is_defied, need_not_be_stopped
from kq.decide.lifecycle import Event, advance
from kq.decide.situation import Situation
from kq.decide.timeouts import failed_once_more, past_seconds

CONFLICT = "PodSetUpdatesConflict"
RESERVING = ("QuotaReserved", "Admitted")
"""Conditions of a unit whose reservation is over."""


def evict(now: Situation, unit: QueueUnit) -> list[Action] | None:
    """The next steps of an eviction, perhaps only to wait; None if there is no cause for one."""
    reason = cause_of(now, unit)
    if reason is None:
        return _move(now, unit) or need_not_be_stopped(now, unit) or None
    cause = told_cause(now, unit, reason)
    if reason == PAUSED and unit.active:
        return _park(now, unit)
    if is_defied(now, unit) or not (now.job.evictable or now.job.suspended):
        return cannot_be_stopped(now, unit, cause.text) or None
    is_marked = marked(unit) == reason
    if now.gone and (is_marked or not parks(reason, cause)):
        if unit.active and parks(reason, cause):
            return _park(now, unit)
        told = [] if is_marked else _told(now, unit, reason, cause)
        return [*_finish(now, unit, reason, cause), *told, *_unmark(now)]
    if not is_marked:
        # Before it is made inactive, too: else it would pass for one that somebody deactivated.
        mark = Condition("Evicted", True, reason, cause.text)
        grants = _marked_grants(unit, reason)
        patch = wire.status_patch(unit, now.now, conditions=[mark], grants=grants)
        return [PatchStatus(unit, patch), *_told(now, unit, reason, cause)]
    if now.job.suspended or HoldJob in now.refused:
        in_vain = ignored if now.job.suspended else not_held
        return in_vain(now, unit, gives_up=reason in FOR_OTHERS)
    return [HoldJob(now.job, cause.text, {keys.DEQUEUE_TIMESTAMP: ""}, {})]


def _move(now: Situation, unit: QueueUnit) -> list[Action] | None:
    """Row f: what it has reserved is not of the quota that its job names now (spec 2.8)."""
    row = advance(unit.phase, Event.PREEMPTED)
    if row is None or row.once_gone or not (now.moves and now.gone):
        return None
    waits = [Condition(each, False, Reason.PENDING, messages.S1) for each in RESERVING]
    patch = wire.status_patch(
        unit, now.now, phase=row.target, message=messages.S1, conditions=waits, grants=()
    )
    return [PatchStatus(unit, patch)]


def _marked_grants(unit: QueueUnit, reason: str) -> Sequence[Grant] | None:
    """What is written of its grants at the mark; a new run counts as it is now (spec 8.19)."""
    if reason == RESTARTED:
        return wire.grants_for(unit.pod_sets)
    return asked_back(unit.grants) if reason in FOR_OTHERS else None


def asked_back(grants: Sequence[Grant]) -> list[Grant]:
    """The grants with all of their replicas asked back (spec 13.5)."""
    return [msgspec.structs.replace(each, reclaim=each.replicas) for each in grants]


def _park(now: Situation, unit: QueueUnit) -> list[Action]:
    """`active` is written first; a "true" left from before would not count as set (5.14)."""
    is_left = bool(now.job.annotations.get(keys.ACTIVE))
    if is_left and PatchJob not in now.refused:
        return [PatchJob(now.job, {"metadata": {"annotations": {keys.ACTIVE: None}}})]
    body: dict[str, Any] = {"spec": {"active": False}}
    if keys.ACTIVE in unit.annotations and not is_left:
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
    return [PatchStatus(unit, patch), *([told] if is_last_failure(reason, cause) else [])]


def _requeue(now: Situation, unit: QueueUnit, target: Phase | None, cause: Cause) -> Requeue | None:
    """The back-off that follows; one who is taken out of the queue starts afresh (spec 9.7)."""
    if cause.event is Event.CHECK_REJECTED:
        return None
    if target is Phase.BACKOFF:
        return failed_once_more(unit, now.patience, now.now)
    return Requeue() if cause.reason is Reason.INACTIVE else None


def _told(now: Situation, unit: QueueUnit, reason: str, cause: Cause) -> list[Action]:
    """The events of spec 18.4."""
    if reason in FOR_OTHERS:
        others = ALL_OF_IT if reason == RECLAIMED else messages.S7
        told = now.taken.told if now.taken is not None else others
        return [TellUnit(unit, True, reason, told), TellJob(now.job, True, reason, told)]
    if reason == REFUSED:
        return [
            TellUnit(unit, True, REFUSED, cause.text),
            TellJob(now.job, True, REFUSED, cause.text),
        ]
    first = (
        TellUnit(unit, False, DEACTIVATED, messages.M28)
        if reason == DEACTIVATED
        else TellUnit(unit, True, CONFLICT if reason == CHECK else "Evicted", cause.text)
    )
    return [first, TellJob(now.job, True, "Evicted", cause.text)]
