"""The controller that says in each ResourceQuota how much of it is in use."""

from collections.abc import Iterable
from datetime import datetime

from kq.sim.cluster.quotas import hard_of, total_used, usage_of
from kq.sim.control.controller import Due, Key, Pace
from kq.sim.control.objects import PODS, RESOURCE_QUOTAS, is_ended, place_of, status_of
from kq.sim.control.view import Happened, Seen, View
from kq.sim.control.writes import Plan, Replace, taken


class QuotaController:
    """Counts anew what a quota has in use when it changes, and when something stops to count."""

    name = "resourcequota-controller"
    pace = Pace()
    kinds: tuple[str, ...] = ()

    def concerns(self, happened: Happened, view: View, now: datetime) -> Iterable[Due]:
        """Quotas whose limits changed, and those in whose namespace something is freed."""
        obj = happened.newest
        namespace, name = place_of(obj)
        if happened.kind == RESOURCE_QUOTAS and happened.after is not None:
            if status_of(happened.after).get("hard") != happened.after["spec"].get("hard", {}):
                yield Due(Key(namespace, name))
        elif (freed := _freed(happened)) is not None:
            for quota in view.within(RESOURCE_QUOTAS, namespace):
                if any(each in hard_of(quota) for each in usage_of(happened.kind, freed)):
                    yield Due(Key(*place_of(quota)))

    def sync(self, key: Key, view: View, now: datetime) -> Plan:
        """The quota's status, if it does not say how it is."""
        quota = view.get(RESOURCE_QUOTAS, key.namespace, key.name)
        if quota is None:
            return None
        objects = (
            (kind, obj)
            for kind in sorted(view.kinds_within(key.namespace))
            for obj in view.within(kind, key.namespace)
        )
        status = {"hard": quota["spec"].get("hard") or {}, "used": total_used(quota, objects)}
        if status != status_of(quota):
            body = {**quota, "status": status}
            taken((yield [Replace(kind=RESOURCE_QUOTAS, body=body, subresource="status")]))
        return None


def _freed(happened: Happened) -> Seen | None:
    """What counted and does no more: an object that is gone, or a pod that has ended."""
    before, after = happened.before, happened.after
    if before is None or after is None:
        return before
    is_over = happened.kind == PODS and is_ended(after) and not is_ended(before)
    return before if is_over else None
