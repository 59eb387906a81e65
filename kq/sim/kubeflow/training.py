"""training-operator: TFJob, PyTorchJob, XGBoostJob and PaddleJob.

As of 1.8.1: one look at a job in the order of the real one. Its services, and what it tells the
containers of each other, do not concern a queue and are not made.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from kq.core.codec import format_time
from kq.core.kinds import Object
from kq.sim.control.objects import PODS, holds, is_deleted, phase_of, place_of, status_of
from kq.sim.control.view import Known, Seen
from kq.sim.control.writes import Delete, Outcome, Plan, Replace, Write, is_written, taken
from kq.sim.kubeflow.conditions import Said, by_training
from kq.sim.kubeflow.limits import limit, time_to_live
from kq.sim.kubeflow.replicas import (
    EXIT_CODE,
    Role,
    deletion,
    is_held,
    of_role,
    policy_of,
    roles_of,
)
from kq.sim.kubeflow.trades import Trade, changes, labels_of
from kq.sim.kubeflow.verdicts import Count, count_of, verdicts

MANAGER = "kubeflow.org/training-operator"
BATCH = 0.05
"""Seconds that a real one takes to hear of what it did."""
RETRYABLE = 128
"""The first exit code that is nobody's fault."""

Status = dict[str, Any]
_Step: TypeAlias = Generator[Sequence[Write], Sequence[Outcome], None]


class TrainingJobs:
    """The operator of one of the kinds."""

    children: tuple[str, ...] = (PODS,)
    batch = BATCH

    def __init__(self, trade: Trade) -> None:
        """For one kind of training jobs."""
        self.name = trade.controller
        self.kind = trade.kind
        self._trade = trade

    def sync(self, job: Seen, children: Sequence[Known], now: datetime) -> Plan:
        """Its pods made, or ended with it or its suspension; then its status."""
        if is_deleted(job) or _is_of_others(job):
            return None
        pods = [each.obj for each in children]
        status: Status = dict(status_of(job))
        if not status.get("conditions"):
            self._say(status, now, self._word(job, "Created", "is created."))
        conditions = status["conditions"]
        if holds(conditions, "Succeeded") or holds(conditions, "Failed"):
            yield from _deleted(_unwanted(job, pods))
            return (yield from self._finish(job, status, now))
        if is_held(job):
            yield from _deleted(pods)
            self._suspend(job, status, now)
        else:
            self._resume(job, status, now)
            yield from self._go_on(job, status, pods, now)
        yield from self._write(job, status)
        return None

    def _finish(self, job: Seen, status: Status, now: datetime) -> Plan:
        """Says of what still ran that it succeeded; deletes the job when it is time."""
        left = time_to_live(job, status, now)
        if left is not None and left <= timedelta(0):
            namespace, name = place_of(job)
            taken((yield [Delete(kind=self.kind, namespace=namespace, name=name)]))
            return None
        counts = status.get("replicaStatuses") or {}
        if holds(status["conditions"], "Succeeded") and counts:
            status["replicaStatuses"] = {name: _ended(each) for name, each in counts.items()}
        yield from self._write(job, status)
        return left

    def _suspend(self, job: Seen, status: Status, now: datetime) -> None:
        counts = status.get("replicaStatuses") or {}
        if counts:
            status["replicaStatuses"] = {
                name: {key: each[key] for key in each if key != "active"}
                for name, each in counts.items()
            }
        said = self._word(job, "Suspended", "is suspended.")
        if holds(status["conditions"], "Running"):
            self._say(status, now, replace(said, type="Running", status="False"))
        if not holds(status["conditions"], "Suspended"):
            self._say(status, now, said)

    def _resume(self, job: Seen, status: Status, now: datetime) -> None:
        if holds(status["conditions"], "Suspended"):
            word = self._word(job, "Resumed", "is resumed.")
            self._say(status, now, replace(word, type="Suspended", status="False"))
            status["startTime"] = format_time(now)

    def _go_on(self, job: Seen, status: Status, pods: Sequence[Object], now: datetime) -> _Step:
        trade = self._trade
        roles = roles_of(job, trade.replicas, trade.roles, trade.restart_policy)
        if message := limit(job, roles, status, pods, now):
            status.setdefault("completionTime", format_time(now))
            yield from _deleted(pods)
            self._say(status, now, self._said("Failed", message))
            return
        counted = [(role, count_of(pods, role)) for role in roles]
        for role in roles:
            taken((yield changes(trade, job, roles, role, pods)))
            for pod in _failed(pods, role):
                yield from self._restart(job, status, role, pod, now)
        status["replicaStatuses"] = {role.name: self._told(job, role, n) for role, n in counted}
        status.setdefault("startTime", format_time(now))
        for said in list(verdicts(trade, job, counted, pods, status["conditions"])):
            if said.type in ("Succeeded", "Failed"):
                status.setdefault("completionTime", format_time(now))
            self._say(status, now, said)

    def _restart(self, job: Seen, status: Status, role: Role, pod: Object, now: datetime) -> _Step:
        """A pod that failed makes way for another, if its role says so."""
        name = place_of(job)[1]
        is_retryable = _exit_code(pod, self._trade.container) >= RETRYABLE
        if role.restart_policy in ("OnFailure", "Always") or (
            role.restart_policy == EXIT_CODE and is_retryable
        ):
            yield from _deleted([pod])
            message = f"job {name} is restarting because {role.name} replica(s) failed."
            self._say(status, now, self._said("Restarting", message))
        elif role.restart_policy == EXIT_CODE:
            message = f'job "{name}" is failing because "{role.name}" replica(s) failed.'
            self._say(status, now, self._said("Failed", message))

    def _told(self, job: Seen, role: Role, count: Count) -> dict[str, Any]:
        if not self._trade.tells_selector:
            return count.told
        labels = labels_of(self._trade, job, role)
        return {
            **count.told,
            "selector": ",".join(f"{key}={labels[key]}" for key in sorted(labels)),
        }

    def _word(self, job: Seen, type_: str, text: str) -> Said:
        return self._said(type_, f"{self._trade.name} {place_of(job)[1]} {text}")

    def _said(self, type_: str, message: str) -> Said:
        return Said(type=type_, reason=f"{self._trade.name}{type_}", message=message)

    def _say(self, status: Status, now: datetime, said: Said) -> None:
        status["conditions"] = by_training(status.get("conditions") or (), said, now)

    def _write(self, job: Seen, status: Status) -> _Step:
        if status != status_of(job):
            body = {**job, "status": status}
            taken((yield [Replace(kind=self.kind, body=body, subresource="status")]))


