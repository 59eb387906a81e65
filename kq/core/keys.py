"""Labels and annotations of spec 21: their names, and who may write which."""

import re
from collections.abc import Mapping, Sequence

QUOTA_LABEL = "quota.scheduling.koordinator.sh/name"
"""The quota of a job, namespace, unit or pod; the only spelling that is ever written."""

QUOTA_LABELS = (
    QUOTA_LABEL,
    "quota.scheduling.alibabacloud.com/name",
    "alibabacloud.com/quota-name",
)
"""Spellings of the quota label in the order in which they are read (spec 5.3)."""

PARENT_LABEL = "quota.scheduling.koordinator.sh/parent"
IS_PARENT_LABEL = "quota.scheduling.koordinator.sh/is-parent"
QUOTA_NAMESPACES = "quota.scheduling.koordinator.sh/namespaces"
PREEMPTIBLE_LABELS = (
    "quota.scheduling.koordinator.sh/preemptible",
    "quota.scheduling.alibabacloud.com/preemptible",
)

POLICY_LABELS = ("koord-queue/queue-policy", "kube-queue/queue-policy")
MANAGED_LABEL = "koord-queue/managed"
AUTO_MADE_LABEL = "create-by-koordqueue"
CREATED_BY_QUOTA_ENABLE = "quota-koord-queue-enable"

SUSPEND = "scheduling.x-k8s.io/suspend"
PRIORITY = "scheduling.x-k8s.io/priority"
ACTIVE = "scheduling.x-k8s.io/active"
MAX_EXEC_TIME = "scheduling.x-k8s.io/max-exec-time-seconds"
MIN_RESOURCES = ("koord-queue/min-resources", "kube-queue/min-resources")
QUEUE_NAME = ("koord-queue/queue-name", "kube-queue/queue-name")
BYPASS = "koord-queue/bypass"
BYPASSED_BY = "koord-queue/bypassed-by"
HAS_ENQUEUED = "koord-queue/job-has-enqueued"
HAS_ENQUEUED_SPELLINGS = (HAS_ENQUEUED, "kube-queue/job-has-enqueued")
ENQUEUE_TIMESTAMP = "koord-queue/job-enqueue-timestamp"
DEQUEUE_TIMESTAMP = "koord-queue/job-dequeue-timestamp"
DEQUEUE_TIMESTAMPS = (DEQUEUE_TIMESTAMP, "kube-queue/job-dequeue-timestamp")
INJECTED = "koord-queue/injected"
POD_SET_UPDATES = "koord-queue/pod-set-updates"

UNIT_QUOTA = "koord-queue/quota"
QUEUE_BY_HAND = "koord-queue/queue-by-hand"
"""On a unit that a person made and its job has been read into: its Queue is what the person named
in spec.queue (spec 10.1)."""
JOB_CREATION = "koord-queue/job-creation-timestamp"
DERIVED_PRIORITY = "koord-queue/derived-priority"

RELATED_UNIT = "koord-queue/related-queueunit"
RELATED_POD_SET = "koord-queue/related-podset-name"

AVAILABLE_QUOTA = "koord-queue/available-quota"
ALLOWED_NAMESPACES = "koord-queue/allowed-namespaces"
THRESHOLD = ("koord-queue/priority-threshold", "kube-queue/priority-threshold")
MAX_DEPTH = ("koord-queue/max-depth", "kube-queue/max-depth")
WAIT_FOR_PODS = ("koord-queue/wait-for-pods-running", "kube-queue/wait-for-pods-running")
ENABLE_PREEMPTION = (
    "koord-queue/enable-queueunit-preemption",
    "kube-queue/enable-queueunit-preemption",
)
RECLAIM = ("koord-queue/reclaim", "kube-queue/reclaim")
QUEUE_ARGS = ("koord-queue/queue-args", "kube-queue/queue-args")
SKIP_IMPOSSIBLE = ("koord-queue/skip-impossible", "kube-queue/skip-impossible")
MAX_JOBS = ("koord-queue/max-jobs", "kube-queue/max-jobs")
DEFAULT_POLICY = "koord-queue/default-policy"
COPIED = "koord-queue/copied"
DEFECT = "koord-queue/defect"
"""On a unit: why its job cannot be counted, in the words of M16. What the pod sets say is not meant
then, and this goes in the same write that corrects them."""

USAGE_ANNOTATIONS = (
    "alibabacloud.com/queue-used",
    "alibabacloud.com/queue-self-used",
    "alibabacloud.com/queue-children-used",
    "alibabacloud.com/queue-guaranteed-used",
    "alibabacloud.com/queue-self-guaranteed-used",
    "alibabacloud.com/queue-children-guaranteed-used",
)
"""On a Queue: what its quota has in use (spec 3.10), all of it, its own units', its children's; and
the same of units that nobody may preempt."""

MANAGER_ONLY = frozenset(
    {
        "kube-queue/job-dequeue-timestamp",
        COPIED,
        DEFAULT_POLICY,
        DEFECT,
        DEQUEUE_TIMESTAMP,
        DERIVED_PRIORITY,
        JOB_CREATION,
        POD_SET_UPDATES,
        QUEUE_BY_HAND,
        UNIT_QUOTA,
    }
)
"""Annotations that only the manager writes (M in spec 21); removed from a user's new job (6.5)."""

SYNCHRONIZATION = "koord-queue/synchronization"
WRITTEN_AT_CREATE = frozenset({HAS_ENQUEUED, ENQUEUE_TIMESTAMP, INJECTED, SYNCHRONIZATION})
"""Annotations that the webhook sets at CREATE and keeps if present (W in spec 21)."""

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""A whole manifest: never kept, never copied."""

OWN_DOMAINS = (
    "koord-queue/",
    "kube-queue/",
    "scheduling.x-k8s.io/",
    "quota.scheduling.koordinator.sh/",
    "quota.scheduling.alibabacloud.com/",
    "alibabacloud.com/",
    "provreq.kueue.x-k8s.io/",
)
"""Prefixes of the annotations that are kept of a job and copied to its unit (spec 2.7)."""

EXCLUDED_NAMESPACES = ("kube-system", "kube-public", "kube-node-lease")
"""Namespaces whose jobs are never managed, beside the install namespace (spec 5.2)."""

_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", re.ASCII)


def spelled(values: Mapping[str, str], spellings: Sequence[str]) -> str:
    """What stands at the first of these spellings; empty if at none."""
    return next((values[each] for each in spellings if each in values), "")


def is_preemptible(labels: Mapping[str, str], default: bool) -> bool:
    """Whether a job with these labels lets others take its grants (spec 11.13)."""
    said = spelled(labels, PREEMPTIBLE_LABELS).lower()
    return {"true": True, "false": False}.get(said, default)


def is_label_value(text: str) -> bool:
    """Whether the API server takes it as the value of a label (spec 5.5)."""
    return _LABEL_VALUE.fullmatch(text) is not None
