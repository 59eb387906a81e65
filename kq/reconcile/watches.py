"""What the manager watches, as one table of informers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kq.core.classviews import PriorityClass, Raw
from kq.core.model import JobView, NamespaceView, PodView, Queue, QueueUnit
from kq.core.quotaviews import QuotaView
from kq.kube.informer import Informer

BY_NAMESPACE = "namespace"
BY_OWNER = "owner"


@dataclass(frozen=True, slots=True, kw_only=True)
class Watches:
    """Informers by what they show; jobs by kind.

    `kin` are the kinds of objects that stand between jobs and their pods and are not served here.
    """

    units: Informer[QueueUnit]
    queues: Informer[Queue]
    quotas: Informer[QuotaView]
    namespaces: Informer[NamespaceView]
    pods: Informer[PodView]
    jobs: Mapping[str, Informer[JobView]]
    kin: Mapping[str, Informer[JobView]] = field(default_factory=dict)
    priority_classes: Informer[PriorityClass]
    limit_ranges: Informer[Raw]
    runtime_classes: Informer[Raw]

    def all(self) -> tuple[Informer[Any], ...]:
        """All of them."""
        return (
            self.namespaces,
            self.priority_classes,
            self.limit_ranges,
            self.runtime_classes,
            self.quotas,
            self.queues,
            *self.jobs.values(),
            *self.kin.values(),
            self.pods,
            self.units,
        )


def by_namespace(view: Raw) -> tuple[str, ...]:
    """The index of small objects by namespace."""
    return (view.namespace,)
