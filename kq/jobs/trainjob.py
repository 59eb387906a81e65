"""TrainJob: its pods are those of the JobSet that the trainer makes of it (spec 8.2, 8.21)."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from kq.core import codec
from kq.core.kinds import Object, ResourceKind
from kq.core.model import Grant, JobState, JobView
from kq.core.patch import Patch
from kq.jobs.jobset import JOB_COUNTS
from kq.jobs.options import JobOptions
from kq.jobs.progress import has_any, since, state_of

TRAINJOB = ResourceKind("trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs")
OWN_CONTROLLER = "trainer.kubeflow.org/trainjob-controller"
STATES = (("Complete", JobState.SUCCEEDED), ("Failed", JobState.FAILED))
CHILD = "JobSet"
HOLD = Patch({"spec": {"suspend": True}})


class TrainJob:
    """Training runs that name a runtime instead of pods."""

    kinds = (TRAINJOB,)

    def __init__(self, options: JobOptions) -> None:
        """Nothing of the options concerns it."""

    def view(self, job: Object, *, templates: bool = True) -> JobView:
        """The TrainJob as decisions see it, which has no pod sets before `with_pods_of`."""
        meta, spec, status = (codec.mapping(job, part) for part in ("metadata", "spec", "status"))
        conditions = codec.conditions(status.get("conditions"))
        resumed = since(conditions, "Suspended", status=False)
        state = state_of(conditions, STATES)
        return JobView(
            **codec.job_metadata(meta),
            kind=TRAINJOB,
            suspended=spec.get("suspend") is True,
            managed_by_other=(spec.get("managedBy") or OWN_CONTROLLER) != OWN_CONTROLLER,
            state=state,
            takes_updates=False,
            has_run=resumed is not None
            or state is not JobState.PENDING
            or has_any(codec.listed(status, "jobsStatus"), JOB_COUNTS),
            started=resumed,
            released_at=codec.released_at(meta.get("annotations")),
            pods_of=CHILD,
        )

    def hold(self, job: Object) -> Patch:
        """`spec.suspend: true`."""
        return HOLD

    def suspend(self, job: Object) -> Patch:
        """`spec.suspend: true`."""
        return HOLD

    def resume(self, job: Object, grants: Sequence[Grant], now: datetime) -> Patch:
        """`spec.suspend: false`."""
        return Patch({"spec": {"suspend": False}})


def with_pods_of(job: JobView, child: JobView) -> JobView:
    """The TrainJob with the pod sets of its JobSet, where nobody writes labels (spec 6.6)."""
    return msgspec.structs.replace(
        job,
        pod_sets=tuple(msgspec.structs.replace(each, path=()) for each in child.pod_sets),
        priorities=child.priorities,
        defect=child.defect,
        has_run=job.has_run or child.has_run,
        started=job.started or child.started,
    )
