"""A quota of one place with its Queue, and the reconciler of its status."""

from typing import Any

import builders
from api import Asked, Json
from builders import INSTALL_NAMESPACE
from shells import Ground

from kq.core.kinds import QUEUE
from kq.decide.quotafaults import QuotaRemarks, texts_of_quotas
from kq.reconcile.controller import Request
from kq.reconcile.status import StatusReconciler

TEAM = f"{INSTALL_NAMESPACE}/team-a"


class Status(Ground):
    """A quota of one place, its Queue, and the reconciler."""

    def __init__(self, *quotas: Any, queue: Json | None = None, **options: Any) -> None:
        super().__init__(*(quotas or [builders.quota(cpu=1)]), **options)
        self.queue(**(queue or {}))
        self.reconciler = StatusReconciler(
            client=self.api,  # type: ignore[arg-type]
            hub=self.hub,
            teller=self.teller,
            queues=self.watches.queues.lister,
            namespace=INSTALL_NAMESPACE,
            policies=("Block", "Priority"),
            remarks=QuotaRemarks(lambda: texts_of_quotas(quotas)),
            clock=self.clock,
            monotonic=self.clock.monotonic,
        )

    def waiting(self, name: str = "train", **fields: Any) -> None:
        self.job(name)
        self.unit(name, **fields)

    async def look(self, namespace: str = "", name: str = "team-a") -> float | None:
        return (await self.reconciler.reconcile(Request(namespace, name))).requeue_after

    async def written(self) -> Json:
        """The status once it has settled, and shown."""
        while left := await self.look():
            self.clock.move(left)
        self.show_queue()
        return self.status(TEAM, QUEUE)

    def writes(self) -> list[Asked]:
        return self.api.writes
