"""A settled cluster whose informers are wired to the work queues: three quotas, four jobs."""

import asyncio
from typing import Any

import builders
from builders import INSTALL_NAMESPACE, job_view
from builders import namespace as namespace_view
from shells import Ground

from kq.core.model import Phase, QueueUnit
from kq.core.options import QuotaOptions
from kq.quota.elasticquota import ElasticQuotas
from kq.reconcile.family import Family
from kq.reconcile.wiring import Wiring


class Wired(Ground):
    """Two quotas below one parent with their Queues, and a third apart; all is settled."""

    def __init__(self) -> None:
        super().__init__()
        self.pictures = 0
        self.forgotten: list[str] = []
        self.shown: Any = self.watches
        self.wiring = Wiring(
            watches=self.watches,
            family=Family(self.watches),
            hub=self.hub,
            make_quotas=self.make_quotas,
            namespace=INSTALL_NAMESPACE,
            forget_queue=self.forgotten.append,
            pods_limit=300,
        )
        self.wiring.connect()
        for quota in QUOTAS.values():
            self.shown.quotas.show(quota, initial=True)
        for name in ("team-a", "team-b", "apart"):
            self.shown.queues.show(builders.queue(name), initial=True)
        for name in ("team-a", "team-b"):
            self.shown.namespaces.show(namespace_view(name), initial=True)

    def make_quotas(self, quotas: Any) -> ElasticQuotas:
        self.pictures += 1
        return ElasticQuotas.build(QuotaOptions(), quotas)

    async def settled(self, *views: Any) -> "Wired":
        """All these are there, and nothing is due."""
        for view in views:
            self.see(view)
        await self.wiring.settle()
        await self.woken()
        self.pictures = 0
        return self

    def see(self, view: Any) -> None:
        self._of(view).show(view)

    def lose(self, view: Any) -> None:
        self._of(view).drop(view)

    def _of(self, view: Any) -> Any:
        return {
            "QueueUnit": self.shown.units,
            "Queue": self.shown.queues,
            "Quota": self.shown.quotas,
            "NamespaceView": self.shown.namespaces,
            "PodView": self.shown.pods,
            "JobView": self.shown.jobs["Job"],
            "PriorityClass": self.shown.priority_classes,
        }[type(view).__name__]

    async def woken(self) -> dict[str, list[str]]:
        """What has come up, in the second that status is gathered too."""
        await asyncio.sleep(1.5)
        return await self.due()


QUOTAS = {
    "root": builders.quota("root", cpu=2, is_parent=True),
    "team-a": builders.quota("team-a", cpu=2, parent="root"),
    "team-b": builders.quota("team-b", cpu=2, parent="root"),
    "apart": builders.quota("apart", cpu=2),
}
WAITS = builders.unit("waits", told=builders.Problem("WaitingForQuota", "full"))
IN_B = builders.unit("in-b", quota="team-b", told=builders.Problem("WaitingForQuota", "full"))
APART = builders.unit("apart", quota="apart", told=builders.Problem("WaitingForQuota", "full"))
RUNS = builders.unit("runs", phase=Phase.RUNNING)
UNITS = (WAITS, IN_B, APART, RUNS)
JOBS = tuple(
    job_view(each.name, labels=dict(each.labels), suspended=each is not RUNS) for each in UNITS
)
WORLD = (*JOBS, *UNITS)


def job_of(unit: QueueUnit) -> str:
    return f"team-a/{unit.name}"
