"""What a job needs next: the plan that the job reconciler carries out (spec 5.12-5.14, 8, 9)."""

from datetime import timedelta

from kq.core import codec, messages, wire
from kq.core.model import Condition, Phase, QueueUnit
from kq.decide import unitspec
from kq.decide.actions import (
    Action,
    CreateUnit,
    DeleteUnit,
    HoldJob,
    LookAgain,
    PatchStatus,
    PatchUnit,
    ReleaseJob,
    ShowWaiting,
    TellJob,
)
from kq.decide.ending import plan_deletion, plan_end
from kq.decide.evict import evict
from kq.decide.handback import hands_back
from kq.decide.held import running_grants, scaled
from kq.decide.ignored import is_given_up, let_go_on
from kq.decide.kinds import (
    defies_hold,
    ends_unrun,
    goes_on,
    is_defied,
    runs_again,
    told_at_intake,
    told_while_waiting,
)
from kq.decide.lifecycle import Event, advance
from kq.decide.remarks import about_owner, about_priority, about_values, on_unit
from kq.decide.situation import Situation
from kq.decide.slipped import Slip, count_running, hold_again, slip_of
from kq.decide.timeouts import backs_off, marks_idle, next_look, sets_right
from kq.decide.updates import adds_first, takes_out

SETTLES = timedelta(seconds=1)
"""A job that ends sooner after its release never gets the phase Running written (spec 24.9)."""
REFRESH = timedelta(seconds=10)
"""How often the counts of running pods are written at most."""


def plan_job(now: Situation) -> list[Action]:
    """The next steps for a job that exists; none if all is as it should be."""
    job, unit = now.job, now.unit
    if unit is None:
        return _without_unit(now)
    if unit.deleting or unit.phase is None:
        return []
    if job.finished:
        return plan_end(now, unit)
    if job.deleting:
        return plan_deletion(now, unit)
    if unit.finished:
        return runs_again(now, unit)
    told = _told(now, unit)
    if told:
        return told
    if not unit.holds_quota:
        return [*_waits(now, unit), *told_while_waiting(now)]
    return sets_right(now, unit) or _has_grants(now, unit)


def _has_grants(now: Situation, unit: QueueUnit) -> list[Action]:
    """A unit with grants keeps them, or gives them back."""
    eviction = evict(now, unit)
    actions = (_holds(now, unit) if eviction is None else eviction) or goes_on(now, unit)
    return [*actions, *next_look(now, unit)]


def _told(now: Situation, unit: QueueUnit) -> list[Action]:
    """What the unit does not say of its job yet."""
    restored = takes_out(now, unit)
    if restored:
        return restored
    difference = unitspec.difference(now, unit)
    if difference and PatchUnit not in now.refused:
        return [PatchUnit(unit, difference), *about_priority(now), *about_values(now, unit)]
    return on_unit(now, unit)


def _without_unit(now: Situation) -> list[Action]:
    job = now.job
    if job.deleting or not now.managed or (job.finished and not _has_to_be_told(now)):
        return []
    taken = now.name_taken_by
    if taken is not None and taken.consumer and _names(taken, now):
        # The job of that unit was deleted, and this is another one of its name (spec 2.9).
        return [] if taken.deleting else [DeleteUnit(taken)]
    if job.suspended or slip_of(now) is Slip.COUNT:
        told = [*about_priority(now), *about_owner(now), *told_at_intake(now)]
        told += about_values(now, None)
        return [CreateUnit(job, unitspec.creation(now)), *told]
    if slip_of(now) is Slip.HOLD:
        return hold_again(now)
    return []


def _has_to_be_told(now: Situation) -> bool:
    """Whether a job ended while it was held, before it had a unit to say why (spec 8.13)."""
    job = now.job
    return bool(job.note) and job.suspended and not now.rules.finished_ttl_seconds


def _names(unit: QueueUnit, now: Situation) -> bool:
    """Whether the unit stands for an earlier job of the same kind and name."""
    each, job = unit.consumer, now.job
    return each is not None and (each.kind, each.name) == (job.kind.kind, job.name)


