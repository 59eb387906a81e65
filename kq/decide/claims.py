"""What released jobs may have running, whatever the watch of pods has shown so far.

A job's unit says what the job may use. Where the unit is gone (deleted by hand, or with its job),
the pods alone tell what is still in use, and their watch can be behind: until it has caught up,
what the job itself said counts (spec 24.3).
"""

from collections.abc import Mapping, Sequence

import msgspec

from kq.core import keys
from kq.core.model import JobView, PodSet
from kq.decide.kin import is_made_by_owner, selector_of


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What a released job may have in use, by its own word.

    `selector` is the label selector of its pods, empty where there is none. Of a job that is gone
    `until` is the version that the watch of pods must have reached for it to know better.
    """

    namespace: str
    labels: Mapping[str, str]
    pod_sets: Sequence[PodSet]
    selector: str = ""
    until: int = 0


def claim_of(job: JobView) -> Claim | None:
    """The claim of a job as it is; None if nothing of it can run, or no queue let it run."""
    if job.suspended or job.finished or job.released_at is None:
        return None
    if job.annotations.get(keys.BYPASSED_BY) or is_made_by_owner(job):
        # Children may bear our marks (KubeRay copies them), but what they run is their parent's.
        return None
    pod_sets = _counted(job) if job.deleting else job.pod_sets
    if pod_sets is None:
        return None
    return Claim(
        namespace=job.namespace,
        labels=job.labels,
        pod_sets=pod_sets,
        selector=selector_of(job),
    )


def departed(claim: Claim | None, job: JobView, version: int) -> Claim | None:
    """What is left of a claim when its job goes, as its pods may be there for a while.

    One that was on its way out made no pods any more: all that it counted were there when it said
    so. Any other may have made some till its end, which was at that version.
    """
    pod_sets = _counted(job)
    if claim is None or pod_sets is None:
        return None
    said = int(job.resource_version) if job.resource_version.isdecimal() else 0
    until = said if job.deleting else version
    return msgspec.structs.replace(claim, pod_sets=pod_sets, until=until)


def _counted(job: JobView) -> Sequence[PodSet] | None:
    """The pods that a job has by the word of its controller, if that counts them; None for none.

    Before it has done anything for the job, it is about to make all of them.
    """
    if not (job.counts_pods and job.has_run and len(job.pod_sets) == 1):
        return job.pod_sets
    pods = job.pods_active + job.pods_terminating
    return (msgspec.structs.replace(job.pod_sets[0], count=pods),) if pods else None
