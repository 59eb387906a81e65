"""ResourceQuotas: what would exceed one is refused, what is made is charged."""

from collections.abc import Iterator
from typing import Any

from kq.sim.api.admission import Operation, Review
from kq.sim.api.kinds import Kind
from kq.sim.api.status import forbidden
from kq.sim.api.storage import Storage
from kq.sim.cluster.quotas import charged, refusal


class QuotaLimits:
    """The last that is asked about a new object, after webhooks and everybody else."""

    def __init__(self, storage: Storage, kind: Kind) -> None:
        self._storage = storage
        self._kind = kind

    def mutate(self, review: Review) -> None:
        """Nothing."""

    def check(self, review: Review) -> None:
        """Refuses what exceeds a quota of its namespace; else charges each that it counts in."""
        kind, obj = review.call.kind, review.obj
        if review.operation is not Operation.CREATE or obj is None or not kind.namespaced:
            return
        if kind.key == "events":
            return
        quotas = list(self._quotas(review.call.namespace))
        for quota in quotas:
            if why := refusal(quota, kind.key, obj):
                raise forbidden(kind, review.name, why)
        for quota in quotas:
            status = charged(quota, kind.key, obj)
            if status is not None and not review.dry_run:
                self._storage.put(self._kind, {**quota, "status": status})

    def _quotas(self, namespace: str) -> Iterator[dict[str, Any]]:
        return (stored.read() for stored in self._storage.list(self._kind, namespace))
