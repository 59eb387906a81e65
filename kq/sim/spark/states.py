"""A SparkApplication's way, as its status tells it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from kq.core.codec import format_time
from kq.sim.control.objects import phase_of, place_of, status_of, time_of
from kq.sim.control.view import Seen
from kq.sim.spark.pods import SELECTOR, driver_name, submission_of

Status = Mapping[str, Any]

RETRY_SECONDS: Final = 5
EXECUTORS: Final = {
    "Pending": "PENDING",
    "Running": "RUNNING",
    "Succeeded": "COMPLETED",
    "Failed": "FAILED",
}


class State(StrEnum):
    """`applicationState.state`."""

    NEW = ""
    SUBMITTED = "SUBMITTED"
    RUNNING = "RUNNING"
    SUSPENDING = "SUSPENDING"
    SUSPENDED = "SUSPENDED"
    RESUMING = "RESUMING"
    INVALIDATING = "INVALIDATING"
    PENDING_RERUN = "PENDING_RERUN"
    SUBMISSION_FAILED = "SUBMISSION_FAILED"
    SUCCEEDING = "SUCCEEDING"
    FAILING = "FAILING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """An application, and what there is of it."""

    app: Seen
    driver: Seen | None
    executors: Sequence[Seen]

    @property
    def status(self) -> Status:
        """What its status said last."""
        return status_of(self.app)

    @property
    def state(self) -> State:
        """The state that it says it is in."""
        return State((self.status.get("applicationState") or {}).get("state", ""))

    @property
    def is_suspended(self) -> bool:
        """Whether it is to have no pods."""
        return bool(self.app["spec"].get("suspend"))


def moved(moment: Moment, state: State) -> dict[str, Any]:
    """Nothing but the next state, with what was wrong."""
    said = moment.status.get("applicationState") or {}
    return {
        "driverInfo": {},
        "lastSubmissionAttemptTime": None,
        "terminationTime": None,
        **moment.status,
        "applicationState": {**said, "state": state.value},
    }


def submitted(moment: Moment, now: datetime) -> Status:
    """One more attempt, and who it is."""
    counts = {
        each: moment.status.get(each, 0) + 1 for each in ("submissionAttempts", "executionAttempts")
    }
    return {
        **moved(moment, State.SUBMITTED),
        **counts,
        "applicationState": {"state": State.SUBMITTED.value},
        "driverInfo": {"podName": driver_name(moment.app)},
        "lastSubmissionAttemptTime": format_time(now),
        "terminationTime": None,
        "submissionID": submission_of(moment.app),
    }


def not_submitted(moment: Moment, why: str, now: datetime) -> Status:
    """One more attempt, of which nothing came."""
    return {
        **moved(moment, State.SUBMISSION_FAILED),
        "applicationState": {"state": State.SUBMISSION_FAILED.value, "errorMessage": why},
        "lastSubmissionAttemptTime": format_time(now),
        "submissionAttempts": moment.status.get("submissionAttempts", 0) + 1,
    }


def running(moment: Moment) -> Status:
    """Its executors, each by its own state."""
    driver = moment.driver or {"metadata": {}}
    labels = driver["metadata"].get("labels") or {}
    return {
        **moved(moment, State.RUNNING),
        "sparkApplicationId": labels.get(SELECTOR, ""),
        "executorState": {
            place_of(each)[1]: EXECUTORS[phase_of(each)] for each in moment.executors
        },
    }


def over(moment: Moment, now: datetime) -> Status:
    """What its driver came to."""
    if moment.driver is None or phase_of(moment.driver) == "Failed":
        why = "driver container failed with ExitCode: 1, Reason: Error"
        return failing(moment, why, now)
    return {**moved(moment, State.SUCCEEDING), "terminationTime": format_time(now)}


def failing(moment: Moment, why: str, now: datetime) -> Status:
    """A failure, and what it was."""
    return {
        **moved(moment, State.FAILING),
        "applicationState": {"state": State.FAILING.value, "errorMessage": why},
        "terminationTime": format_time(now),
    }


def stopped(moment: Moment) -> Status:
    """Nothing is left of a run but what it was counted as."""
    return {**_without_run(moment, State.SUSPENDED), "driverInfo": {}}


def anew(moment: Moment, state: State) -> Status:
    """Nothing is left of a run, nor that there was one."""
    counts = ("submissionAttempts", "executionAttempts")
    status = {key: each for key, each in _without_run(moment, state).items() if key not in counts}
    return {**status, "driverInfo": {}, "lastSubmissionAttemptTime": None, "terminationTime": None}


def again(moment: Moment) -> Status:
    """Another try after an end."""
    status = _without_run(moment, State.PENDING_RERUN)
    state = {"state": State.PENDING_RERUN.value}
    return {**status, "applicationState": state, "driverInfo": {}, "terminationTime": None}


def retry_after(moment: Moment, now: datetime) -> timedelta | None:
    """How long it takes to the next try; None if there is none."""
    policy = moment.app["spec"].get("restartPolicy") or {}
    kind, what = policy.get("type"), "SubmissionFailure"
    count = moment.status.get("submissionAttempts", 0)
    if moment.state is not State.SUBMISSION_FAILED:
        count, what = moment.status.get("executionAttempts", 0), "Failure"
    is_retried = count <= (policy.get(f"on{what}Retries") or 0)
    if moment.state is State.SUCCEEDING:
        is_retried = False
    if kind != "Always" and not (kind == "OnFailure" and is_retried):
        return None
    seconds = policy.get(f"on{what}RetryInterval", RETRY_SECONDS) * count
    last = time_of(moment.status.get("lastSubmissionAttemptTime"))
    return last + timedelta(seconds=seconds) - now


def _without_run(moment: Moment, state: State) -> dict[str, Any]:
    of_run = ("executorState", "sparkApplicationId")
    return {key: each for key, each in moved(moment, state).items() if key not in of_run}
