"""Pods that end for too long count no more (spec 11.9a)."""

from collections.abc import Callable
from datetime import datetime, timedelta

from kq.core.model import PodView
from kq.decide.kin import owner_of
from kq.kube.store import Lister
from kq.reconcile.controller import Request, Result
from kq.reconcile.events import Teller
from kq.reconcile.hub import Hub


class PodsReconciler:
    """Looks at a terminating pod when its time is over."""

    def __init__(
        self,
        *,
        pods: Lister[PodView],
        hub: Hub,
        teller: Teller,
        limit_seconds: int,
        clock: Callable[[], datetime],
    ) -> None:
        self._pods = pods
        self._hub = hub
        self._teller = teller
        self._limit = timedelta(seconds=limit_seconds)
        self._clock = clock

    async def reconcile(self, request: Request) -> Result:
        """One pod; nothing unless it is still there after its time."""
        pod = self._pods.get(request.namespace, request.name)
        if pod is None or pod.deleted_at is None or not pod.live or not self._limit:
            return Result()
        left = (pod.deleted_at + self._limit - self._clock()).total_seconds()
        if left > 0:
            return Result(requeue_after=left)
        if not self._hub.book.stuck(pod):
            return Result()
        self._hub.pump()
        jobs = self._hub.book.jobs
        for unit in jobs.units_of(jobs.root(owner_of(pod))):
            text = f"pod {pod.namespace}/{pod.name} does not end: it counts no more"
            self._teller.tell(unit, True, "StuckTerminating", text)
            self._hub.enqueue_job_of(unit)
        return Result()
