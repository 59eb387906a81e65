"""What units and pods have in use, kept in step with what is known of them (spec 11.7-11.9)."""

from collections.abc import Collection, Iterator

from kq.core import keys
from kq.core.model import QueueUnit
from kq.core.plugins import QuotaPlugin
from kq.core.resources import ZERO
from kq.decide.charge import charge_of, request_of
from kq.decide.claims import Claim
from kq.decide.jobs import JobIndex
from kq.decide.standing import Surroundings, namespace_of, quota_of
from kq.decide.usage import UsageIndex


class Accounts:
    """Jobs with their pods and units, and the usage that follows from them."""

    def __init__(
        self, quotas: QuotaPlugin, kinds: Collection[str], *, counts_foreign: bool
    ) -> None:
        self.jobs = JobIndex(kinds, counts_foreign=counts_foreign)
        self.usage = UsageIndex(quotas.ancestry)

    def recharge(self, uid: str, around: Surroundings) -> Iterator[str]:
        """Charge what the units and the pods of one job use now; quotas that got something back."""
        group, claim = self.jobs.pods(uid), self.jobs.claim(uid)
        units = self.jobs.units_of(uid)
        for number, unit in enumerate(units):
            quota = quota_of(unit, around) or ""
            pods = group if number == 0 else None
            amount = charge_of(unit, pods, quota, around.quotas)
            if number == 0 and claim is not None and _is_new(unit):
                # It was deleted and is made anew: until it is granted again its job runs on.
                said = request_of(claim.pod_sets, quota, around.quotas)
                amount = amount.maximum(around.quotas.of_job(claim.labels, said))
            if number == 0 and group is not None:
                group.charged, group.labels, group.unit = quota, unit.labels, unit.key
            yield from _some(self.usage.charge(unit.key, quota, amount))
            ends = pods is not None and pods.ends and not unit.holds_quota
            self.usage.set_ending(unit.key, unit.key if ends else "")
        left_behind = f"pods of {uid}"
        quota = "" if units else self._orphan_quota(uid, around)
        if not units and claim is not None:
            quota = quota or _claimed_quota(claim, around)
        if not quota:
            yield from _some(self.usage.drop(left_behind))
            return
        live = around.quotas.of_pods(quota, group.total() if group is not None else ZERO)
        labels = group.labels if group is not None else {}
        if claim is not None:
            live = live.maximum(request_of(claim.pod_sets, quota, around.quotas))
            labels = claim.labels
        amount = around.quotas.of_job(labels, live)
        yield from _some(self.usage.charge(left_behind, quota, amount))
        is_gone = self.jobs.key_of(uid) is None
        ends = group is not None and claim is None and (group.ends or (is_gone and group.follows))
        named = group.name if group is not None and ends else ""
        self.usage.set_ending(left_behind, named)

    def _orphan_quota(self, uid: str, around: Surroundings) -> str:
        """The quota of live pods whose job is gone, if their namespace may use it (spec 11.9).

        Where their unit was charged, they stay, whatever became of that right meanwhile.
        """
        group, named = self.jobs.pods(uid), self.jobs.orphan_quota(uid)
        if group is None or not named or group.charged:
            return named if group is not None else ""
        namespace = namespace_of(group.namespace, around)
        quota = around.quotas.quota_of({keys.QUOTA_LABEL: named}, namespace) or named
        return _allowed(quota, group.namespace, around)


def _claimed_quota(claim: Claim, around: Surroundings) -> str:
    """The quota of a job without a unit that was released."""
    found = around.quotas.quota_of(claim.labels, namespace_of(claim.namespace, around))
    return _allowed(found, claim.namespace, around) if found else ""


def _allowed(quota: str, namespace: str, around: Surroundings) -> str:
    """The quota, if the namespace may use it."""
    return "" if around.quotas.barred(namespace_of(namespace, around), quota) else quota


def _some(freed: str | None) -> Iterator[str]:
    if freed:
        yield freed


def _is_new(unit: QueueUnit) -> bool:
    """Whether it was never granted anything."""
    return not unit.holds_quota and not unit.attempts and unit.condition("Evicted") is None
