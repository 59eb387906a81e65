"""What `kq webhook` knows and answers, whoever brings it the reviews."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from kq.app.quotasources import quota_informer
from kq.core import views
from kq.core.kinds import NAMESPACE
from kq.core.model import NamespaceView
from kq.core.plugins import QuotaPlugin, label_of
from kq.core.quotaviews import QuotaView
from kq.jobs import make_integrations
from kq.kube.client import Client
from kq.kube.informer import Informer
from kq.kube.replica import Change
from kq.kube.store import Lister
from kq.kube.telemetry import InformerMetrics
from kq.metrics import Metrics
from kq.quota import QUOTAS
from kq.settings import Settings
from kq.webhook.http import Refusal
from kq.webhook.mutate import mutate
from kq.webhook.review import Request, Response
from kq.webhook.server import Reviews


class Known:
    """What the webhook knows of the cluster: namespaces and quotas, from its watches."""

    def __init__(self, settings: Settings, namespaces: Lister[NamespaceView]) -> None:
        self._settings = settings
        self._namespaces = namespaces
        self._quotas = self._picture(())

    def set_quotas(self, quotas: Iterable[QuotaView]) -> None:
        """The quotas have changed."""
        self._quotas = self._picture(quotas)

    def namespace(self, name: str) -> NamespaceView | None:
        """A namespace."""
        return self._namespaces.get("", name)

    def quota_of(self, labels: Mapping[str, str], namespace: str) -> str | None:
        """The quota of a job (spec 5.3)."""
        view = self.namespace(namespace) or NamespaceView(name=namespace)
        return self._quotas.quota_of(labels, view)

    def label_of(self, quota: str) -> str | None:
        """What a label says for it (spec 5.5)."""
        return label_of(self._quotas, quota)

    def _picture(self, quotas: Iterable[QuotaView]) -> QuotaPlugin:
        return QUOTAS[self._settings.quotaPlugin](self._settings.quota_options, quotas)


class Reviewing:
    """Answers reviews by what its watches of namespaces and quotas have shown."""

    def __init__(
        self,
        *,
        client: Client,
        settings: Settings,
        metrics: Metrics,
        counted: InformerMetrics,
        clock: Callable[[], datetime],
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._namespaces = Informer(
            client=client, kind=NAMESPACE, decode=views.namespace, metrics=counted
        )
        self._quotas = quota_informer(client, settings.quotaPlugin, counted)
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

    async def wait_synced(self) -> None:
        """Returns once `synced`."""
        await self._namespaces.wait_synced()
        await self._quotas.wait_synced()

    def answer(self, body: bytes | bytearray) -> bytes | Refusal:
        """The answer to a review that was posted."""
        return self._reviews.answer(body)

    async def run(self) -> None:
        """Follows namespaces and quotas until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._namespaces.run(), name="watch namespaces")
            group.create_task(self._quotas.run(), name="watch quotas")

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
