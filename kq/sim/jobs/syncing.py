"""One look at a Job: what is written, in the order of the real controller."""

from collections.abc import Generator, MutableMapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from kq.core.kinds import Object
from kq.sim.api.status import ApiStatus
from kq.sim.control.objects import JOBS, PODS, is_deleted, is_ready, place_of, status_of, uid_of
from kq.sim.control.writes import (
    Create,
    Delete,
    Outcome,
    Patch,
    PatchForm,
    Plan,
    Record,
    Replace,
    Write,
    is_written,
    taken,
)
from kq.sim.jobs import status as told
from kq.sim.jobs.ending import COMPLETED, End, Word, ending, is_complete, time_left
from kq.sim.jobs.failures import Backoff
from kq.sim.jobs.manage import Change, change_of
from kq.sim.jobs.status import Counts, Noted, Status
from kq.sim.jobs.survey import TRACKING, Survey, is_suspended, is_tracked, survey_of

BATCH = timedelta(seconds=1)
"""How long events of pods are gathered, and the least wait of any other kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Managed:
    """What came of a look at the pods: how many there are, and what people are told."""

    counts: Counts
    records: Sequence[Record] = ()
    refusal: ApiStatus | None = None
    wait: timedelta | None = None
    is_whole: bool = True
    """Whether all was done that was to be done."""


_Step: TypeAlias = Generator[Sequence[Write], Sequence[Outcome], _Managed]


def sync(
    job: Object,
    pods: Sequence[Object],
    now: datetime,
    backoffs: MutableMapping[str, Backoff],
) -> Plan:
    """All writes for a Job that has not ended; `backoffs` remembers failures by the Job's UID."""
    job = told.started(job, now)
    survey = survey_of(job, pods, now, backoffs.get(uid_of(job), Backoff()))
    end = ending(survey)
    managed = yield from _manage(survey, end)
    status: Status = status_of(job)
    suspension = None
    if end is None and is_complete(survey, managed.counts.active):
        end = COMPLETED
    elif end is None and not is_deleted(job):
        suspension = told.suspension(job, status, now)
    elif end is not None and not managed.is_whole:
        end = None
    status, is_news = told.counted(suspension or status, managed.counts)
    noted = told.noted(survey, status, end)
    announced = told.announced(noted.status, end, now) if end else None
    if is_news or suspension or announced or noted.is_changed:
        noted = replace(noted, status=announced or noted.status)
        [job] = taken((yield [_replaced(job, noted.status)]))
        noted = replace(noted, status=status_of(job))
        backoffs[uid_of(job)] = survey.backoff
    records = [*managed.records, *_suspension_records(job, suspension)]
    records += yield from _let_go(survey, job, noted, end)
    yield records
    if managed.refusal is not None:
        raise managed.refusal
    return _next(managed.wait, time_left(job, now) if end is None else None)


