"""What only some kinds need: those that suspension does not stop, and Workflows (8.12-8.16)."""

from collections.abc import Iterator
from datetime import timedelta

from kq.core import messages, wire
from kq.core.model import Chore, Condition, JobView, Phase, QueueUnit
from kq.decide.actions import (
    Action,
    FreeNodes,
    LetEnd,
    LookAgain,
    PatchStatus,
    TellJob,
)
from kq.decide.conditions import admitted, readmitted
from kq.decide.held import grows
from kq.decide.kin import SPARK
from kq.decide.lifecycle import Event, advance
from kq.decide.situation import Situation

NOT_EVICTABLE = "NotEvictable"
DEFIES_AFTER = timedelta(seconds=10)
"""So long pods of a held job must have been there; an operator may take a while to end them."""


HOLDS_LOCK = "HoldsLock"


def told_at_intake(now: Situation) -> Iterator[Action]:
    """What the owner of a job should know of how it is counted."""
    if now.job.estimated:
        text = "koord-queue/min-resources is missing: what it needs is guessed from its templates"
        yield TellJob(now.job, True, "MinResourcesMissing", text)


def told_while_waiting(now: Situation) -> Iterator[Action]:
    """What its owner should know once; Argo gives locks to a Workflow that has its unit already."""
    if Chore.TELL_LOCK in now.job.chores:
        text = "while it waits it holds a lock of its WorkflowTemplate"
        yield TellJob(now.job, True, HOLDS_LOCK, text)


def ends_unrun(now: Situation) -> list[Action] | None:
    """A Workflow that was shut down while held: Argo ends it once its hold is off."""
    if Chore.END not in now.job.chores or now.pods.live:
        return None
    return [LetEnd(now.job)] if now.job.suspended else []


def goes_on(now: Situation, unit: QueueUnit) -> list[Action]:
    """What a released Workflow needs to go on."""
    if Chore.FREE_NODES in now.job.chores:
        return [FreeNodes(now.job)]
    if Chore.TELL_OUT_OF_REACH in now.job.chores and unit.message != messages.M26:
        return [
            PatchStatus(unit, wire.status_patch(unit, now.now, message=messages.M26)),
            TellJob(now.job, True, "NodesOutOfReach", messages.M26),
        ]
    return []


def cannot_be_stopped(now: Situation, unit: QueueUnit, cause: str) -> list[Action]:
    """Told once, and by the unit for as long as it is so: it goes on and stays counted (13.15)."""
    text = f"{_unstoppable(now)} ({cause}): it runs on, and counts"
    known = unit.condition("Evicted")
    if known is not None and not known.status and known.message == text:
        return []
    mark = Condition("Evicted", False, NOT_EVICTABLE, text)
    return [
        PatchStatus(unit, wire.status_patch(unit, now.now, message=text, conditions=[mark])),
        TellJob(now.job, True, NOT_EVICTABLE, text),
    ]


def need_not_be_stopped(now: Situation, unit: QueueUnit) -> list[Action]:
    """The cause is over for which it could not be stopped; it may come again."""
    known = unit.condition("Evicted")
    if known is None or known.status or not known.message.startswith(_unstoppable(now)):
        return []
    if is_defied(now, unit) or now.job.evictable:
        return []  # never a victim again
    mark = Condition("Evicted", False, "QuotaReserved", "")
    text = messages.S8 if unit.phase is Phase.RUNNING else messages.S2
    patch = wire.status_patch(
        unit, now.now, message=text if unit.message == known.message else None, conditions=[mark]
    )
    return [PatchStatus(unit, patch)]


def _unstoppable(now: Situation) -> str:
    return f"{now.job.kind.kind} cannot be stopped while it runs"


def is_defied(now: Situation, unit: QueueUnit) -> bool:
    """Whether pods run although their job is held (row t), so that no hold stops them."""
    return bool(now.pods.live) and was_defied(unit)


def was_defied(unit: QueueUnit) -> bool:
    """Whether it was counted because its job ran although it was held (row t)."""
    told, consumer = unit.condition("QuotaReserved"), unit.consumer
    text = messages.m25(consumer.kind if consumer else "")
    return told is not None and told.status and told.message == text


def defies_hold(now: Situation, unit: QueueUnit) -> list[Action]:
    """Row t: pods run although their job is held, so they are counted (spec 8.12)."""
    if now.defied_since is None or unit.attempts:
        return []
    left = (now.defied_since + DEFIES_AFTER - now.now).total_seconds()
    if left > 0:
        return [LookAgain(left)]
    row = advance(unit.phase, Event.HOLD_INEFFECTIVE)
    if row is None:
        return []
    text = messages.m25(now.job.kind.kind)
    patch = wire.status_patch(
        unit,
        now.now,
        phase=row.target,
        message=text,
        conditions=readmitted(unit, text, running=bool(now.pods.running)),
        grants=wire.grants_for(unit.pod_sets),
        granted=True,
        pods=(now.pods.running, now.pods.pending),
    )
    return [PatchStatus(unit, patch), TellJob(now.job, True, "HoldIneffective", text)]


def grows_anew(job: JobView, unit: QueueUnit) -> bool:
    """Whether a change made it ask for more than it was granted, as a new run (spec 8.19)."""
    return job.kind.kind == SPARK and not job.suspended and unit.holds_quota and grows(unit)


def runs_again(now: Situation, unit: QueueUnit) -> list[Action]:
    """Rows r and w: the end of one run is no pass for the next (spec 8.7)."""
    job = now.job
    row = advance(unit.phase, Event.RUNS_AGAIN)
    if row is None or job.suspended or not now.pods.live:
        return []
    text = "runs again after its end: counted at once"
    conditions = [
        *admitted(messages.S8, running=bool(now.pods.running)),
        Condition("Finished", False, "RunsAgain", text),
    ]
    if job.evictable:
        conditions.append(Condition("Evicted", True, "Restarted", messages.M34))
    patch = wire.status_patch(
        unit,
        now.now,
        phase=row.target,
        message=messages.S8,
        conditions=conditions,
        grants=wire.grants_for(unit.pod_sets),
        granted=True,
        pods=(now.pods.running, now.pods.pending),
    )
    return [PatchStatus(unit, patch), TellJob(job, True, "RunningAgain", text)]
