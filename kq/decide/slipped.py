"""Jobs that run without a grant: counted, held again, or left alone (spec 5.12, 5.13)."""

from datetime import timedelta
from enum import Enum

from kq.core import keys, messages, wire
from kq.core.model import QueueUnit
from kq.decide.actions import Action, HoldJob, LookAgain, PatchStatus, TellJob
from kq.decide.conditions import readmitted
from kq.decide.lifecycle import Event, advance
from kq.decide.refused import why_not_held
from kq.decide.situation import Situation


class Slip(Enum):
    """What becomes of a job that runs without a grant (spec 5.12)."""

    COUNT = "count"
    HOLD = "hold"
    LEAVE = "leave"


def slip_of(now: Situation) -> Slip:
    """What becomes of a job that runs without a grant; one that cannot be held is counted."""
    found = _by_rules(now)
    return Slip.COUNT if found is Slip.HOLD and HoldJob in now.refused else found


def _by_rules(now: Situation) -> Slip:
    """First match of spec 5.12, 5.13."""
    job, rules = now.job, now.rules
    if job.released_at is not None and (now.pods.live or job.has_run):
        return Slip.COUNT
    if now.first_run is not None and job.created < now.first_run:
        return Slip.COUNT
    if rules.slipped == "ignore":
        return Slip.LEAVE
    if rules.slipped == "count":
        return Slip.COUNT
    if job.has_run and not job.evictable:
        return Slip.COUNT
    held_before = now.unit is not None or _went_through_webhook(now) or now.false_claim
    started = job.started or job.created
    if held_before or now.now - started < timedelta(seconds=rules.grace_seconds):
        return Slip.HOLD
    return Slip.COUNT


def _went_through_webhook(now: Situation) -> bool:
    return any(now.job.annotations.get(key) for key in keys.HAS_ENQUEUED_SPELLINGS)


def hold_again(now: Situation) -> list[Action]:
    """Suspend a job that runs without a grant, now or when it may be done again (spec 5.13)."""
    if now.may_hold_at is not None and now.may_hold_at > now.now:
        return [LookAgain((now.may_hold_at - now.now).total_seconds())]
    job = now.job
    annotations: dict[str, str | None] = {keys.DEQUEUE_TIMESTAMP: ""}
    if not _went_through_webhook(now):
        annotations[keys.HAS_ENQUEUED] = "true"
    labels = {}
    if now.quota_label and not any(job.labels.get(key) for key in keys.QUOTA_LABELS):
        labels[keys.QUOTA_LABEL] = now.quota_label
    cause = f"started without a grant of quota {now.quota}"
    return [
        HoldJob(job, cause, annotations, labels),
        TellJob(job, True, "SlippedThrough", f"{cause}: suspended and queued"),
    ]


def count_running(now: Situation, unit: QueueUnit) -> list[Action]:
    """Row s: the job runs already, so it is counted."""
    event = Event.FOUND_RUNNING if now.pods.running else Event.FOUND_RELEASED
    row = advance(unit.phase, event)
    if row is None:
        return []
    text = "; ".join(filter(None, (messages.m24(now.quota or ""), why_not_held(now, again=False))))
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
    actions: list[Action] = [PatchStatus(unit, patch)]
    if now.job.released_at is None:
        actions.append(TellJob(now.job, True, "SlippedThrough", text))
    return actions
