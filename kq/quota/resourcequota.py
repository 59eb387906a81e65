"""ResourceQuota: all ResourceQuotas of a job's namespace limit it together (spec 11.14-11.18).

The quota is the namespace; each of its ResourceQuotas is a limit of its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from kq.core.messages import Reason, m4_namespace, m5
from kq.core.model import NamespaceView
from kq.core.options import QuotaOptions
from kq.core.plugins import AutoMade, Level, Problem
from kq.core.quotaviews import ResourceQuota
from kq.core.resources import ZERO, Resources, qualified
from kq.quota.resolve import labelled_quota
from kq.quota.scopedcharges import ScopedCharges, full_name


class ResourceQuotas(ScopedCharges):
    """All ResourceQuotas at one moment, by their namespaces; no quota is oversold (11.2)."""

    @classmethod
    def build(cls, options: QuotaOptions, quotas: Iterable[ResourceQuota]) -> "ResourceQuotas":
        """The picture of these quotas."""
        return cls(quotas, options)

    def quota_of(self, labels: Mapping[str, str], namespace: NamespaceView) -> str | None:
        """The namespace, if it has a quota or a label says that one is meant, whichever (5.5)."""
        labelled = labelled_quota(labels) or labelled_quota(namespace.labels)
        if labelled or namespace.name in self._quotas or self._options.default_quota:
            return namespace.name
        return None

    def chain(self, quota: str) -> Sequence[Level] | Problem:
        """Every ResourceQuota of the namespace; M4 if there is none."""
        found = self._chains.get(quota)
        if found is None and not self._options.missing_admits:
            return Problem(Reason.NOT_FOUND, m4_namespace(quota))
        return found or ()

    def ancestry(self, quota: str) -> Sequence[str]:
        """The same by their names; the namespace if there is none."""
        return self._names.get(quota, (quota,))

    def barred(self, namespace: NamespaceView, quota: str) -> Problem | None:
        """M5 if it is that of another namespace: no pod of this one would count there."""
        if quota == namespace.name:
            return None
        return Problem(Reason.MISCONFIGURED, m5(namespace.name, quota))

    def names(self) -> Sequence[str]:
        """Namespaces that have quotas."""
        return sorted(self._quotas)

    def spellings(self, quota: str) -> Sequence[str]:
        """The namespace's name."""
        return (quota,)

    def queue_of(self, quota: str) -> str:
        """The Queue has the namespace's name."""
        return quota

    def auto_made(self, queue: str) -> AutoMade | None:
        """The namespace of that name: its Queue is made once a unit is to wait there (3.3)."""
        return AutoMade(queue, on_demand=True) if self._has_queue(queue) else None

    def _has_queue(self, queue: str) -> bool:
        return queue in self._quotas or self._options.missing_admits

    @cached_property
    def _names(self) -> Mapping[str, Sequence[str]]:
        return {
            namespace: tuple(full_name(each) for each in quotas)
            for namespace, quotas in self._quotas.items()
        }

    @cached_property
    def _chains(self) -> Mapping[str, Sequence[Level]]:
        return {
            namespace: tuple(_level(each) for each in quotas)
            for namespace, quotas in self._quotas.items()
        }


def _level(quota: ResourceQuota) -> Level:
    limit = {qualified(key, quota.name): amount for key, amount in quota.limit.items()}
    return Level(full_name(quota), Resources.of(limit), ZERO, beside=True)
