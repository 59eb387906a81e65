"""The webhook without its listener: what `kq webhook` knows and answers, asked in process."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

from kq.app.process import Counted
from kq.app.webhook import Known
from kq.core import quotaviews, views
from kq.core.kinds import ELASTIC_QUOTA, NAMESPACE
from kq.jobs import make_integrations
from kq.kube.client import Client
from kq.kube.informer import Informer
from kq.kube.replica import Change
from kq.metrics import Metrics
from kq.settings import Settings
from kq.webhook.http import Refusal
from kq.webhook.mutate import mutate
from kq.webhook.review import Request, Response
from kq.webhook.server import Reviews


class Reviewing:
    """Answers reviews from the moment on at which `run` has seen namespaces and quotas."""

    def __init__(
        self, *, client: Client, settings: Settings, metrics: Metrics, clock: Callable[[], datetime]
    ) -> None:
        counted = Counted(metrics.client)
        self._settings = settings
        self._clock = clock
        self._namespaces = Informer(
            client=client, kind=NAMESPACE, decode=views.namespace, metrics=counted
        )
        self._quotas = Informer(
            client=client,
            kind=ELASTIC_QUOTA,
            decode=quotaviews.quota,
            optional=True,
            metrics=counted,
        )
        self._known = Known(settings, self._namespaces.lister)
        self._quotas.add_handler(self._quota_changed)
        self._integrations = {
            (each.kinds[0].group, each.kinds[0].kind): each
            for each in make_integrations(settings.jobs.enabled, settings.job_options)
        }
        self._reviews = Reviews(
            self._decide,
            kinds=[kind for _, kind in self._integrations],
            fail_closed=settings.webhook.mutating.failurePolicy == "Fail",
            metrics=metrics.admission,
        )

    @property
    def synced(self) -> bool:
        """Whether it knows all namespaces and quotas."""
        return self._namespaces.synced and self._quotas.synced

    async def answer(self, path: str, body: bytes) -> tuple[int, bytes]:
        """HTTP status and body of the answer to a review that was posted."""
        answer = self._reviews.answer(body)
        if isinstance(answer, Refusal):
            return answer.status, answer.message.encode()
        return 200, answer

    async def run(self, stop: asyncio.Event) -> None:
        """Follows namespaces and quotas until the stop."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._namespaces.run(), name="watch namespaces"),
                group.create_task(self._quotas.run(), name="watch quotas"),
            ]
            await stop.wait()
            for task in tasks:
                task.cancel()

    def _decide(self, request: Request) -> Response:
        return mutate(
            request,
            integrations=self._integrations,
            world=self._known,
            settings=self._settings,
            now=self._clock(),
        )

    def _quota_changed(self, change: Change[Any]) -> None:
        self._known.set_quotas(self._quotas.lister.values())
