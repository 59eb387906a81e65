"""ElasticQuotaV2: Koordinator's ElasticQuotas, a tree by parent labels (spec 11.3, 5.3, 15.4)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kq.core.messages import Reason, m4, m7, m33
from kq.core.model import NamespaceView, Quota
from kq.core.options import QuotaOptions
from kq.core.plugins import AutoMade, Level, Problem
from kq.core.resources import Resources
from kq.quota.byrequest import ByRequest
from kq.quota.levels import counted, level_of
from kq.quota.permission import barred
from kq.quota.resolve import labelled_quota

ROOT = "koordinator-root-quota"
WITHOUT_QUEUE = frozenset({ROOT, "koordinator-default-quota", "koordinator-system-quota"})


@dataclass(frozen=True)
class ElasticQuotas(ByRequest):
    """All ElasticQuotas at one moment; of two with one name the older counts (spec 4.2)."""

    quotas: Mapping[str, Quota]
    options: QuotaOptions

    @classmethod
    def build(cls, options: QuotaOptions, quotas: Iterable[Quota]) -> "ElasticQuotas":
        """The picture of these quotas."""
        ordered = sorted(quotas, key=lambda each: (each.created, each.namespace), reverse=True)
        return cls({each.name: each for each in ordered}, options)

    def quota_of(self, labels: Mapping[str, str], namespace: NamespaceView) -> str | None:
        """By label, by the namespace's label or mapping, else the configured default."""
        found = labelled_quota(labels) or self._mapped(namespace)
        return found or self.options.default_quota or None

    def chain(self, quota: str) -> Sequence[Level] | Problem:
        """The quota and its ancestors, the root quota left out; or M4, M7, M33."""
        return self._chains.get(quota) or Problem(Reason.NOT_FOUND, m4(quota, quota))

    def ancestry(self, quota: str) -> Sequence[str]:
        """The names on the way up, as far as they are known."""
        return self._paths.get(quota, (quota,))

    def barred(self, namespace: NamespaceView, quota: str) -> Problem | None:
        """M5 if the quota's list leaves the namespace out, or the namespace has another quota."""
        known = self.quotas.get(quota)
        if known is None:
            return None
        mapped = self._mapped(namespace) if self.options.enforce_namespaces else None
        return barred(known, namespace, mapped, has_own=known.namespace == namespace.name)

    def of_job(self, labels: Mapping[str, str], counts: Resources) -> Resources:
        """Firm as well, if nobody may preempt it and min is to bound that (spec 11.13)."""
        return counted(counts, labels, self.options)

    def names(self) -> Sequence[str]:
        """All quotas, by name."""
        return sorted(self.quotas)

    def spellings(self, quota: str) -> Sequence[str]:
        """Its name."""
        return (quota,)

    def queue_of(self, quota: str) -> str:
        """The Queue has the quota's name."""
        return quota

    def auto_made(self, queue: str) -> AutoMade | None:
        """The quota of that name; Koordinator's own have a Queue only if a unit is to wait."""
        known = self.quotas.get(queue)
        return AutoMade(queue, known, on_demand=queue in WITHOUT_QUEUE) if known else None

    def _mapped(self, namespace: NamespaceView) -> str | None:
        """The quota of a namespace by spec 5.3 steps 2 and 3."""
        labelled = labelled_quota(namespace.labels)
        if labelled:
            return labelled
        own = self.quotas.get(namespace.name)
        if own is not None and own.namespace == namespace.name:
            return own.name
        return self._by_namespace.get(namespace.name)

    @cached_property
    def _by_namespace(self) -> Mapping[str, str]:
        """Namespaces named by the annotation of quotas; the oldest quota wins."""
        found: dict[str, str] = {}
        newest_first = sorted(
            self.quotas.values(), key=lambda each: (each.created, each.name), reverse=True
        )
        for each in newest_first:
            for namespace in each.namespaces:
                found[namespace] = each.name
        return found

    @cached_property
    def _paths(self) -> Mapping[str, tuple[str, ...]]:
        return {name: self._path(name) for name in self.quotas}

    @cached_property
    def _chains(self) -> Mapping[str, Sequence[Level] | Problem]:
        return {name: self._chain(name) for name in self.quotas}

    def _path(self, quota: str) -> tuple[str, ...]:
        """The quota and its ancestors, also one that is missing; a cycle ends where it closes."""
        path: list[str] = []
        name = quota
        while name and name != ROOT and name not in path:
            path.append(name)
            known = self.quotas.get(name)
            name = known.parent if known else ""
        return tuple(path) or (quota,)

    def _chain(self, quota: str) -> Sequence[Level] | Problem:
        path = self._paths[quota]
        missing = next((name for name in path if name not in self.quotas), None)
        if missing is not None:
            return Problem(Reason.NOT_FOUND, m4(quota, missing))
        above = self.quotas[path[-1]].parent
        if above in path:
            return Problem(Reason.INVALID, m7(path[path.index(above) :]))
        if self.quotas[quota].is_parent and not self.options.parents_take_jobs:
            return Problem(Reason.MISCONFIGURED, m33(quota))
        return tuple(level_of(self.quotas[name], self.options) for name in path)
