"""JobSet: sets of Jobs that start and end together. As of 0.11.

The defaults that its webhook would write are read into what is missing. Volume claims, exclusive
placement, coordinators and restarts in place are left out.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from kq.core.kinds import Object
from kq.sim.control.objects import JOBS, condition, holds, is_deleted, place_of, status_of, time_of
from kq.sim.control.view import Known, Seen
from kq.sim.control.writes import (
    Delete,
    Outcome,
    Plan,
    Propagation,
    Replace,
    Write,
    is_written,
    taken,
)
from kq.sim.jobset.childjobs import (
    Children,
    children_of,
    counts_of,
    is_of,
    is_suspended,
    lacking,
    released,
    replicas_of,
    replicated_jobs,
)
from kq.sim.jobset.failurepolicy import judged
from kq.sim.kubeflow.conditions import Said, by_jobset
from kq.sim.kubeflow.replicas import spec_of
from kq.sim.kubeflow.training import BATCH

JOB_SETS = "jobsets.jobset.x-k8s.io"
MANAGER = "jobset.sigs.k8s.io/jobset-controller"

SUSPENDED = Said(type="Suspended", reason="SuspendedJobs", message="jobset is suspended")
RESUMED = Said(type="Suspended", status="False", reason="ResumeJobs", message="jobset is resumed")
COMPLETED = Said(
    type="Completed", reason="AllJobsCompleted", message="jobset completed successfully"
)
STARTING = Said(
    type="StartupPolicyInProgress",
    reason="InOrderStartupPolicyInProgress",
    message="in order startup policy is in progress",
)
STARTED = Said(
    type="StartupPolicyCompleted",
    reason="InOrderStartupPolicyCompleted",
    message="in order startup policy has completed",
)

REACHED = ("failed", "ready", "succeeded")
"""What a Job may be that has started."""

Status = dict[str, Any]
_Step: TypeAlias = Generator[Sequence[Write], Sequence[Outcome], None]
_Counts: TypeAlias = Mapping[str, Mapping[str, Any]]


class JobSets:
    """The operator of JobSets."""

    name = "jobset-controller"
    kind = JOB_SETS
    children: tuple[str, ...] = (JOBS,)
    batch = BATCH

    def sync(self, job: Seen, children: Sequence[Known], now: datetime) -> Plan:
        """Its Jobs made, suspended, resumed or deleted; then its status."""
        if is_deleted(job) or spec_of(job).get("managedBy", MANAGER) != MANAGER:
            return None
        found = children_of(job, [each.obj for each in children])
        counts = counts_of(job, found)
        status: Status = {"restarts": 0, **status_of(job)}
        before = status.get("replicatedJobsStatus") or ()
        is_news = sorted(before, key=_by_name, reverse=True) != counts
        status["replicatedJobsStatus"] = counts
        if is_over(job):
            yield from _deleted(found.active)
            left = _time_to_live(job, now)
            if left is not None and left <= timedelta(0):
                yield from _deleted([job], JOB_SETS)
                return None
        else:
            left = None
            yield from _look(job, found, status, now)
        if is_news or _without_counts(status) != _without_counts(status_of(job)):
            body = {**job, "status": status}
            taken((yield [Replace(kind=JOB_SETS, body=body, subresource="status")]))
        return left


def is_over(jobset: Object) -> bool:
    """Whether it has ended, well or not."""
    conditions = status_of(jobset).get("conditions")
    return holds(conditions, "Completed") or holds(conditions, "Failed")


def _look(jobset: Seen, found: Children, status: Status, now: datetime) -> _Step:
    yield from _deleted(found.previous)
    if found.failed:
        status |= judged(jobset, found.failed, status, now)
    elif _is_enough(jobset, found.successful):
        _say(status, COMPLETED, now)
        status["terminalState"] = COMPLETED.type
    else:
        yield from _make(jobset, found, status, now)
        if is_suspended(jobset):
            for job in found.active:
                if not is_suspended(job):
                    body = {**job, "spec": {**job["spec"], "suspend": True}}
                    taken((yield [Replace(kind=JOBS, body=body)]))
            _say(status, SUSPENDED, now)
        else:
            yield from _resume(jobset, found, status, now)


def _is_enough(jobset: Seen, successful: Sequence[Object]) -> bool:
    """Whether so many Jobs succeeded as the success policy asks for."""
    policy = spec_of(jobset).get("successPolicy") or {}
    targets = policy.get("targetReplicatedJobs")
    aimed = [each for each in replicated_jobs(jobset) if not targets or each["name"] in targets]
    done = sum(any(is_of(job, each) for each in aimed) for job in successful)
    wanted = 1 if policy.get("operator") == "Any" else sum(map(replicas_of, aimed))
    return bool(successful) and done >= wanted


def _make(jobset: Seen, found: Children, status: Status, now: datetime) -> _Step:
    is_ordered = _is_ordered(jobset) and not is_suspended(jobset)
    counts = {each["name"]: each for each in status["replicatedJobsStatus"]}
    for each in replicated_jobs(jobset):
        if not _may_start(jobset, each, counts) or (is_ordered and _has_started(each, counts)):
            continue
        taken((yield list(lacking(jobset, each, found))))
        if is_ordered:
            _say(status, STARTING, now)
            return
    if is_ordered:
        _say(status, STARTED, now)


def _resume(jobset: Seen, found: Children, status: Status, now: datetime) -> _Step:
    counts = {each["name"]: each for each in status["replicatedJobsStatus"]}
    for each in replicated_jobs(jobset):
        is_ordered = _is_ordered(jobset)
        if not _may_start(jobset, each, counts) or (is_ordered and _has_started(each, counts)):
            continue
        for job in found.active:
            if is_of(job, each) and is_suspended(job):
                yield from _release(job, each)
        if is_ordered:
            _say(status, STARTING, now)
            return
    _say(status, RESUMED, now)


def _release(job: Object, replicated: Object) -> _Step:
    if "startTime" in status_of(job):
        # The server lets nobody change the template of a Job that has begun.
        status = {key: each for key, each in status_of(job).items() if key != "startTime"}
        [job] = taken(
            (yield [Replace(kind=JOBS, body={**job, "status": status}, subresource="status")])
        )
    taken((yield [Replace(kind=JOBS, body=released(job, replicated))]))


def _is_ordered(jobset: Seen) -> bool:
    policy = spec_of(jobset).get("startupPolicy") or {}
    return bool(policy.get("startupPolicyOrder") == "InOrder")


def _has_started(replicated: Object, counts: _Counts) -> bool:
    count = counts[replicated["name"]]
    return bool(replicas_of(replicated) == sum(count[key] for key in REACHED))


def _may_start(jobset: Seen, replicated: Object, counts: _Counts) -> bool:
    """Whether what the replicated job depends on has come as far as it asks for."""
    named = {each["name"]: each for each in replicated_jobs(jobset)}
    for each in replicated.get("dependsOn") or ():
        other = named.get(each["name"])
        if other is None:
            return False
        if each.get("status") == "Complete":
            if counts[each["name"]]["succeeded"] != replicas_of(other):
                return False
        elif not _has_started(other, counts):
            return False
    return True


def _time_to_live(jobset: Seen, now: datetime) -> timedelta | None:
    seconds = spec_of(jobset).get("ttlSecondsAfterFinished")
    if seconds is None:
        return None
    conditions = status_of(jobset).get("conditions")
    end = condition(conditions, "Completed") or condition(conditions, "Failed") or {}
    return time_of(end.get("lastTransitionTime")) + timedelta(seconds=seconds) - now


def _deleted(objects: Iterable[Object], kind: str = JOBS) -> _Step:
    outcomes = yield [_deletion(each, kind) for each in objects if not is_deleted(each)]
    if not all(map(is_written, outcomes)):
        taken(outcomes)


def _deletion(obj: Object, kind: str) -> Delete:
    namespace, name = place_of(obj)
    return Delete(kind=kind, namespace=namespace, name=name, propagation=Propagation.FOREGROUND)


def _say(status: Status, said: Said, now: datetime) -> None:
    if told := by_jobset(status.get("conditions") or (), said, now):
        status["conditions"] = told


def _without_counts(status: Mapping[str, Any]) -> dict[str, Any]:
    return {"restarts": 0, **status, "replicatedJobsStatus": None}


def _by_name(count: Mapping[str, Any]) -> str:
    return str(count["name"])
