"""Jobs of which a part stands in another object: pod sets of a TrainJob, the end of a RayJob."""

from collections.abc import Iterator

from msgspec.structs import replace

from kq.core.kinds import JOB
from kq.core.model import JobState, JobView
from kq.decide.kin import STEPS, is_made_by_owner
from kq.jobs.jobset import counted_by_jobs
from kq.jobs.trainjob import with_pods_of
from kq.kube.informer import Informer
from kq.reconcile.controller import Request
from kq.reconcile.watches import BY_OWNER, Watches

RAY_CLUSTER = "RayCluster"
JOB_SET = "JobSet"


class Family:
    """Looks at jobs together with the children that their operators made of them."""

    def __init__(self, watches: Watches) -> None:
        self._watches = watches

    def job(self, kind: str, namespace: str, name: str) -> JobView | None:
        """The job of that name, complete; None if there is none."""
        informer = self._watches.jobs.get(kind)
        found = informer.lister.get(namespace, name) if informer is not None else None
        return self.complete(found) if found is not None else None

    def jobs(self) -> Iterator[JobView]:
        """All of them, complete."""
        for informer in self._watches.jobs.values():
            for job in informer.lister.values():
                yield self.complete(job)

    def complete(self, job: JobView) -> JobView:
        """The job with what its children say."""
        if job.kind.kind == JOB_SET:
            job = counted_by_jobs(job, self._children(job, JOB.kind))
        if job.pods_of:
            child = next(iter(self._children(job, job.pods_of)), None)
            job = with_pods_of(job, self.complete(child)) if child is not None else job
        if job.ends_with and job.finished and self._has_cluster(job):
            job = replace(job, state=JobState.RUNNING)  # KubeRay has not cleared up yet (8.6)
        return job

    def looked_at_with(self, child: JobView) -> Iterator[Request]:
        """The jobs of which an object is a part that counts, nearest first."""
        for _ in range(STEPS):
            owner = child.controller
            if owner is None or not is_made_by_owner(child):
                return
            informer = self._informer(owner.kind)
            parent = informer.lister.get(child.namespace, owner.name) if informer else None
            if parent is None or parent.uid != owner.uid:
                return
            is_whole = parent.pods_of or parent.ends_with or parent.kind.kind == JOB_SET
            if is_whole and owner.kind in self._watches.jobs:
                yield Request(parent.namespace, parent.name, owner.kind)
            child = parent

    def _has_cluster(self, job: JobView) -> bool:
        clusters = self._children(job, RAY_CLUSTER)
        return any(each.name == job.ends_with for each in clusters)

    def _children(self, job: JobView, kind: str) -> list[JobView]:
        informer = self._informer(kind)
        return informer.lister.by_index(BY_OWNER, job.uid) if informer is not None else []

    def _informer(self, kind: str) -> Informer[JobView] | None:
        return self._watches.jobs.get(kind) or self._watches.kin.get(kind)


def by_owner(job: JobView) -> tuple[str, ...]:
    """The index of children by the UID of the job that they are made of."""
    owner = job.controller
    return (owner.uid,) if owner is not None and is_made_by_owner(job) else ()
