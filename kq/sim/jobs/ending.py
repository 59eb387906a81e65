"""Whether a Job is at its end, and why."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from kq.core.kinds import Object
from kq.sim.control.objects import condition, status_of, time_of
from kq.sim.jobs.failures import is_over_restarts, job_failure
from kq.sim.jobs.indexes import parse_indexes
from kq.sim.jobs.survey import Survey, is_suspended


class Word(StrEnum):
    """Types of a Job's conditions."""

    SUSPENDED = "Suspended"
    CRITERIA_MET = "SuccessCriteriaMet"
    COMPLETE = "Complete"
    FAILURE_TARGET = "FailureTarget"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class End:
    """A condition that ends a Job, or says that it is about to end."""

    type: Word
    reason: str
    message: str

    @property
    def condition(self) -> dict[str, Any]:
        """The condition, without its times."""
        return {
            "type": self.type,
            "status": "True",
            "reason": self.reason,
            "message": self.message,
        }

    @property
    def final(self) -> "End":
        """The condition with which the Job has ended."""
        match self.type:
            case Word.CRITERIA_MET:
                return replace(self, type=Word.COMPLETE)
            case Word.FAILURE_TARGET:
                return replace(self, type=Word.FAILED)
            case _:
                return self


COMPLETED = End(
    Word.CRITERIA_MET, "CompletionsReached", "Reached expected number of succeeded pods"
)
OVER_LIMIT = End(
    Word.FAILURE_TARGET, "BackoffLimitExceeded", "Job has reached the specified backoff limit"
)
TOO_LONG = End(
    Word.FAILURE_TARGET, "DeadlineExceeded", "Job was active longer than specified deadline"
)


def is_finished(job: Object) -> bool:
    """Whether a Job has ended, well or not."""
    return any(
        each["type"] in (Word.COMPLETE, Word.FAILED) and each["status"] == "True"
        for each in status_of(job).get("conditions") or ()
    )


def finished_at(job: Object) -> datetime | None:
    """When a Job ended; None if it did not."""
    for each in status_of(job).get("conditions") or ():
        if each["type"] in (Word.COMPLETE, Word.FAILED) and each["status"] == "True":
            return time_of(each["lastTransitionTime"])
    return None


def ending(survey: Survey) -> End | None:
    """Why a Job is to end although it may have active pods; None if it goes on."""
    decided = _decided(survey.job)
    if decided is not None:
        return decided
    job = survey.job
    if message := job_failure(job, survey.pods):
        return End(Word.FAILURE_TARGET, "PodFailurePolicy", message)
    if survey.failed > job["spec"]["backoffLimit"] or is_over_restarts(job, survey.pods):
        return OVER_LIMIT
    left = time_left(survey.job, survey.now)
    if left is not None and left <= timedelta(0):
        return TOO_LONG
    return _success_policy(survey)


def time_left(job: Object, now: datetime) -> timedelta | None:
    """How long a Job may yet be active; None if for ever, or if it is not."""
    limit = job["spec"].get("activeDeadlineSeconds")
    started = status_of(job).get("startTime")
    if limit is None or started is None or is_suspended(job):
        return None
    return time_of(started) + timedelta(seconds=limit) - now


def is_complete(survey: Survey, active: int) -> bool:
    """Whether as many pods succeeded as were wanted, and none is active."""
    completions = survey.job["spec"].get("completions")
    if completions is None:
        return survey.succeeded > 0 and not active
    return bool(survey.succeeded >= completions) and not active


def _decided(job: Object) -> End | None:
    """The end that an earlier look at the Job announced."""
    conditions = status_of(job).get("conditions")
    for type_, as_type in (
        (Word.CRITERIA_MET, Word.CRITERIA_MET),
        (Word.FAILURE_TARGET, Word.FAILED),
    ):
        found = condition(conditions, type_)
        if found is not None and found["status"] == "True":
            return End(as_type, found.get("reason", ""), found.get("message", ""))
    return None


def _success_policy(survey: Survey) -> End | None:
    policy = survey.job["spec"].get("successPolicy")
    if not policy or not survey.done:
        return None
    for number, rule in enumerate(policy.get("rules") or ()):
        if _is_met(rule, survey):
            message = f"Matched rules at index {number}"
            return End(Word.CRITERIA_MET, "SuccessPolicy", message)
    return None


def _is_met(rule: Object, survey: Survey) -> bool:
    count, text = rule.get("succeededCount"), rule.get("succeededIndexes")
    if text is None:
        return count is not None and len(survey.done) >= count
    wanted = parse_indexes(text, survey.job["spec"]["completions"])
    met = len(wanted & survey.done)
    return bool(wanted) and (met == len(wanted) or (count is not None and met >= count))
