"""Which changes the plan of a job has to look at, and how soon; all others wake nobody.

A job that runs on its grant is written by its controller some ten times, and each of its pods four
or five times; of all that its plan needs the first pod that runs, the end, and now and then the
counts.
"""

import msgspec

from kq.core.model import JobView, Phase, PodView, QueueUnit

NOW = 0.0
COUNTS = 10.0
"""Seconds after which counts of pods are written (they are refreshed no more often, spec 2.2)."""


def job_matters(old: JobView | None, new: JobView | None, unit: QueueUnit | None) -> bool:
    """Whether the job's plan has to look at this change."""
    if old is None or new is None:
        return True
    known = msgspec.structs.replace(old, resource_version=new.resource_version)
    if known == new:
        return False
    if unit is None or not _runs_on_grant(new, unit):
        return True
    # Who asks for these is about to hold the job, or waits until no pod of it is left.
    counted = msgspec.structs.replace(
        known,
        pods_active=new.pods_active,
        pods_terminating=new.pods_terminating,
        has_run=new.has_run,
        started=new.started,
    )
    return counted != new


def pod_matters(
    old: PodView | None, new: PodView | None, job: JobView | None, unit: QueueUnit
) -> float | None:
    """In how many seconds the job's plan has to look at this change; None for never."""
    if _told(old) == _told(new):
        return None
    if job is None or not _runs_on_grant(job, unit):
        return NOW
    if unit.phase is Phase.DEQUEUED:
        return NOW if new is not None and new.phase == "Running" else None
    return COUNTS


def _runs_on_grant(job: JobView, unit: QueueUnit) -> bool:
    """Whether the job was let go and nothing about that is to change."""
    evicted = unit.condition("Evicted")
    return (
        unit.phase in (Phase.DEQUEUED, Phase.RUNNING)
        and unit.active
        and not (unit.deleting or job.suspended or job.finished or job.deleting)
        and not (evicted is not None and evicted.status)
    )


def _told(pod: PodView | None) -> object:
    """What of a pod a plan looks at."""
    return None if pod is None else (pod.live, pod.phase == "Running")
