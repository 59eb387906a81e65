"""What is asked of a plan in tests: which actions, and what they say."""

from kq.core.model import Phase
from kq.decide.actions import PatchStatus, TellJob
from kq.decide.plan import plan_job
from kq.decide.situation import PodFacts

DEQUEUED = {"phase": Phase.DEQUEUED}
RUNNING = {"phase": Phase.RUNNING}
LIVE = PodFacts(live=1, running=1)
PENDING = PodFacts(live=1, pending=1)
STUCK = PodFacts(stuck=True)


def kinds(now):
    return [type(each) for each in plan_job(now)]


def one(now, kind):
    (found,) = [each for each in plan_job(now) if isinstance(each, kind)]
    return found


def status(now):
    return one(now, PatchStatus).patch["status"]


def event(now):
    found = one(now, TellJob)
    return (found.warning, found.reason, found.message)
