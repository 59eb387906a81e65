"""What a unit asks of its quota, and what it has in use (spec 11.7, 11.9, 11.11)."""

from collections.abc import Iterable, Mapping, Sequence

from kq.core.keys import MAX_JOBS
from kq.core.minresources import least_of
from kq.core.model import Grant, PodSet, QueueUnit
from kq.core.plugins import QuotaCharges
from kq.core.resources import ZERO, Resources
from kq.core.wire import grants_for
from kq.decide.pods import PODS, PodGroup

SUBMITTER = "submitter"
"""The role of a RayJob whose pods are marked with none: their Job is Kubernetes' own."""

ONE_JOB = Resources.of(dict.fromkeys(MAX_JOBS, 1))


def request_of(pod_sets: Sequence[PodSet], quota: str, charges: QuotaCharges) -> Resources:
    """What all pods ask of the quota, with the pseudo resources that a limit may name."""
    total = charges.of_pods(quota, ONE_JOB)
    for each in pod_sets:
        total = total + _pods(each.count, charges.of_pod(quota, each.template))
    return Resources.of(dict(total.items()))


def asked_by(unit: QueueUnit, quota: str, charges: QuotaCharges) -> Resources:
    """What a unit asks of the quota: what its pods do, but not less than its job says (8.16)."""
    return asked_for(unit.pod_sets, _least(unit), unit.labels, quota, charges)


def asked_for(
    pod_sets: Sequence[PodSet],
    least: Resources,
    labels: Mapping[str, str],
    quota: str,
    charges: QuotaCharges,
) -> Resources:
    """The same of a job of which there is no unit yet."""
    total = at_least(request_of(pod_sets, quota, charges), least, quota, charges)
    return charges.of_job(labels, total)


def at_least(total: Resources, least: Resources, quota: str, charges: QuotaCharges) -> Resources:
    """Of each resource not less than that."""
    if least.is_zero:
        return total
    return Resources.of(dict(total.maximum(charges.of_pods(quota, least)).items()))


def _least(unit: QueueUnit) -> Resources:
    return least_of(unit.consumer.kind if unit.consumer else "", unit.annotations)


def charge_of(
    unit: QueueUnit, pods: PodGroup | None, quota: str, charges: QuotaCharges
) -> Resources:
    """What the unit has in use: per pod set the larger of its grant and its live pods.

    Without grants its pods alone count, and it is a job while one of them is live. Pods of no known
    pod set are counted as they are. With grants it is not less than what its job says.
    """
    grants = {grant.name: grant for grant in _held(unit)}
    live = dict(pods.by_pod_set) if pods else {}
    if not grants and not live:
        return ZERO
    total = charges.of_pods(quota, ONE_JOB) if grants or (pods and pods.live) else ZERO
    if len(unit.pod_sets) == 1 and live:
        # Pods of a job with one role carry no role of their own.
        name = unit.pod_sets[0].name
        live = {name: _all(live.values())}
    elif SUBMITTER in grants and SUBMITTER not in live and "" in live:
        live[SUBMITTER] = live.pop("")
    for name in grants.keys() | live.keys():
        granted = _granted(unit, grants.get(name), quota, charges)
        total = total + granted.maximum(charges.of_pods(quota, live.get(name, ZERO)))
    total = at_least(total, _least(unit) if grants else ZERO, quota, charges)
    return charges.of_job(unit.labels, Resources.of(dict(total.items())))


def all_run(unit: QueueUnit, pods: PodGroup | None) -> bool:
    """Whether all pods of its grants run, or have ended well (spec 10.13)."""
    if len(unit.pod_sets) == 1:
        started = pods.started_in_all if pods else 0
        return started >= sum(grant.replicas for grant in unit.grants)
    by_pod_set = dict(pods.started) if pods else {}
    if SUBMITTER not in by_pod_set:
        by_pod_set[SUBMITTER] = by_pod_set.get("", 0)
    return all(by_pod_set.get(grant.name, 0) >= grant.replicas for grant in unit.grants)


def _held(unit: QueueUnit) -> Sequence[Grant]:
    """Its grants; one that somebody else let go without any counts as its pod sets (15.3)."""
    if not unit.holds_quota:
        return ()
    return unit.grants or grants_for(unit.pod_sets)


def _granted(unit: QueueUnit, grant: Grant | None, quota: str, charges: QuotaCharges) -> Resources:
    """Replicas × template; a grant for an unknown pod set counts by its own resources (22.1)."""
    if grant is None:
        return ZERO
    known = next((each for each in unit.pod_sets if each.name == grant.name), None)
    if known is not None:
        return _pods(grant.replicas, charges.of_pod(quota, known.template))
    asked = (grant.resources or ZERO) + Resources.of({PODS: grant.replicas})
    return charges.of_pods(quota, asked)


def _pods(count: int, request: Resources) -> Resources:
    return request.times(count) + Resources.of({PODS: count})


def _all(amounts: Iterable[Resources]) -> Resources:
    total = ZERO
    for each in amounts:
        total = total + each
    return total
