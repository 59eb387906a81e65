"""Events on units, jobs, Queues and quotas (spec 18.4), in the recorder's terms."""

from kq.core.kinds import (
    ELASTIC_QUOTA,
    ELASTIC_QUOTA_TREE,
    QUEUE,
    QUEUE_UNIT,
    RESOURCE_QUOTA,
)
from kq.core.model import JobView, Queue, QueueUnit, Quota
from kq.core.quotaviews import QuotaTree, QuotaView, ResourceQuota
from kq.kube.recorder import ObjectRef, Recorder

Subject = JobView | QueueUnit | Queue | QuotaView


def ref(subject: Subject) -> ObjectRef:
    """The object as events name it."""
    match subject:
        case JobView():
            kind = subject.kind
        case QueueUnit():
            kind = QUEUE_UNIT
        case Queue():
            kind = QUEUE
        case Quota():
            kind = ELASTIC_QUOTA
        case QuotaTree():
            kind = ELASTIC_QUOTA_TREE
        case ResourceQuota():
            kind = RESOURCE_QUOTA
    return ObjectRef(kind.api_version, kind.kind, subject.namespace, subject.name, subject.uid)


def job_ref(unit: QueueUnit) -> ObjectRef | None:
    """The job of a unit as events name it; None without a job of a known UID."""
    job = unit.consumer
    if job is None or not unit.job_uid:
        return None
    return ObjectRef(
        job.api_version, job.kind, job.namespace or unit.namespace, job.name, unit.job_uid
    )


class Teller:
    """Writes events; `both` also on the unit's job."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def tell(self, subject: Subject, warning: bool, reason: str, message: str) -> None:
        """One event on the object."""
        self._recorder.event(ref(subject), "Warning" if warning else "Normal", reason, message)

    def both(self, unit: QueueUnit, warning: bool, reason: str, message: str) -> None:
        """The same event on the unit and on its job."""
        self.tell(unit, warning, reason, message)
        job = job_ref(unit)
        if job is not None:
            self._recorder.event(job, "Warning" if warning else "Normal", reason, message)
