"""Why grants are taken back, and which of several causes decides (spec 9.5, 9.8).

The unit is deactivated (row l), somebody else has suspended the job (row n), it has run for its
time (row m), has not started in time or cannot, as the API server refuses what would let it (row
h), starts anew (row w), what its checks want of its pods cannot be (rows e and k), another unit
goes first, or its Queue is drained (rows f and i).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kq.core import messages
from kq.core.keys import PREEMPTIBLE_LABELS
from kq.core.messages import Reason
from kq.core.model import QueueUnit
from kq.decide.handback import RECLAIMED, asks_too_many
from kq.decide.ignored import is_given_up, is_in_vain
from kq.decide.lifecycle import Event, advance, weight
from kq.decide.refused import why_not_started
from kq.decide.situation import Situation
from kq.decide.timeouts import is_last, seconds_to_run, seconds_to_start

DEACTIVATED = "Deactivated"
PAUSED = "Suspended"
RESTARTED = "Restarted"
TIME_OVER = "MaximumExecutionTimeExceeded"
UNSTARTED = "PodsReadyTimeout"
REFUSED = "ResumeFailed"
PREEMPTED = "Preempted"
QUEUE_STOPPED = "QueueStopped"
CHECK = "AdmissionCheck"
FOR_OTHERS = (PREEMPTED, RECLAIMED)
FAILURES = (UNSTARTED, REFUSED)
"""Causes after which the unit is tried again, so often at most as is configured (spec 9.7)."""


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
    REFUSED: Cause(Event.START_TIMEOUT, "", Reason.BACKOFF),
    RESTARTED: Cause(Event.STARTED_ANEW, messages.M34, Reason.PENDING),
    PREEMPTED: Cause(Event.PREEMPTED, messages.S7, Reason.PENDING),
    RECLAIMED: Cause(Event.PREEMPTED, messages.S7, Reason.PENDING),
    QUEUE_STOPPED: Cause(Event.PREEMPTED, messages.S1, Reason.STOPPED),
    CHECK: Cause(Event.CHECK_REJECTED, "", Reason.INACTIVE),
}
"""By the reason of the condition Evicted (spec 9.8)."""

LAST = messages.m28("")
"""How the text of the cause begins that made a unit fail once too often (spec 9.7)."""


def cause_of(now: Situation, unit: QueueUnit) -> str | None:
    """Why grants are taken back: of what was marked and what holds now the weightiest."""
    found = [
        each
        for each in (marked(unit), *_arisen(now, unit))
        if each and advance(unit.phase, CAUSES[each].event) is not None
    ]
    return min(found, key=lambda each: weight(CAUSES[each].event), default=None)


def told_cause(now: Situation, unit: QueueUnit, reason: str) -> Cause:
    """As it was begun, whatever the settings are by now, and whoever waits."""
    mark = unit.condition("Evicted")
    known = mark.message if mark and marked(unit) == reason else ""
    if reason in FOR_OTHERS:
        text = known or (now.taken.text if now.taken else "")
        return replace(CAUSES[reason], text=text or CAUSES[reason].text)
    if reason == QUEUE_STOPPED:
        return replace(CAUSES[reason], text=known or messages.m22(now.drained_by))
    if reason == CHECK:
        return replace(CAUSES[reason], text=known or now.clash)
    if reason not in FAILURES:
        return CAUSES[reason]
    return _failure(now, unit, reason, known)


def _failure(now: Situation, unit: QueueUnit, reason: str, known: str) -> Cause:
    """As it is told, and whether it is the last one (spec 9.7)."""
    text = CAUSES[reason].text or known.removeprefix(LAST) or why_not_started(now, unit)
    last = known.startswith(LAST) if marked(unit) == reason else is_last(unit, now.patience)
    text = messages.m28(text) if last else text
    return replace(CAUSES[reason], text=text, reason=Reason.INACTIVE if last else Reason.BACKOFF)


def marked(unit: QueueUnit) -> str | None:
    """The cause for which its eviction was begun."""
    mark = unit.condition("Evicted")
    return mark.reason if mark and mark.status and mark.reason in CAUSES else None


def parks(reason: str, cause: Cause) -> bool:
    """Whether kq itself makes the unit inactive at the end (rows k and m, spec 9.7)."""
    return reason in (TIME_OVER, CHECK) or is_last_failure(reason, cause)


def is_last_failure(reason: str, cause: Cause) -> bool:
    """Whether no further try follows (spec 9.7)."""
    return reason in FAILURES and cause.reason is Reason.INACTIVE


def _arisen(now: Situation, unit: QueueUnit) -> Iterator[str]:
    """Causes that hold now. A unit that kq itself makes inactive is not deactivated by anybody."""
    known, is_paused = marked(unit), _paused(now, unit)
    if is_paused:
        yield PAUSED
    elif not unit.active and not (known in (PAUSED, TIME_OVER, CHECK) or _is_marked_last(unit)):
        yield DEACTIVATED
    if known is None:
        yield from _wanted(now, unit)
    left = seconds_to_run(now, unit)
    if left is not None and left <= 0:
        yield TIME_OVER
    if now.outgrown:
        yield RESTARTED
    if now.clash:
        yield CHECK
    yield from _unstarted(now, unit)


def _unstarted(now: Situation, unit: QueueUnit) -> Iterator[str]:
    """It has not started in time, or may not start as it is."""
    left = seconds_to_start(now, unit)
    if left is not None and left <= 0 and marked(unit) is None:
        yield UNSTARTED
    if why_not_started(now, unit):
        yield REFUSED


def _wanted(now: Situation, unit: QueueUnit) -> Iterator[str]:
    """Its Queue gives all back, another unit goes first, or somebody else has said so (spec 3.1,
    9.2, 13.5, 13.13)."""
    if now.drained_by:
        yield QUEUE_STOPPED
    elif now.taken is not None:
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


def _is_marked_last(unit: QueueUnit) -> bool:
    mark = unit.condition("Evicted")
    return marked(unit) in FAILURES and mark is not None and mark.message.startswith(LAST)


def is_leaving(unit: QueueUnit) -> bool:
    """Whether it is giving back grants, for another unit or for itself.

    Not one whose job is held in vain, nor one that starts anew and may have them back at once; nor
    one that has given them back and is granted anew: what still marks it is of its last run, until
    the grant is written.
    """
    reason, reserved = marked(unit), unit.condition("QuotaReserved")
    if not unit.holds_quota or reason is None or (reserved is not None and not reserved.status):
        return False
    return reason in FOR_OTHERS or (reason != RESTARTED and not is_in_vain(unit))


def is_easier_victim(old: QueueUnit | None, new: QueueUnit | None) -> bool:
    """Whether others may find victims now who found none, or one of theirs stays after all."""
    if old is None or new is None or not (old.holds_quota and new.holds_quota):
        return False
    return (
        old.priority != new.priority
        or any(old.labels.get(key) != new.labels.get(key) for key in PREEMPTIBLE_LABELS)
        or (is_leaving(old) and not is_leaving(new))
        or (is_given_up(new) and not is_given_up(old))
    )
