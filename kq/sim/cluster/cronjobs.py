"""The CronJob controller: Jobs made when they are due, and the old ones deleted."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kq.core.codec import format_time
from kq.core.kinds import Object
from kq.errors import DecodeError
from kq.sim.api.status import ApiStatus
from kq.sim.cluster.operators import OperatorController
from kq.sim.cluster.schedules import Schedule, parse_schedule
from kq.sim.control.objects import (
    CRON_JOBS,
    JOBS,
    condition,
    controller_reference,
    is_deleted,
    place_of,
    status_of,
    time_of,
    uid_of,
)
from kq.sim.control.view import Known, Seen
from kq.sim.control.writes import (
    Create,
    Delete,
    Outcome,
    Plan,
    Record,
    Replace,
    Write,
    taken,
)
from kq.sim.jobs.ending import is_finished

SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"
LATE = timedelta(milliseconds=100)
"""How long after a due time the controller comes, so that no clock is behind it."""


class CronJobs:
    """The operator of CronJobs."""

    name = "cronjob-controller"
    kind = CRON_JOBS
    children: tuple[str, ...] = (JOBS,)
    batch = 0.0

    def sync(self, job: Seen, children: Sequence[Known], now: datetime) -> Plan:
        """Its finished Jobs noted, the oldest deleted, and a new one made if one is due."""
        jobs = [each.obj for each in children]
        yield _surplus(job, jobs)
        status, records = noted(job, jobs)
        yield records
        schedule = schedule_of(job)
        due = None
        if schedule is not None and not is_deleted(job) and not job["spec"].get("suspend"):
            due = due_time(job, schedule, now)
            if due is not None and _may_start(job, status, due, now):
                status = yield from _start(job, status, due)
        if status != status_of(job):
            body = {**job, "status": status}
            taken((yield [Replace(kind=CRON_JOBS, body=body, subresource="status")]))
        if schedule is None or is_deleted(job) or job["spec"].get("suspend"):
            return None
        following = schedule.after(_local(job, now))
        return None if following is None else following - now + LATE


def cron_controller() -> OperatorController:
    """The controller of CronJobs."""
    return OperatorController(CronJobs())


def schedule_of(cron: Object) -> Schedule | None:
    """The schedule; None if it cannot be read, and nothing is ever due."""
    try:
        ZoneInfo(cron["spec"].get("timeZone") or "UTC")
        return parse_schedule(cron["spec"]["schedule"])
    except (DecodeError, ZoneInfoNotFoundError, ValueError):
        return None


def due_time(cron: Object, schedule: Schedule, now: datetime) -> datetime | None:
    """The newest due time for which no Job was made; None if there is none."""
    last = status_of(cron).get("lastScheduleTime") or cron["metadata"].get("creationTimestamp")
    earliest = time_of(last)
    deadline = cron["spec"].get("startingDeadlineSeconds")
    if deadline is not None:
        earliest = max(earliest, now - timedelta(seconds=deadline))
    return schedule.newest(_local(cron, earliest), now)


def noted(cron: Object, jobs: Iterable[Object]) -> tuple[Mapping[str, Any], list[Record]]:
    """The status without Jobs that have ended or are gone, and what people are told of it."""
    status = dict(status_of(cron))
    known = {uid_of(each): each for each in jobs}
    records: list[Record] = []
    active = []
    for reference in status.get("active") or ():
        child = known.get(reference["uid"])
        if child is not None and not is_finished(child):
            active.append(reference)
            continue
        records.append(_farewell(cron, reference["name"], child))
    status["active"] = active
    times = [
        each["status"]["completionTime"]
        for each in known.values()
        if status_of(each).get("completionTime")
    ]
    if times:
        status["lastSuccessfulTime"] = max(times)
    return {key: value for key, value in status.items() if value != []}, records


def job_name(cron: Object, due: datetime) -> str:
    """The name of the Job of a due time: it can be made only once."""
    return f"{cron['metadata']['name']}-{int(due.timestamp()) // 60}"


def _may_start(cron: Object, status: Mapping[str, Any], due: datetime, now: datetime) -> bool:
    names = {each["name"] for each in status.get("active") or ()}
    if job_name(cron, due) in names or status.get("lastScheduleTime") == format_time(due):
        return False
    deadline = cron["spec"].get("startingDeadlineSeconds")
    if deadline is not None and due + timedelta(seconds=deadline) < now:
        return False
    return not (cron["spec"].get("concurrencyPolicy") == "Forbid" and names)


def _start(
    cron: Object, status: Mapping[str, Any], due: datetime
) -> Generator[Sequence[Write], Sequence[Outcome], Mapping[str, Any]]:
    """The status once the Job of a due time is made, in place of those that run if need be."""
    active = list(status.get("active") or ())
    if cron["spec"].get("concurrencyPolicy") == "Replace" and active:
        yield [_deletion(cron, each["name"]) for each in active]
        active = []
    namespace = place_of(cron)[0]
    outcomes = yield [Create(kind=JOBS, namespace=namespace, body=_job(cron, due))]
    made = outcomes[0]
    if isinstance(made, ApiStatus):
        if made.reason != "AlreadyExists":
            text = f"Error creating job: {made.message}"
            yield [Record(about=cron, reason="FailedCreate", message=text, is_warning=True)]
            raise made
        return status
    text = f"Created job {made['metadata']['name']}"
    yield [Record(about=cron, reason="SuccessfulCreate", message=text)]
    return {
        **status,
        "active": [*active, _reference(made)],
        "lastScheduleTime": format_time(due),
    }


def _job(cron: Object, due: datetime) -> dict[str, Any]:
    template = cron["spec"]["jobTemplate"]
    meta = template.get("metadata") or {}
    zone = ZoneInfo(cron["spec"].get("timeZone") or "UTC")
    at = due.astimezone(zone).isoformat(timespec="seconds").replace("+00:00", "Z")
    labels = {"labels": meta["labels"]} if meta.get("labels") else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": job_name(cron, due),
            "namespace": place_of(cron)[0],
            **labels,
            "annotations": {**(meta.get("annotations") or {}), SCHEDULED_AT: at},
            "ownerReferences": [controller_reference(cron)],
        },
        "spec": template["spec"],
    }


def _reference(job: Object) -> dict[str, Any]:
    namespace, name = place_of(job)
    return {
        "kind": "Job",
        "namespace": namespace,
        "name": name,
        "uid": uid_of(job),
        "apiVersion": "batch/v1",
        "resourceVersion": job["metadata"]["resourceVersion"],
    }


def _farewell(cron: Object, name: str, child: Object | None) -> Record:
    if child is None:
        return Record(about=cron, reason="MissingJob", message=f"Active job went missing: {name}")
    conditions = status_of(child).get("conditions")
    complete = condition(conditions, "Complete")
    how = "Complete" if complete is not None and complete["status"] == "True" else "Failed"
    text = f"Saw completed job: {name}, condition: {how}"
    return Record(about=cron, reason="SawCompletedJob", message=text)


def _surplus(cron: Object, jobs: Iterable[Object]) -> list[Write]:
    """Deletions of finished Jobs beyond those that are kept, the oldest first."""
    kept = {
        "Complete": cron["spec"].get("successfulJobsHistoryLimit"),
        "Failed": cron["spec"].get("failedJobsHistoryLimit"),
    }
    finished = sorted(filter(is_finished, jobs), key=_began)
    writes: list[Write] = []
    for type_, limit in kept.items():
        ended = [each for each in finished if _ended_as(each, type_) and not is_deleted(each)]
        if limit is not None:
            for job in ended[: max(0, len(ended) - limit)]:
                writes += [_deletion(cron, place_of(job)[1]), _deleted(cron, job)]
    return writes


def _began(job: Object) -> tuple[str, str]:
    return status_of(job).get("startTime", "9"), place_of(job)[1]


def _ended_as(job: Object, type_: str) -> bool:
    found = condition(status_of(job).get("conditions"), type_)
    return found is not None and found["status"] == "True"


def _deletion(cron: Object, name: str) -> Delete:
    return Delete(kind=JOBS, namespace=place_of(cron)[0], name=name)


def _deleted(cron: Object, job: Object) -> Record:
    text = f"Deleted job {place_of(job)[1]}"
    return Record(about=cron, reason="SuccessfulDelete", message=text)


def _local(cron: Object, moment: datetime) -> datetime:
    return moment.astimezone(ZoneInfo(cron["spec"].get("timeZone") or "UTC"))
