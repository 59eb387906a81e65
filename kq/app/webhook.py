"""`kq webhook`: holds jobs as they are submitted."""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import structlog

from kq.app.options import WebhookOptions
from kq.app.process import Counted, before, equipped, measure_lag
from kq.clock import utc_now
from kq.core import quotaviews, views
from kq.core.kinds import ELASTIC_QUOTA, NAMESPACE
from kq.core.model import NamespaceView, Quota
from kq.core.plugins import QuotaPlugin
from kq.health import Check, health_app, serving
from kq.jobs import make_integrations
from kq.kube.client import Client
from kq.kube.informer import Informer, quiet_collector
from kq.kube.replica import Change
from kq.kube.store import Lister
from kq.metrics import Metrics
from kq.quota import QUOTAS
from kq.settings import Settings
from kq.tls.context import ServingContext
from kq.webhook.listener import Listener
from kq.webhook.mutate import mutate
from kq.webhook.review import Request, Response
from kq.webhook.server import Reviews

LOOPBACK = "127.0.0.1"

log = structlog.get_logger()


class Known:
    """What the webhook knows of the cluster: namespaces and quotas, from its watches."""

    def __init__(self, settings: Settings, namespaces: Lister[NamespaceView]) -> None:
        self._settings = settings
        self._namespaces = namespaces
        self._quotas = self._picture(())

    def set_quotas(self, quotas: Iterable[Quota]) -> None:
        """The quotas have changed."""
        self._quotas = self._picture(quotas)

    def namespace(self, name: str) -> NamespaceView | None:
        """A namespace."""
        return self._namespaces.get("", name)

    def quota_of(self, labels: Mapping[str, str], namespace: str) -> str | None:
        """The quota of a job (spec 5.3)."""
        view = self.namespace(namespace) or NamespaceView(name=namespace)
        return self._quotas.quota_of(labels, view)

    def _picture(self, quotas: Iterable[Quota]) -> QuotaPlugin:
        return QUOTAS[self._settings.quotaPlugin](self._settings.quota_options, quotas)


class Webhook:
    """All of a webhook's objects; `run` starts and stops them."""

    def __init__(
        self,
        *,
        client: Client,
        settings: Settings,
        options: WebhookOptions,
        metrics: Metrics,
        counted: Counted,
    ) -> None:
        self._settings = settings
        self._options = options
        self._metrics = metrics
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
        self._integrations = {
            (each.kinds[0].group, each.kinds[0].kind): each
            for each in make_integrations(settings.jobs.enabled, settings.job_options)
        }
        self._tls = ServingContext(
            options.tls_dir, name=options.service, clock=utc_now, metrics=metrics.tls
        )
        self._listener = Listener(
            self._reviews().answer,
            context=self._tls.context,
            drain_seconds=settings.webhook.terminationDrainSeconds,
        )
        self._port = 0

    def checks(self) -> Mapping[str, Check]:
        """What readiness needs (spec 17.7)."""
        return {
            "synced": lambda: self._namespaces.synced and self._quotas.synced,
            "serving": lambda: not self._listener.stopping,
            "tls": self._verifies,
        }

    def details(self) -> str:
        """What `/readyz?verbose` adds: the pair that is served."""
        served = self._tls.served
        if served is None:
            return self._tls.problem or "no certificate"
        return f"serving certificate {served.serial} until {served.not_after:%Y-%m-%d %H:%M} UTC"

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until the stop, then drain."""
        self._quotas.add_handler(self._quota_changed)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._namespaces.run(), name="watch namespaces"),
                group.create_task(self._quotas.run(), name="watch quotas"),
                group.create_task(self._tls.run(), name="certificates"),
                group.create_task(measure_lag(self._metrics), name="loop lag"),
            ]
            address = self._options.reviews
            self._port = await self._listener.start(address.host, address.port)
            log.info("webhook is listening", port=self._port)
            with quiet_collector():
                await before(stop, self._wait_synced())
            await stop.wait()
            await self._listener.stop()
            for task in tasks:
                task.cancel()

    async def _wait_synced(self) -> None:
        await self._namespaces.wait_synced()
        await self._quotas.wait_synced()

    async def _verifies(self) -> bool:
        # An empty host listens on every address, the loopback one among them.
        return await self._tls.verifies(self._options.reviews.host or LOOPBACK, self._port)

    def _reviews(self) -> Reviews:
        failure = self._settings.webhook.mutating.failurePolicy
        return Reviews(
            self._answer,
            kinds=[kind for _, kind in self._integrations],
            fail_closed=failure == "Fail",
            metrics=self._metrics.admission,
        )

    def _answer(self, request: Request) -> Response:
        now: datetime = utc_now()
        return mutate(
            request,
            integrations=self._integrations,
            world=self._known,
            settings=self._settings,
            now=now,
        )

    def _quota_changed(self, change: Change[Any]) -> None:
        self._known.set_quotas(self._quotas.lister.values())


async def run(settings: Settings, options: WebhookOptions) -> None:
    """Serves until SIGTERM or SIGINT."""
    async with equipped(options.cluster, settings.api, options.metrics) as equipment:
        webhook = Webhook(
            client=equipment.client,
            settings=settings,
            options=options,
            metrics=equipment.metrics,
            counted=equipment.counted,
        )
        health = health_app(webhook.checks(), webhook.details)
        async with serving(health, options.health.host, options.health.port):
            await webhook.run(equipment.stop)