def strip(pod: Object) -> Patch:
    """The write that lets a pod go."""
    namespace, name = place_of(pod)
    body = {"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING]}}
    return Patch(kind=PODS, namespace=namespace, name=name, body=body, form=PatchForm.STRATEGIC)


def _manage(survey: Survey, end: End | None) -> _Step:
    if end is not None:
        return (yield from _delete(survey, survey.active, strips=False))
    if is_deleted(survey.job):
        return _Managed(counts=_counts(survey))
    change = change_of(survey)
    if change.made:
        return (yield from _create(survey, change))
    if change.deleted:
        return (yield from _delete(survey, change.deleted, strips=True))
    wait = None if change.wait is None else max(change.wait, BATCH)
    return _Managed(counts=_counts(survey), wait=wait)


def _create(survey: Survey, change: Change) -> _Step:
    """Pods in batches that double as long as none is refused."""
    job = survey.job
    namespace = place_of(job)[0]
    records: list[Record] = []
    made, size, left = 0, 1, list(change.made)
    refusal: ApiStatus | None = None
    while left and refusal is None:
        batch, left = left[:size], left[size:]
        outcomes = yield [Create(kind=PODS, namespace=namespace, body=each) for each in batch]
        for outcome in outcomes:
            if not isinstance(outcome, ApiStatus):
                made += 1
                text = f"Created pod: {outcome['metadata']['name']}"
                records.append(Record(about=job, reason="SuccessfulCreate", message=text))
            elif _is_of_the_end(outcome):
                made += 1
            else:
                refusal = refusal or outcome
                text = f"Error creating: {outcome.message}"
                record = Record(about=job, reason="FailedCreate", message=text, is_warning=True)
                records.append(record)
        size *= 2
    counts = _counts(survey)
    counts = replace(counts, active=counts.active + made)
    return _Managed(counts=counts, records=records, refusal=refusal)


def _is_of_the_end(refusal: ApiStatus) -> bool:
    """Whether it comes of the namespace's end, with which the Job ends too."""
    causes = (refusal.details or {}).get("causes") or ()
    return any(each.get("reason") == "NamespaceTerminating" for each in causes)


def _delete(survey: Survey, pods: Sequence[Object], *, strips: bool) -> _Step:
    """Pods deleted; those that the Job is not to count are let go of before."""
    namespace = place_of(survey.job)[0]
    records: list[Record] = []
    gone: list[Object] = []
    refusal: ApiStatus | None = None
    for pod in pods:
        name = place_of(pod)[1]
        first = [strip(pod)] if strips and is_tracked(pod) else []
        delete = Delete(kind=PODS, namespace=namespace, name=name)
        outcomes = yield [*first, delete]
        refused = next((each for each in outcomes if not is_written(each)), None)
        if isinstance(refused, ApiStatus):
            refusal = refusal or refused
            continue
        gone.append(pod)
        text = f"Deleted pod: {name}"
        records.append(Record(about=survey.job, reason="SuccessfulDelete", message=text))
    counts = _counts(survey)
    return _Managed(
        counts=Counts(
            active=counts.active - len(gone),
            ready=counts.ready - sum(map(is_ready, gone)),
            terminating=counts.terminating + len(gone),
        ),
        records=records,
        refusal=refusal,
        is_whole=len(gone) == len(pods),
    )


def _let_go(
    survey: Survey, job: Object, noted: Noted, end: End | None
) -> Generator[Sequence[Write], Sequence[Outcome], list[Record]]:
    """Lets pods go that the status names, counts them, and ends the Job if it is at its end."""
    refusal: ApiStatus | None = None
    kept = {uid_of(pod) for pod in survey.pods if is_tracked(pod)}
    if noted.released:
        outcomes = yield [strip(pod) for pod in noted.released]
        for pod, outcome in zip(noted.released, outcomes, strict=True):
            if is_written(outcome):
                kept.discard(uid_of(pod))
            elif isinstance(outcome, ApiStatus):
                refusal = refusal or outcome
    status = told.settle(noted.status, kept)
    ended = None
    if end is not None and refusal is None and not noted.is_full:
        ended = told.ended(status or noted.status, end, survey.now)
    if written := ended or status:
        taken((yield [_replaced(job, written)]))
    if refusal is not None:
        raise refusal
    return [_end_record(job, end)] if ended and end else []


def _end_record(job: Object, end: End) -> Record:
    if end.final.type is Word.COMPLETE:
        return Record(about=job, reason="Completed", message="Job completed")
    return Record(about=job, reason=end.reason, message=end.message, is_warning=True)


def _suspension_records(job: Object, suspension: Status | None) -> list[Record]:
    if suspension is None:
        return []
    if is_suspended(job):
        return [Record(about=job, reason="Suspended", message="Job suspended")]
    return [Record(about=job, reason="Resumed", message="Job resumed")]


def _replaced(job: Object, status: Status) -> Replace:
    body: dict[str, Any] = {**job, "status": status}
    return Replace(kind=JOBS, body=body, subresource="status")


def _counts(survey: Survey) -> Counts:
    return Counts(active=len(survey.active), ready=survey.ready, terminating=survey.terminating)


def _next(*waits: timedelta | None) -> timedelta | None:
    return min((wait for wait in waits if wait is not None), default=None)
