"""What released jobs may have running, whatever the watch of pods has shown so far.

A job's unit says what the job may use. Where the unit is gone (deleted by hand, or with its job),
the pods alone tell what is still in use, and their watch can be behind: until it has caught up,
what the job itself said counts (spec 24.3).
"""

from collections.abc import Mapping

import msgspec

from kq.core import keys
from kq.core.model import JobView
from kq.core.resources import Resources
from kq.decide.charge import request_of
from kq.decide.pods import PODS


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What a released job may have in use, by its own word.

    Of a job that is gone `until` is the version that the watch of pods must have reached for it to
    know better.
    """

    namespace: str
    labels: Mapping[str, str]
    request: Resources
    until: int = 0


def claim_of(job: JobView) -> Claim | None:
    """The claim of a job as it is; None if nothing of it can run, or no queue let it run."""
    if job.suspended or job.finished or job.released_at is None:
        return None
    if job.annotations.get(keys.BYPASSED_BY):
        return None
    request = _counted(job) if job.deleting else request_of(job.pod_sets)
    if request.is_zero:
        return None
    return Claim(namespace=job.namespace, labels=job.labels, request=request)


def departed(claim: Claim | None, job: JobView, version: int) -> Claim | None:
    """What is left of a claim when its job goes, as its pods may be there for a while."""
    request = _counted(job)
    if claim is None or request.is_zero:
        return None
    return msgspec.structs.replace(claim, request=request, until=version)


def _counted(job: JobView) -> Resources:
    """What the pods ask that a job has by the word of its controller, if that counts them.

    Before it has done anything for the job, it is about to make all of them.
    """
    if not (job.counts_pods and job.has_run and len(job.pod_sets) == 1):
        return request_of(job.pod_sets)
    pods = job.pods_active + job.pods_terminating
    return job.pod_sets[0].template.request.times(pods) + Resources.of({PODS: pods})
