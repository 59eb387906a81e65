"""Pods that end for too long count no more (spec 11.9a), nor those that a gone job never had."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from kq.core import codec, views
from kq.core.kinds import POD
from kq.core.model import JobView, PodView
from kq.decide.kin import CLUSTER_LABEL, is_marked_for, owner_of, selectors_of
from kq.kube.client import Client
from kq.kube.replica import read_page
from kq.kube.store import Lister
from kq.reconcile.controller import Request, Result
from kq.reconcile.events import Teller
from kq.reconcile.hub import Hub

GONE = "gone"
"""In place of a kind: the request is for the UID of a job that is gone."""
RUNS = "status.phase!=Succeeded,status.phase!=Failed"
"""Field selector of pods that have not ended."""
PAGE = 500


class PodsReconciler:
    """Looks at a terminating pod when its time is over, and for pods of jobs that are gone."""

    def __init__(
        self,
        *,
        client: Client,
        pods: Lister[PodView],
        hub: Hub,
        teller: Teller,
        limit_seconds: int,
        clock: Callable[[], datetime],
    ) -> None:
        self._client = client
        self._pods = pods
        self._hub = hub
        self._teller = teller
        self._limit = timedelta(seconds=limit_seconds)
        self._clock = clock

    async def reconcile(self, request: Request) -> Result:
        """One pod, nothing unless it is still there after its time; or the pods of a gone job."""
        if request.kind == GONE:
            return await self._look_for_pods(request.name)
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

    async def _look_for_pods(self, uid: str) -> Result:
        """A job may have gone before it had any; then no event tells so (spec 24.5)."""
        claim = self._hub.book.jobs.claim(uid)
        if claim is None or not claim.selector:
            return Result()
        body = await self._client.list_page(
            POD, claim.namespace, limit=1, label_selector=claim.selector, field_selector=RUNS
        )
        if not read_page(body).items:
            self._hub.book.forgive(uid)
            self._hub.pump()
        return Result()


async def has_pods(client: Client, job: JobView) -> bool:
    """Whether the API server has pods of the job that have not ended, by their labels."""
    for selector in selectors_of(job):
        # Other selectors find pods of the job alone, of which one is enough.
        limit = PAGE if selector == CLUSTER_LABEL else 1
        more, page = "", None
        while page is None or more:
            body = await client.list_page(
                POD,
                job.namespace,
                limit=limit,
                continue_=more,
                label_selector=selector,
                field_selector=RUNS,
            )
            page = read_page(body)
            if any(is_marked_for(job, _labels(raw)) for raw in page.items):
                return True
            more = page.token
    return False


def _labels(raw: bytes) -> Mapping[str, str]:
    return codec.strings(codec.mapping(views.decode_object(raw), "metadata").get("labels"))
