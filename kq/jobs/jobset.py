"""JobSet (spec 8.2, 8.3, 8.6, 8.21)."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from kq.core import codec
from kq.core.kinds import Object, ResourceKind
from kq.core.model import Grant, JobState, JobView, PodSet
from kq.core.patch import Patch
from kq.jobs.options import JobOptions
from kq.jobs.progress import has_any, since, state_of
from kq.jobs.roles import (
    MOST_POD_SETS,
    MOST_PODS,
    POD_SPEC,
    counted,
    no_maps,
    pod_set_names,
    told,
    too_many,
)

JOBSET = ResourceKind("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets")
OWN_CONTROLLER = "jobset.sigs.k8s.io/jobset-controller"
STATES = (("Completed", JobState.SUCCEEDED), ("Failed", JobState.FAILED))
JOB_COUNTS = ("active", "ready", "succeeded", "failed")
REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
REPLICAS = "jobset.sigs.k8s.io/replicatedjob-replicas"
MOST_COMPLETIONS = 2**31 - 1
"""They cost nothing, as at most parallelism pods of a Job run at once."""
JOB_TEMPLATE = ("template", "spec")
HOLD = Patch({"spec": {"suspend": True}})


class JobSet:
    """Sets of Jobs that start and end together."""

    kinds = (JOBSET,)

    def __init__(self, options: JobOptions) -> None:
        """Nothing of the options concerns it."""

    def view(self, job: Object, *, templates: bool = True) -> JobView:
        """The JobSet as decisions see it; without templates its pod sets have empty ones.

        Whether a pod runs is the pods' word, so it is never Running by itself.
        """
        meta, spec, status = (codec.mapping(job, part) for part in ("metadata", "spec", "status"))
        conditions = codec.conditions(status.get("conditions"))
        pod_sets, defect = _pod_sets(spec, str(meta.get("uid") or ""), templates)
        resumed = since(conditions, "Suspended", status=False)
        state = state_of(conditions, STATES)
        return JobView(
            **codec.job_metadata(meta),
            kind=JOBSET,
            suspended=spec.get("suspend") is True,
            managed_by_other=(spec.get("managedBy") or OWN_CONTROLLER) != OWN_CONTROLLER,
            state=state,
            has_run=resumed is not None
            or state is not JobState.PENDING
            or bool(codec.integer(status.get("restarts")))
            or has_any(codec.listed(status, "replicatedJobsStatus"), JOB_COUNTS),
            started=resumed,
            released_at=codec.released_at(meta.get("annotations")),
            pod_sets=pod_sets,
            defect=defect,
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


def counted_by_jobs(job: JobView, jobs: Iterable[JobView]) -> JobView:
    """The JobSet as the Jobs count that it made: later changes of it do not reach them (spec 8.21).

    What a replicated job still lacks of its replicas counts as the JobSet says.
    """
    made: dict[str, list[JobView]] = {}
    for each in jobs:
        if not each.deleting and each.pod_sets:
            made.setdefault(each.labels.get(REPLICATED_JOB, "").lower(), []).append(each)
    pod_sets = tuple(_counted(each, made.get(each.name, [])) for each in job.pod_sets)
    return msgspec.structs.replace(job, pod_sets=pod_sets)


def _counted(pod_set: PodSet, jobs: Sequence[JobView]) -> PodSet:
    if not jobs:
        return pod_set
    text = jobs[0].labels.get(REPLICAS, "")
    replicas = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    lacking = max(0, replicas - len(jobs))
    count = sum(each.pod_sets[0].wanted for each in jobs)
    count += lacking * (pod_set.wanted // replicas) if lacking else 0
    return msgspec.structs.replace(pod_set, count=count, wanted=count)


def _pod_sets(spec: Object, uid: str, templates: bool) -> tuple[tuple[PodSet, ...], str | None]:
    """One a replicated job, in their order, and what is wrong with them."""
    listed = spec.get("replicatedJobs")
    if listed is not None and not isinstance(listed, list):
        return (), f"spec.replicatedJobs is {told(listed)}, not a list"
    listed = listed or []
    excess = too_many(listed, "spec.replicatedJobs")
    listed = listed[:MOST_POD_SETS]
    names = pod_set_names((_name(each) for each in listed), uid)
    found = [
        _pod_set(each, name, index, templates)
        for index, (each, name) in enumerate(zip(listed, names, strict=True))
    ]
    defects = (defect for _, defect in found if defect)
    return tuple(pod_set for pod_set, _ in found), excess or next(defects, None)


def _name(replicated: object) -> str:
    return str(replicated.get("name") or "") if isinstance(replicated, Mapping) else ""


def _pod_set(value: object, name: str, index: int, templates: bool) -> tuple[PodSet, str | None]:
    where = f"spec.replicatedJobs[{index}]"
    replicated = value if isinstance(value, Mapping) else {}
    no_map = None if isinstance(value, Mapping) else f"{where} is {told(value)}, not a map"
    no_map = no_map or no_maps(replicated, where, *JOB_TEMPLATE, *POD_SPEC)
    job = codec.mapping(codec.mapping(replicated, "template"), "spec")
    count, defect = _count(replicated, job, where)
    template = codec.template_of(codec.mapping(job, "template") if templates else {})
    path = ("spec", "replicatedJobs", index, *JOB_TEMPLATE, "template", "metadata")
    pod_set = PodSet(name=name, count=count, wanted=count, template=template, path=path)
    return pod_set, no_map or defect or template.defect


def _count(replicated: Object, job: Object, where: str) -> tuple[int, str | None]:
    """Replicas, each of as many pods as its Job starts at once."""
    replicas, bad_replicas = counted(replicated.get("replicas"), f"{where}.replicas")
    inner = f"{where}.template.spec"
    parallelism, bad_parallelism = counted(job.get("parallelism"), f"{inner}.parallelism")
    completions, bad_completions = counted(
        job.get("completions"), f"{inner}.completions", parallelism, MOST_COMPLETIONS
    )
    defect = bad_replicas or bad_parallelism or bad_completions
    pods = replicas * min(parallelism, completions)
    if defect or pods <= MOST_PODS:
        return 0 if defect else pods, defect
    return 0, f"pods of {where} is {pods}, not a number from 0 to {MOST_PODS}"