def _is_of_others(job: Seen) -> bool:
    """Whether another controller looks after it, as later versions can be told."""
    return bool(policy_of(job).get("managedBy", MANAGER) != MANAGER)


def _unwanted(job: Seen, pods: Sequence[Object]) -> list[Object]:
    """The pods that go with the end of the job: by default none, and those that run run on."""
    match policy_of(job).get("cleanPodPolicy"):
        case "All":
            return list(pods)
        case "Running":
            return [each for each in pods if phase_of(each) in ("Running", "Pending")]
        case _:
            return []


def _failed(pods: Sequence[Object], role: Role) -> list[Object]:
    return [each for each in of_role(pods, role) if phase_of(each) == "Failed"]


def _deleted(pods: Iterable[Object]) -> _Step:
    outcomes = yield [deletion(each) for each in pods if not is_deleted(each)]
    if not all(map(is_written, outcomes)):
        taken(outcomes)


def _ended(count: Object) -> dict[str, Any]:
    """A role's count, in which what was active succeeded."""
    told = {key: value for key, value in count.items() if key != "active"}
    succeeded = count.get("succeeded", 0) + count.get("active", 0)
    return {**told, "succeeded": succeeded} if succeeded else told


def _exit_code(pod: Object, container: str) -> int:
    for each in status_of(pod).get("containerStatuses") or ():
        ended = each.get("state", {}).get("terminated")
        if each["name"] == container and ended:
            return int(ended["exitCode"])
    return RETRYABLE
