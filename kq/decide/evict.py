"""Taking grants back: the job is suspended first, and its quota is free once its pods are gone.

Causes so far: the unit is deactivated (row l), or somebody else has suspended the job (row n).
"""

from typing import Any

from kq.core import keys, messages, wire
from kq.core.messages import Reason
from kq.core.model import Condition, QueueUnit
from kq.decide.actions import (
    Action,
    HoldJob,
    PatchJob,
    PatchStatus,
    PatchUnit,
    TellJob,
    TellUnit,
)
from kq.decide.kinds import cannot_be_stopped
from kq.decide.lifecycle import Event, advance
from kq.decide.situation import Situation

DEACTIVATED = "Deactivated"
PAUSED = "Suspended"
RESTARTED = "Restarted"

EVENTS = {
    DEACTIVATED: Event.DEACTIVATED,
    PAUSED: Event.PAUSED,
    RESTARTED: Event.STARTED_ANEW,
}
TEXTS = {DEACTIVATED: messages.S10, PAUSED: messages.M23, RESTARTED: messages.M34}


def evict(now: Situation, unit: QueueUnit) -> list[Action] | None:
    """The next steps of an eviction, perhaps only to wait; None if there is no cause for one."""
    cause = cause_of(now, unit)
    if cause is None or advance(unit.phase, EVENTS[cause]) is None:
        return None
    if cause == PAUSED and unit.active:
        return _park(now, unit)
    if not (now.job.evictable or now.job.suspended):
        return cannot_be_stopped(now, unit, TEXTS[cause]) or None
    if now.gone:
        return [_finish(now, unit, cause), *_unmark(now)]
    actions: list[Action] = []
    if not _is_marked(unit):
        mark = Condition("Evicted", True, cause, TEXTS[cause])
        patch = wire.status_patch(unit, now.now, conditions=[mark])
        actions.append(PatchStatus(unit, patch))
        actions += _told(now, unit, cause)
    elif not now.job.suspended:
        actions.append(HoldJob(now.job, TEXTS[cause], {keys.DEQUEUE_TIMESTAMP: ""}, {}))
    return actions


def cause_of(now: Situation, unit: QueueUnit) -> str | None:
    """Why grants are taken back: the cause that was marked, else one that holds now."""
    marked = unit.condition("Evicted")
    if marked is not None and marked.status and marked.reason in EVENTS:
        return marked.reason
    if _paused(now, unit):
        return PAUSED
    return None if unit.active else DEACTIVATED


def _paused(now: Situation, unit: QueueUnit) -> bool:
    """Suspended by somebody else: it was released for this grant, and is held again (5.14)."""
    released = now.job.released_at
    if not now.job.suspended or released is None:
        return False
    return unit.allocated is None or released >= unit.allocated


def _is_marked(unit: QueueUnit) -> bool:
    marked = unit.condition("Evicted")
    return marked is not None and marked.status


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


def _finish(now: Situation, unit: QueueUnit, cause: str) -> Action:
    """The job is suspended and its pods are gone: nothing is held any more (spec 9.4)."""
    row = advance(unit.phase, EVENTS[cause])
    text = TEXTS[cause]
    reason = Reason.PENDING if cause == RESTARTED else Reason.INACTIVE
    patch = wire.status_patch(
        unit,
        now.now,
        phase=row.target if row else None,
        message=text,
        conditions=[
            Condition("Evicted", True, cause, text),
            Condition("QuotaReserved", False, reason, text),
            Condition("Admitted", False, "Pending", text),
            Condition("PodsReady", False, "Pending", text),
        ],
        grants=(),
        pods=(0, 0),
    )
    return PatchStatus(unit, patch)


def _told(now: Situation, unit: QueueUnit, cause: str) -> list[Action]:
    """The events of spec 18.4."""
    first = (
        TellUnit(unit, False, DEACTIVATED, messages.M28)
        if cause == DEACTIVATED
        else TellUnit(unit, True, "Evicted", TEXTS[cause])
    )
    return [first, TellJob(now.job, True, "Evicted", TEXTS[cause])]
