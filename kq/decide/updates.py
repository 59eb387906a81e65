"""What admission checks want added to a job's pods, for as long as one run (spec 8.9, 14.10)."""

from kq.core.checks import added_of, ready
from kq.core.model import JobView, QueueUnit
from kq.decide.actions import Action, AddToPods, TakeFromPods
from kq.decide.kin import SPARK
from kq.decide.situation import Situation


def needs_adding(job: JobView, unit: QueueUnit) -> bool:
    """Whether a release of the job has to add something to its pods."""
    known = added_of(job.annotations)
    is_there = known is not None and known.attempt == unit.attempts
    return bool(ready(unit.checks)) and not is_there


def has_leftovers(now: Situation, unit: QueueUnit) -> bool:
    """Whether a held job has what was added for its last run, which is over."""
    known = added_of(now.job.annotations)
    if known is None or not now.gone:
        return False
    return not (unit.holds_quota and known.attempt == unit.attempts)


def takes_out(now: Situation, unit: QueueUnit) -> list[Action]:
    """Before all else, as it changes the job's pods back."""
    if not has_leftovers(now, unit) or TakeFromPods in now.refused:
        return []
    return [TakeFromPods(now.job)]


def adds_first(now: Situation, unit: QueueUnit) -> list[Action]:
    """Of a job that its operator would start anew for such a change: before it is let go."""
    if now.job.kind.kind != SPARK or not needs_adding(now.job, unit):
        return []
    return [AddToPods(now.job, unit)]
