"""Which changes the plan of a job has to look at, and how soon; all others wake nobody.

A job that runs on its grant is written by its controller some ten times, and each of its pods four
or five times; of all that its plan needs the first pod that runs, the end, and now and then the
counts.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from kq.core.classviews import PriorityClass, Raw
from kq.core.model import JobView, Phase, PodView, QueueUnit, Quota
from kq.core.plugins import QuotaPlugin
from kq.core.quotaviews import QuotaTree, QuotaView, ResourceQuota, queue_name

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


def quota_matters(old: QuotaView | None, new: QuotaView | None) -> bool:
    """Whether anything follows from this change; a ResourceQuota is written for every pod."""
    if not isinstance(old, ResourceQuota) or not isinstance(new, ResourceQuota):
        return True
    return msgspec.structs.replace(old, resource_version=new.resource_version) != new


def queues_of(quota: QuotaView | None) -> Sequence[str]:
    """The names of the Queues that may follow such a quota, or tell what is wrong with it."""
    match quota:
        case None:
            return ()
        case Quota():
            return [name for name in (quota.name, quota.parent) if name]
        case QuotaTree():
            return [queue_name(node.name) for node in quota.nodes]
        case ResourceQuota():
            return [quota.namespace]


def bold_class(old: PriorityClass | Raw | None, new: PriorityClass | Raw | None) -> str | None:
    """The class that is new or says otherwise whether its jobs take from others (13.2), if any."""
    if not isinstance(new, PriorityClass):
        return None
    said = old.view.preemption_policy if isinstance(old, PriorityClass) else None
    return new.name if said != new.view.preemption_policy else None


def queues_below(
    changed: Collection[str], queues: Iterable[str], quotas: QuotaPlugin
) -> Iterator[str]:
    """Queues whose quota, or one above it, has changed, by its Queue: they say what is wrong."""
    for name in queues:
        made = quotas.auto_made(name)
        levels = quotas.ancestry(made.quota) if made is not None else ()
        if name in changed or any(quotas.queue_of(each) in changed for each in levels):
            yield name


def structure_of(quota: QuotaView | None) -> object:
    """What of a quota decides where units stand and what they count for; not its amounts."""
    match quota:
        case None:
            return None
        case Quota():
            return (
                quota.parent,
                quota.is_parent,
                quota.annotations,
                quota.namespace,
                quota.created,
            )
        case QuotaTree():
            nodes = [(each.name, each.annotations, each.namespaces) for each in quota.nodes]
            return (quota.created, nodes)
        case ResourceQuota():
            return (sorted(quota.limit), quota.scopes)


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
