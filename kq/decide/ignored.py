"""Suspensions that the operator of the job does not heed (13.15), or the API server refuses."""

from datetime import timedelta

from msgspec.structs import replace

from kq.core import codec, wire
from kq.core.messages import HOLD_REFUSED
from kq.core.model import Condition, QueueUnit
from kq.decide.actions import Action, LookAgain, PatchStatus, ReleaseJob, TellJob
from kq.decide.kinds import NOT_EVICTABLE
from kq.decide.refused import why_not_held
from kq.decide.situation import Situation

AFTER = timedelta(seconds=60)
"""So long after its suspension a job may have all its pods, and none of them on its way out."""


def ignored(now: Situation, unit: QueueUnit, *, gives_up: bool) -> list[Action]:
    """What follows while a job is suspended and its pods are there still.

    If that is in vain one whose grants another unit wanted goes on as before; in other evictions
    the hold stays, and its owner is told once.
    """
    if _is_heeded(now, unit):
        return []
    left = ((now.held_since or now.now) + AFTER - now.now).total_seconds()
    if left > 0:
        return [LookAgain(left)]
    kind = now.job.kind.kind
    if gives_up:
        text = f"the operator of {kind} does not stop it: it runs on, and counts"
        told = TellJob(now.job, True, NOT_EVICTABLE, text)
        return [_no_victim(now, unit, text), let_go_on(now, unit), told]
    text = _in_vain(kind)
    if unit.message == text:
        return []
    patch = wire.status_patch(unit, now.now, message=text)
    return [PatchStatus(unit, patch), TellJob(now.job, True, NOT_EVICTABLE, text)]


def not_held(now: Situation, unit: QueueUnit, *, gives_up: bool) -> list[Action]:
    """What follows while the API server takes no suspension of the job: it runs on, and counts.

    One whose grants another unit wanted is a victim no more.
    """
    text = why_not_held(now, again=not gives_up)
    told = TellJob(now.job, True, NOT_EVICTABLE, text)
    if gives_up:
        return [_no_victim(now, unit, text, message=text), told]
    if unit.message == text:
        return []
    return [PatchStatus(unit, wire.status_patch(unit, now.now, message=text)), told]


def is_in_vain(unit: QueueUnit) -> bool:
    """Whether its job is held without effect: what it holds will not come back soon."""
    if unit.consumer is None:
        return False
    return unit.message == _in_vain(unit.consumer.kind) or unit.message.startswith(HOLD_REFUSED)


def _in_vain(kind: str) -> str:
    return f"the operator of {kind} does not stop it: it is held, and counts while its pods run"


def is_given_up(unit: QueueUnit) -> bool:
    """Whether taking its grants back was tried in vain, or cannot be done at all."""
    mark = unit.condition("Evicted")
    return mark is not None and not mark.status and mark.reason == NOT_EVICTABLE


def let_go_on(now: Situation, unit: QueueUnit) -> Action:
    """The hold is taken off a job that was to give its grants back and did not."""
    released = max(now.now, unit.allocated or now.now)
    return ReleaseJob(now.job, unit, codec.format_millis(released))


def _is_heeded(now: Situation, unit: QueueUnit) -> bool:
    """Whether a pod ends, or has ended since the pods were counted."""
    counted = unit.pods_running + unit.pods_pending
    return now.pods.ending > 0 or now.pods.live == 0 or now.pods.live < counted


def _no_victim(
    now: Situation, unit: QueueUnit, text: str, message: str | None = None
) -> PatchStatus:
    mark = Condition("Evicted", False, NOT_EVICTABLE, text)
    grants = [replace(each, reclaim=0) for each in unit.grants]
    patch = wire.status_patch(unit, now.now, message=message, conditions=[mark], grants=grants)
    return PatchStatus(unit, patch)
