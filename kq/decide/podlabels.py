"""Whether the pods of a job that is let go will name the quota that it was granted (spec 6.6).

The webhook labels pod templates at the submit of a job. One that came past it, was moved to another
quota since, or names a runtime instead of pods gets the label when it is released: where job and
unit are gone, their last pods alone tell whose quota they use (spec 11.9).
"""

from kq.core import codec, keys
from kq.core.model import JobView, QueueUnit, Template
from kq.decide.pods import PodGroup
from kq.decide.standing import Surroundings, namespace_of, quota_of


def missing_label(job: JobView, unit: QueueUnit, around: Surroundings) -> str:
    """What the quota label of its pods has to say; empty if they say so, or have no place for it.

    Any spelling of the same quota will do.
    """
    label, quota = unit.labels.get(keys.QUOTA_LABEL, ""), quota_of(unit, around)
    labelled = [each for each in job.pod_sets if each.path or job.pods_of]
    if quota and any(_named(each.template, job, around) != quota for each in labelled):
        return label
    return ""


def counted_quota(job: JobView, pods: PodGroup | None, around: Surroundings) -> str | None:
    """The quota that live pods of a job use: what their unit had, or what they were let go with."""
    if pods is None or not pods.live:
        return None
    if pods.charged or job.released_at is None:
        return pods.charged
    named = {_named(each.template, job, around) for each in job.pod_sets}
    return named.pop() if len(named) == 1 else None


def _named(template: Template, job: JobView, around: Surroundings) -> str | None:
    """The quota that pods of a template name by themselves."""
    labels = codec.template_labels(template.wire)
    if not any(labels.get(key) for key in keys.QUOTA_LABELS):
        return None
    return around.quotas.quota_of(labels, namespace_of(job.namespace, around))
