"""What mpi-operator says of an MPIJob."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kq.core.codec import format_time
from kq.core.kinds import Object
from kq.sim.control.objects import condition, holds, phase_of, place_of, status_of
from kq.sim.kubeflow.conditions import Said, by_mpi
from kq.sim.kubeflow.replicas import is_held

LAUNCHER, WORKER = "Launcher", "Worker"
LONGEST_MESSAGE = 1024


@dataclass(slots=True, kw_only=True)
class Crew:
    """An MPIJob with what belongs to it, and the status that one look at it makes up."""

    job: Object
    workers: Sequence[Object]
    launcher: Object | None
    launched: Sequence[Object]
    """The launcher's pods."""
    status: dict[str, Any]
    now: datetime

    def say(self, type_: str, status: str, reason: str, message: str) -> bool:
        """Puts a condition into the status; whether that changed it."""
        said = Said(type=type_, status=status, reason=reason, message=message)
        before = self.status.get("conditions") or ()
        self.status["conditions"] = by_mpi(before, said, self.now)
        return self.status["conditions"] is not before

    def count(self, role: str, **counts: int) -> None:
        """Puts a role's pods into the status, without zeros."""
        told = {key: value for key, value in counts.items() if value}
        self.status["replicaStatuses"] = {**(self.status.get("replicaStatuses") or {}), role: told}

    @property
    def place(self) -> str:
        """How messages name the job."""
        return "/".join(place_of(self.job))


def is_finished(job: Object | None) -> bool:
    """Whether a Job has ended, well or not."""
    conditions = status_of(job).get("conditions") if job is not None else ()
    return holds(conditions, "Complete") or holds(conditions, "Failed")


def tell(crew: Crew) -> None:
    """Suspension, the launcher, the workers, and whether all of it runs, in that order."""
    _tell_suspension(crew)
    running = [each for each in crew.launched if phase_of(each) == "Running"]
    if crew.launcher is not None:
        _tell_launcher(crew, crew.launcher, len(running))
    _tell_workers(crew)
    active = sum(phase_of(each) == "Running" for each in crew.workers)
    if is_held(crew.job):
        message = f"MPIJob {crew.place} is suspended."
        crew.say("Running", "False", "MPIJobSuspended", message)
    elif crew.launcher is not None and running and active == len(crew.workers):
        crew.say("Running", "True", "MPIJobRunning", f"MPIJob {crew.place} is running.")


def _tell_suspension(crew: Crew) -> None:
    if is_held(crew.job):
        crew.say("Suspended", "True", "MPIJobSuspended", "MPIJob suspended")
    elif condition(crew.status.get("conditions"), "Suspended") is not None and crew.say(
        "Suspended", "False", "MPIJobResumed", "MPIJob resumed"
    ):
        crew.status["startTime"] = format_time(crew.now)


def _tell_launcher(crew: Crew, launcher: Object, running: int) -> None:
    status = status_of(launcher)
    failed = status.get("failed", 0)
    if holds(status.get("conditions"), "Complete"):
        crew.count(LAUNCHER, succeeded=1, failed=failed)
        if "completionTime" in status:
            crew.status.setdefault("completionTime", status["completionTime"])
        message = f"MPIJob {crew.place} successfully completed."
        crew.say("Succeeded", "True", "MPIJobSucceeded", message)
        return
    failure = condition(status.get("conditions"), "Failed")
    if failure is not None and failure["status"] == "True":
        crew.count(LAUNCHER, failed=failed)
        crew.status.setdefault("completionTime", format_time(crew.now))
        crew.say("Failed", "True", *_why(crew, failure))
        return
    crew.count(LAUNCHER, active=running, failed=failed)


def _why(crew: Crew, failure: Object) -> tuple[str, str]:
    """Reason and message of a failure: the Job's, and those of the pod that failed last."""
    reason = failure.get("reason") or "MPIJobFailed"
    message = failure.get("message") or f"MPIJob {crew.place} has failed"
    failed = [each for each in crew.launched if phase_of(each) == "Failed"]
    if reason != "BackoffLimitExceeded" or not failed:
        return reason, message
    last = status_of(max(failed, key=lambda pod: pod["metadata"].get("creationTimestamp", "")))
    message = f"{message}: {last.get('message', '')}"
    if len(message) > LONGEST_MESSAGE:
        message = f"{message[: LONGEST_MESSAGE - 3]}..."
    return f"{reason}/{last.get('reason', '')}", message


def _tell_workers(crew: Crew) -> None:
    phases = [phase_of(each) for each in crew.workers]
    crew.count(
        WORKER,
        active=phases.count("Running"),
        succeeded=phases.count("Succeeded"),
        failed=phases.count("Failed"),
    )
    evicted = sum(
        phase_of(each) == "Failed" and status_of(each).get("reason") == "Evicted"
        for each in crew.workers
    )
    if evicted:
        message = f"{evicted}/{len(crew.workers)} workers are evicted"
        crew.say("Failed", "True", "MPIJobEvicted", message)
