"""What pods count for in ResourceQuotas, and what those demand of them (spec 11.14-11.17).

Each ResourceQuota counts its own sort of pods: so what a pod counts for is a resource of one of
them, `requests.cpu@nightly`.
"""

from collections.abc import Iterable, Mapping, Sequence

from kq.core.demand import (
    DEMANDED,
    LIMITED,
    POD_OBJECTS,
    Sort,
    demand_of_template,
    unsaid_in_template,
)
from kq.core.messages import Reason, m10
from kq.core.model import PodSet, Template
from kq.core.options import QuotaOptions
from kq.core.plugins import Problem
from kq.core.quotaviews import ResourceQuota
from kq.core.resources import ZERO, Resources, of_what, plain, qualified
from kq.quota.scopes import matches

PODS = "pods"


class ScopedCharges:
    """All ResourceQuotas at one moment, by their namespaces."""

    def __init__(self, quotas: Iterable[ResourceQuota], options: QuotaOptions) -> None:
        self._options = options
        self._quotas: dict[str, list[ResourceQuota]] = {}
        for each in sorted(quotas, key=lambda each: each.name):
            self._quotas.setdefault(each.namespace, []).append(each)
        self._routes: dict[tuple[str, str], Mapping[str, Sequence[str]]] = {}

    def of_pod(self, quota: str, template: Template) -> Resources:
        """What of a pod the quotas count that are about such pods."""
        asked = demand_of_template(template.wire, self._options.default_class)
        return ZERO if asked is None else self.of_pods(quota, asked)

    def of_pods(self, quota: str, asked: Resources) -> Resources:
        """What of such pods each quota counts; of pods of no known sort every quota does."""
        knows_sorts = any(of_what(name) for name in asked)
        total: dict[str, int] = {}
        for name, amount in asked.items():
            mark = of_what(name)
            if knows_sorts and not mark and name == PODS:
                continue  # they are counted by their sorts
            for counted in self._route(quota, mark).get(plain(name), ()):
                total[counted] = total.get(counted, 0) + amount
        return Resources.of(total)

    def of_job(self, labels: Mapping[str, str], counts: Resources) -> Resources:
        """As it is: a ResourceQuota has no min."""
        return counts

    def refuses(self, quota: str, pod_sets: Sequence[PodSet]) -> Problem | None:
        """M10 for the first container that leaves out what a quota demands (spec 11.17)."""
        for each in self._quotas.get(quota, ()):
            for pod_set in pod_sets:
                found = self._unsaid(each, pod_set.template) if pod_set.count else None
                if found is not None:
                    text = m10(full_name(each), *found, pod_set.name)
                    return Problem(Reason.MISCONFIGURED, text)
        return None

    def _unsaid(self, quota: ResourceQuota, template: Template) -> tuple[str, str] | None:
        demanded = [key for key in DEMANDED if key in quota.limit]
        unsaid = dict(unsaid_in_template(template.wire)) if demanded else {}
        lacking = next(((key, unsaid[key]) for key in demanded if key in unsaid), None)
        asked = demand_of_template(template.wire, self._options.default_class)
        if lacking is None or asked is None:
            return None
        sort = Sort.of_mark(next(of_what(name) for name in asked))
        return lacking if matches(quota.scopes, sort) else None

    def _route(self, namespace: str, mark: str) -> Mapping[str, Sequence[str]]:
        """What an amount of a resource of such pods is counted as, by the resource."""
        known = self._routes.get((namespace, mark))
        if known is None:
            known = self._routes[namespace, mark] = self._find_route(namespace, mark)
        return known

    def _find_route(self, namespace: str, mark: str) -> Mapping[str, Sequence[str]]:
        sort = Sort.of_mark(mark) if mark else None
        route: dict[str, list[str]] = {}
        for each in self._quotas.get(namespace, ()):
            if sort is not None and not matches(each.scopes, sort):
                continue
            for key in each.limit:
                asked = asked_by(key)
                if asked == POD_OBJECTS and sort is None:
                    asked = PODS  # all that is known of them is their number
                if asked is not None:
                    route.setdefault(asked, []).append(qualified(key, each.name))
        return route


def asked_by(key: str) -> str | None:
    """The resource of pods that a key of `hard` limits; None if it is about no pods (11.14)."""
    if key.startswith("count/"):
        return key if key == POD_OBJECTS else None
    if key.startswith("limits."):
        return key if key.removeprefix("limits.") in LIMITED else None
    return key.removeprefix("requests.")


def full_name(quota: ResourceQuota) -> str:
    """How messages name it (spec 20.3)."""
    return f"{quota.namespace}/{quota.name}"
