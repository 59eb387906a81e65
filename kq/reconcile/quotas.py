"""Makes, follows and removes the Queues of quotas, and reports quotas that are wrong."""

from collections.abc import Callable

import structlog

from kq.core.kinds import QUEUE
from kq.core.model import Queue, Quota
from kq.decide import autoqueue, quotafaults
from kq.kube.client import Client
from kq.kube.errors import AlreadyExists, NotFound
from kq.kube.store import Lister
from kq.reconcile.controller import Request, Result
from kq.reconcile.events import Teller
from kq.reconcile.hub import Hub

log = structlog.get_logger()


class QuotasReconciler:
    """One quota by name and its auto-made Queue (spec 3.3-3.8)."""

    def __init__(
        self,
        *,
        client: Client,
        hub: Hub,
        teller: Teller,
        queues: Lister[Queue],
        same_name: Callable[[str], list[Quota]],
        children: Callable[[str], list[Quota]],
        namespace: str,
        default_policy: str,
    ) -> None:
        self._client = client
        self._hub = hub
        self._teller = teller
        self._queues = queues
        self._same_name = same_name
        self._children = children
        self._namespace = namespace
        self._default_policy = default_policy
        self._reported: dict[str, tuple[str, ...]] = {}

    async def reconcile(self, request: Request) -> Result:
        """The Queue of the quota with that name."""
        named = self._same_name(request.name)
        quota = min(named, key=lambda each: (each.created, each.namespace), default=None)
        queue = self._queues.get(self._namespace, request.name)
        if quota is None:
            await self._plain(request.name, queue)
            return Result()
        for other in named:
            if other is not quota:
                text = f"quota {quota.name} exists in namespace {quota.namespace} already"
                self._report(other, "DuplicateQuota", (text,))
        chain = self._hub.book.quotas.chain(quota.name)
        texts = quotafaults.faults(quota, self._children(quota.name), chain)
        self._report(quota, "InvalidQuota", texts)
        if quota.name not in autoqueue.WITHOUT_QUEUE:
            await self._ensure(quota, queue)
        return Result()

    async def _plain(self, name: str, queue: Queue | None) -> None:
        """A name without a quota object: the one Queue of no quota plugin, or a quota is gone."""
        if name in self._hub.book.quotas.names():
            if queue is None:
                await self._create(name)
        elif queue is not None:
            await self._without_quota(queue)

    async def _ensure(self, quota: Quota, queue: Queue | None) -> None:
        if queue is None:
            await self._create(quota)
        elif autoqueue.is_auto_made(queue):
            await self._follow(queue, quota)

    async def _create(self, quota: Quota | str) -> None:
        body = autoqueue.new_queue(quota, self._namespace, self._default_policy)
        try:
            await self._client.create(QUEUE, body, self._namespace, into=bytes)
        except AlreadyExists:
            return  # its event brings the quota here again
        log.info("queue created", queue=body["metadata"]["name"])

    async def _follow(self, queue: Queue, quota: Quota) -> None:
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

    def _report(self, quota: Quota, reason: str, texts: tuple[str, ...]) -> None:
        """Each once for as long as it stays."""
        known = self._reported.get(f"{quota.uid} {reason}", ())
        for text in texts:
            if text not in known:
                self._teller.tell(quota, True, reason, text)
        self._reported[f"{quota.uid} {reason}"] = texts
