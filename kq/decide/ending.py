"""The end of a unit: its job has ended, is being deleted, or is gone (spec 9.5 q and v, 9.14)."""

from datetime import datetime, timedelta

from kq.core import codec, messages, wire
from kq.core.model import Condition, JobState, Phase, QueueUnit
from kq.decide.actions import Action, DeleteUnit, LookAgain, PatchStatus
from kq.decide.lifecycle import Event, advance
from kq.decide.situation import Situation

PODS_LAG = timedelta(seconds=2)
"""For so long after a job's end its pods may only seem to live, as watches are not in step."""


def plan_orphan(unit: QueueUnit, live_pods: int, now: datetime) -> list[Action]:
    """The next steps for a unit whose job does not exist (spec 9.14)."""
    ended = unit.condition("Finished")
    if ended is None or not ended.status or unit.holds_quota:
        if live_pods:
            return []
        job = f"{unit.namespace}/{unit.consumer.name}" if unit.consumer else unit.key
        gone = Condition("Finished", True, "OwnerNotFound", messages.m21(job))
        phase = unit.phase if unit.finished else Phase.FAILED
        patch = wire.status_patch(
            unit, now, phase=phase, message=messages.m21(job), conditions=[gone], grants=()
        )
        return [PatchStatus(unit, patch), LookAgain(60)]
    since = codec.parse_time(ended.since) or now
    left = (since + timedelta(seconds=60) - now).total_seconds()
    return [LookAgain(left)] if left > 0 else [DeleteUnit(unit)]


def plan_end(now: Situation, unit: QueueUnit) -> list[Action]:
    """Row q, and what is to be told while pods of a finished job still run."""
    succeeded = now.job.state is JobState.SUCCEEDED
    if not unit.finished:
        row = advance(unit.phase, Event.SUCCEEDED if succeeded else Event.FAILED)
        if row is None:
            return []
        text = messages.S13 if succeeded else messages.s14(now.job.note)
        reason = "Succeeded" if succeeded else "Failed"
        patch = wire.status_patch(
            unit,
            now.now,
            phase=row.target,
            message=text,
            conditions=[Condition("Finished", True, reason, text)],
            grants=(),
            pods=(0, 0),
        )
        later = [LookAgain(PODS_LAG.total_seconds())] if now.pods.live else []
        return [PatchStatus(unit, patch), *later]
    return _after_end(now, unit)


def _after_end(now: Situation, unit: QueueUnit) -> list[Action]:
    """The message follows the pods; the unit goes when its time is over (spec 9.16, 11.9)."""
    ended = unit.condition("Finished")
    since = (codec.parse_time(ended.since) if ended else None) or now.now
    if now.pods.live and now.now - since < PODS_LAG:
        return [LookAgain(PODS_LAG.total_seconds())]
    plain = messages.S13 if unit.phase is Phase.SUCCEED else messages.s14(now.job.note)
    text = plain + messages.STILL_RUNS if now.pods.live else plain
    if unit.message in (plain, plain + messages.STILL_RUNS) and unit.message != text:
        return [PatchStatus(unit, wire.status_patch(unit, now.now, message=text))]
    ttl = now.rules.finished_ttl_seconds
    if not ttl or now.pods.live:
        return []
    left = (since + timedelta(seconds=ttl) - now.now).total_seconds()
    return [LookAgain(left)] if left > 0 else [DeleteUnit(unit)]


def plan_deletion(now: Situation, unit: QueueUnit) -> list[Action]:
    """Row v."""
    row = advance(unit.phase, Event.JOB_DELETED)
    if row is None or now.pods.live:
        return []
    text = messages.m31(now.job.key)
    patch = wire.status_patch(
        unit,
        now.now,
        phase=row.target,
        message=text,
        conditions=[Condition("Finished", True, "Failed", text)],
        grants=(),
    )
    return [PatchStatus(unit, patch)]
