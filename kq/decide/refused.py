"""Writes that the API server refuses for what they say, so that it will go on refusing them.

What cannot start gives its quota back and is tried again after a back-off; what cannot be stopped
runs on and counts. No other such write keeps a job from what comes after it.
"""

from kq.core.checks import ready
from kq.core.messages import hold_refused, start_refused
from kq.core.model import QueueUnit
from kq.decide import unitspec
from kq.decide.actions import AddToPods, HoldJob, PatchUnit, ReleaseJob, TakeFromPods
from kq.decide.situation import Situation
from kq.decide.updates import has_leftovers, needs_adding

OF_ONE_ATTEMPT: frozenset[type[object]] = frozenset((ReleaseJob, AddToPods))
"""Tried again at the next attempt of the unit, which its back-off is before."""


def why_not_started(now: Situation, unit: QueueUnit) -> str:
    """What keeps a held job with a grant from being let go; empty if nothing was refused."""
    if not (now.refused and now.job.suspended):
        return ""
    answers = [now.refused.get(each, "") for each in (ReleaseJob, AddToPods)]
    if has_leftovers(now, unit):
        answers.append(now.refused.get(TakeFromPods, ""))
    if PatchUnit in now.refused and unitspec.difference(now, unit):
        answers.append(now.refused.get(PatchUnit, ""))
    answer = next(filter(None, answers), "")
    return answer and start_refused(now.job.key, answer, _adding(now, unit))


def _adding(now: Situation, unit: QueueUnit) -> list[str]:
    """Checks that may be to blame for it."""
    if not needs_adding(now.job, unit):
        return []
    return [each.check for each in ready(unit.checks)]


def why_not_held(now: Situation, *, again: bool) -> str:
    """Why a job that is to be suspended runs on; empty if nothing was refused."""
    answer = now.refused.get(HoldJob, "")
    return answer and hold_refused(now.job.key, answer, again=again)