def _waits(now: Situation, unit: QueueUnit) -> list[Action]:
    """A unit without grants: its job must be held, and says that it waits where it can."""
    ending = ends_unrun(now)
    if ending is not None:
        return ending
    if _shows_waiting(now):
        return [ShowWaiting(now.job)]
    if unit.phase is Phase.BACKOFF:
        return hold_again(now) if _slips(now) else backs_off(now, unit)
    if now.job.suspended or unit.phase is not Phase.ENQUEUED:
        return hold_again(now) if _runs_half_held(now) else defies_hold(now, unit)
    match slip_of(now):
        case Slip.HOLD:
            return hold_again(now)
        case Slip.COUNT:
            return count_running(now, unit)
        case Slip.LEAVE:
            return []


def _shows_waiting(now: Situation) -> bool:
    """Whether its conditions are to say so; where pods run all the same its operator speaks."""
    has_word = now.defied_since is not None or ShowWaiting in now.refused
    return now.job.suspended and now.job.queuing is False and not has_word


def _slips(now: Situation) -> bool:
    """Whether a job that backs off runs all the same, and can be stopped."""
    can_be_held = now.job.evictable and HoldJob not in now.refused
    slips = can_be_held and not now.job.suspended and slip_of(now) is not Slip.LEAVE
    return slips or _runs_half_held(now)


def _runs_half_held(now: Situation) -> bool:
    """Whether pods run of a job that only its annotation holds, and that may be held in full."""
    return now.job.half_held and now.defied_since is not None and HoldJob not in now.refused


def _holds(now: Situation, unit: QueueUnit) -> list[Action]:
    """A unit with grants: its job is released, and told Running once it runs."""
    job = now.job
    if not unit.grants and unit.pod_sets:
        # Somebody else let it go: it is counted before anything follows from it (spec 15.3).
        grants = wire.grants_for(unit.pod_sets)
        return [PatchStatus(unit, wire.status_patch(unit, now.now, grants=grants, granted=True))]
    if job.suspended:
        if is_given_up(unit) and now.pods.live and not is_defied(now, unit):
            return [let_go_on(now, unit)]
        if not now.gone or now.pods.stuck:
            return []  # never beside pods of an earlier run (spec 24.3)
        released = codec.format_millis(max(now.now, unit.allocated or now.now))
        return adds_first(now, unit) or [
            ReleaseJob(job, unit, released, now.pod_label),
            TellJob(job, False, "Resume", "Job is resumed by koord-queue"),
        ]
    if unit.phase is Phase.DEQUEUED and now.pods.running:
        return _runs(now, unit)
    return (
        hands_back(now, unit) or scaled(now, unit) or marks_idle(now, unit) or _refreshed(now, unit)
    )


def _runs(now: Situation, unit: QueueUnit) -> list[Action]:
    """Row g, once it has run for a moment."""
    since = max(filter(None, (now.job.released_at, now.running_since)), default=None)
    # A time that lies ahead is of a clock that was wrong: it keeps nobody waiting.
    if since is not None and timedelta(0) <= now.now - since < SETTLES:
        return [LookAgain((since + SETTLES - now.now).total_seconds())]
    row = advance(unit.phase, Event.RUNS)
    if row is None:
        return []
    patch = wire.status_patch(
        unit,
        now.now,
        phase=row.target,
        message=messages.S8,
        conditions=[Condition("PodsReady", True, "PodsRunning", messages.S8)],
        grants=running_grants(now, unit),
        pods=(now.pods.running, now.pods.pending),
    )
    return [PatchStatus(unit, patch)]


def _refreshed(now: Situation, unit: QueueUnit) -> list[Action]:
    """The counts of pods, as a reader of the unit wants them; not at each of their steps."""
    if unit.phase is not Phase.RUNNING:
        return []
    pods = (now.pods.running, now.pods.pending)
    if pods == (unit.pods_running, unit.pods_pending):
        return []
    age = now.now - unit.updated if unit.updated is not None else REFRESH
    if timedelta(0) <= age < REFRESH:
        return [LookAgain((REFRESH - age).total_seconds())]
    patch = wire.status_patch(unit, now.now, grants=running_grants(now, unit), pods=pods)
    return [PatchStatus(unit, patch)]
