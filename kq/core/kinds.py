"""The kinds of objects that kq reads or writes, as the API server addresses them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Object = Mapping[str, Any]
"""One raw JSON object as the API server sends it; the only name for such a thing."""


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """One kind of objects: where it lives on the API server, and what its objects are called."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """`group/version` as objects carry it; only the version for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version


NAMESPACE = ResourceKind("", "v1", "Namespace", "namespaces", namespaced=False)
POD = ResourceKind("", "v1", "Pod", "pods")
EVENT = ResourceKind("", "v1", "Event", "events")
CONFIG_MAP = ResourceKind("", "v1", "ConfigMap", "configmaps")
RESOURCE_QUOTA = ResourceKind("", "v1", "ResourceQuota", "resourcequotas")
LIMIT_RANGE = ResourceKind("", "v1", "LimitRange", "limitranges")
LEASE = ResourceKind("coordination.k8s.io", "v1", "Lease", "leases")
RUNTIME_CLASS = ResourceKind("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", False)
PRIORITY_CLASS = ResourceKind("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", False)
CRD = ResourceKind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", False
)
MUTATING_WEBHOOK = ResourceKind(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    False,
)

JOB = ResourceKind("batch", "v1", "Job", "jobs")

QUEUE = ResourceKind("scheduling.x-k8s.io", "v1alpha1", "Queue", "queues")
QUEUE_UNIT = ResourceKind("scheduling.x-k8s.io", "v1alpha1", "QueueUnit", "queueunits")
ELASTIC_QUOTA = ResourceKind("scheduling.sigs.k8s.io", "v1alpha1", "ElasticQuota", "elasticquotas")
ELASTIC_QUOTA_TREE = ResourceKind(
    "scheduling.sigs.k8s.io", "v1beta1", "ElasticQuotaTree", "elasticquotatrees"
)
