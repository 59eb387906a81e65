"""Times that end a unit's turn: to start, to run at most, and to wait before it is tried again.

Spec 9.6, 9.7, 9.12, 9.13; all of them rest on what the unit's object says, so that a restart of the
manager changes none.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec.structs import replace

from kq.backoff import exponential
from kq.core import codec, messages, wire
from kq.core.messages import Reason
from kq.core.model import Condition, Phase, QueueUnit, Requeue
from kq.decide.actions import Action, LookAgain, PatchStatus, TellUnit
from kq.decide.lifecycle import RELEASED, Event, advance
from kq.decide.situation import Patience, Situation

LONGEST = 2**31 - 1
NEVER = timedelta(0)
BETWEEN = "no pod is there; between two attempts, if there is another"
AHEAD = timedelta(minutes=1)
"""A time of ours that lies further ahead than that is of a clock that was wrong."""


def dequeued_at(unit: QueueUnit) -> datetime | None:
    """Since when it is Dequeued; time in Reserved is before that (spec 9.12, 9.13)."""
    admitted = unit.condition("Admitted")
    since = codec.parse_time(admitted.since) if admitted and admitted.status else None
    return max((each for each in (since, unit.allocated) if each), default=None)


def admitted_seconds(unit: QueueUnit, now: datetime) -> int:
    """Whole seconds of the present admission; none of a clock that was wrong."""
    start = dequeued_at(unit) if unit.phase in RELEASED else None
    return 0 if start is None else max(0, int((now - start).total_seconds()))


def past_seconds(unit: QueueUnit, now: datetime) -> int:
    """What is written at an eviction: seconds of all admissions, the present one included."""
    return min(LONGEST, unit.past_seconds + admitted_seconds(unit, now))


def seconds_to_start(now: Situation, unit: QueueUnit) -> float | None:
    """What is left of the start time-out; None where none runs."""
    if now.patience.start <= NEVER:
        return None
    since = dequeued_at(unit) if unit.phase is Phase.DEQUEUED else _idle_since(now, unit)
    if since is None:
        return None
    return (since + now.patience.start - now.now).total_seconds()


def seconds_to_run(now: Situation, unit: QueueUnit) -> float | None:
    """What is left of the maximum execution time; None where there is none."""
    start = dequeued_at(unit) if unit.phase in RELEASED else None
    if unit.longest_seconds is None or start is None:
        return None
    elapsed = max(0.0, (now.now - start).total_seconds())
    return unit.longest_seconds - unit.past_seconds - elapsed


def next_look(now: Situation, unit: QueueUnit) -> Iterator[Action]:
    """When the first of these times is over."""
    times = (seconds_to_start(now, unit), seconds_to_run(now, unit))
    left = min((each for each in times if each is not None), default=None)
    if left is not None and left > 0:
        yield LookAgain(left)


def sets_right(now: Situation, unit: QueueUnit) -> list[Action]:
    """Times that a wrong clock wrote count from now, else nothing would end for as long as that.

    They bear on what the unit holds, so that those of one that holds nothing stay.
    """
    latest = now.now + AHEAD
    conditions = tuple(_not_after(latest, each, now.now) for each in unit.conditions)
    granted = unit.allocated is not None and unit.allocated > latest
    if not granted and conditions == unit.conditions:
        return []
    status = {"conditions": codec.conditions_to_wire(conditions)}
    at = {"lastAllocateTime": codec.format_time(now.now)} if granted else {}
    patch = wire.status_patch(unit, now.now)
    return [PatchStatus(unit, {"status": {**patch["status"], **status, **at}})]


def _not_after(latest: datetime, condition: Condition, now: datetime) -> Condition:
    since = codec.parse_time(condition.since)
    if since is None or since <= latest:
        return condition
    return replace(condition, since=codec.format_time(now))


def marks_idle(now: Situation, unit: QueueUnit) -> list[Action]:
    """Since when a Running unit is without a live pod, where that may not last (spec 9.12)."""
    if unit.phase is not Phase.RUNNING or now.patience.start <= NEVER:
        return []
    ready, is_idle = unit.condition("PodsReady"), _is_idle(now)
    if (ready is not None and ready.status) is not is_idle:
        return []
    mark = Condition("PodsReady", True, "PodsRunning", messages.S8)
    if is_idle:
        mark = Condition("PodsReady", False, "Pending", BETWEEN)
    patch = PatchStatus(unit, wire.status_patch(unit, now.now, conditions=[mark]))
    return [patch, LookAgain(now.patience.start.total_seconds())] if is_idle else [patch]


def _is_idle(now: Situation) -> bool:
    return not (now.pods.live or now.job.pods_active)


def _idle_since(now: Situation, unit: QueueUnit) -> datetime | None:
    ready = unit.condition("PodsReady")
    if unit.phase is not Phase.RUNNING or not _is_idle(now) or ready is None or ready.status:
        return None
    return codec.parse_time(ready.since)


def is_last(unit: QueueUnit, patience: Patience) -> bool:
    """Whether one more failure is one too many (spec 9.7)."""
    return 0 < patience.limit <= _failures(unit) + 1


def failed_once_more(
    unit: QueueUnit, patience: Patience, now: datetime, not_before: datetime | None = None
) -> Requeue:
    """The back-off after a further failure; checks may ask for a later time (spec 9.6)."""
    count = _failures(unit) + 1
    if is_last(unit, patience):
        return Requeue(count)
    at = now + exponential(patience.base, patience.longest, count)
    return Requeue(count, max(at, not_before or at))


def _failures(unit: QueueUnit) -> int:
    return max(0, unit.requeue.count) if unit.requeue else 0


def backs_off(now: Situation, unit: QueueUnit) -> list[Action]:
    """Rows o and p, and the wait until then."""
    known = unit.condition("QuotaReserved")
    was_inactive = known is not None and known.reason == Reason.INACTIVE
    if not unit.active:
        return [] if was_inactive else [_deactivated(now, unit)]
    if was_inactive:
        told = TellUnit(unit, False, "Reactivated", "active again: it is queued anew")
        return [*_queued(now, unit, Event.REACTIVATED, messages.S1), told]
    at = unit.requeue.at if unit.requeue else None
    latest = now.now + exponential(now.patience.base, now.patience.longest, _failures(unit))
    if at is not None and at > latest:
        # A clock was wrong when it was written.
        nearer = Requeue(_failures(unit), latest)
        return [PatchStatus(unit, wire.status_patch(unit, now.now, requeue=nearer))]
    if at is not None and at > now.now:
        return [LookAgain((at - now.now).total_seconds())]
    return _queued(now, unit, Event.BACKOFF_OVER, messages.S12)


def _deactivated(now: Situation, unit: QueueUnit) -> Action:
    """It stays in back-off, and waits for somebody (spec 9.7)."""
    waits = Condition("QuotaReserved", False, Reason.INACTIVE, messages.M28)
    patch = wire.status_patch(unit, now.now, message=messages.M28, conditions=[waits])
    return PatchStatus(unit, patch)


def _queued(now: Situation, unit: QueueUnit, event: Event, text: str) -> list[Action]:
    row = advance(unit.phase, event)
    if row is None:
        return []
    patch = wire.status_patch(
        unit,
        now.now,
        phase=row.target,
        message=text,
        conditions=[Condition("QuotaReserved", False, Reason.PENDING, text)],
        requeue=Requeue() if event is Event.REACTIVATED else None,
    )
    return [PatchStatus(unit, patch)]
