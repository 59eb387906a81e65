"""Makes, follows and removes the Queues of quotas, and reports quotas that are wrong."""

from collections.abc import Callable, Iterable

import structlog

from kq.core.kinds import QUEUE
from kq.core.model import Queue, Quota
from kq.decide import autoqueue
from kq.decide.quotafaults import Fault
from kq.kube.client import Client
from kq.kube.errors import AlreadyExists, NotFound
from kq.kube.store import Lister
from kq.reconcile.controller import Request, Result
from kq.reconcile.events import Teller
from kq.reconcile.hub import Hub

log = structlog.get_logger()


class QuotasReconciler:
    """One Queue by name, and the quota that it is made for (spec 3.3-3.8).

    `faults` tells what is wrong with the quotas that are told of beside that Queue.
    """

    def __init__(
        self,
        *,
        client: Client,
        hub: Hub,
        teller: Teller,
        queues: Lister[Queue],
        faults: Callable[[str], Iterable[Fault]],
        namespace: str,
        default_policy: str,
    ) -> None:
        self._client = client
        self._hub = hub
        self._teller = teller
        self._queues = queues
        self._faults = faults
        self._namespace = namespace
        self._default_policy = default_policy
        self._reported: dict[tuple[str, str, str], tuple[str, ...]] = {}

    async def reconcile(self, request: Request) -> Result:
        """The Queue of that name, and what is wrong with the quota that it is made for."""
        name = request.name
        for fault in self._faults(name):
            self._report(name, fault)
        queue = self._queues.get(self._namespace, name)
        made = self._hub.book.quotas.auto_made(name)
        if made is None:
            if queue is not None:
                await self._without_quota(queue)
        elif queue is None:
            if not made.on_demand or self._hub.book.places.at_queue(name):
                await self._create(made.follows or name)
        elif autoqueue.is_auto_made(queue):
            await self._follow(queue, made.follows)
        return Result()

    async def _create(self, quota: Quota | str) -> None:
        body = autoqueue.new_queue(quota, self._namespace, self._default_policy)
        try:
            await self._client.create(QUEUE, body, self._namespace, into=bytes)
        except AlreadyExists:
            return  # its event brings the quota here again
        log.info("queue created", queue=body["metadata"]["name"])

    async def _follow(self, queue: Queue, quota: Quota | None) -> None:
        patch = autoqueue.difference(queue, quota, self._default_policy)
        if patch:
            await self._client.merge_patch(
                QUEUE,
                queue.name,
                queue.namespace,
                patch,
                resource_version=queue.resource_version,
                uid=queue.uid,
                into=bytes,
            )

    async def _without_quota(self, queue: Queue) -> None:
        """Removed unless a person made it or units are left (spec 3.8)."""
        if not autoqueue.is_auto_made(queue) or queue.deleting:
            return
        if self._hub.book.places.at_queue(queue.name):
            return
        try:
            await self._client.delete(
                QUEUE,
                queue.name,
                queue.namespace,
                uid=queue.uid,
                resource_version=queue.resource_version,
            )
        except NotFound:
            return
        log.info("queue deleted", queue=queue.name)

    def _report(self, queue: str, fault: Fault) -> None:
        """Each once for as long as it stays."""
        key = (queue, fault.about.uid, fault.reason)
        known = self._reported.pop(key, ())
        for text in fault.texts:
            if text not in known:
                self._teller.tell(fault.about, True, fault.reason, text)
        if fault.texts:
            self._reported[key] = fault.texts
