"""`kq webhook`: holds jobs as they are submitted."""

import asyncio
from collections.abc import Mapping

import structlog

from kq.app.options import WebhookOptions
from kq.app.process import Counted, before, equipped, measure_lag
from kq.app.reviewing import Reviewing
from kq.clock import utc_now
from kq.health import Check, health_app, serving
from kq.kube.client import Client
from kq.kube.informer import quiet_collector
from kq.metrics import Metrics
from kq.settings import Settings
from kq.tls.context import ServingContext
from kq.webhook.listener import Listener

LOOPBACK = "127.0.0.1"

log = structlog.get_logger()


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
        self._options = options
        self._metrics = metrics
        self._reviewing = Reviewing(
            client=client, settings=settings, metrics=metrics, counted=counted, clock=utc_now
        )
        self._tls = ServingContext(
            options.tls_dir, name=options.service, clock=utc_now, metrics=metrics.tls
        )
        self._listener = Listener(
            self._reviewing.answer,
            context=self._tls.context,
            drain_seconds=settings.webhook.terminationDrainSeconds,
        )
        self._port = 0

    def checks(self) -> Mapping[str, Check]:
        """What readiness needs (spec 17.7)."""
        return {
            "synced": lambda: self._reviewing.synced,
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
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._reviewing.run(), name="reviewing"),
                group.create_task(self._tls.run(), name="certificates"),
                group.create_task(measure_lag(self._metrics), name="loop lag"),
            ]
            address = self._options.reviews
            self._port = await self._listener.start(address.host, address.port)
            log.info("webhook is listening", port=self._port)
            with quiet_collector():
                await before(stop, self._reviewing.wait_synced())
            await stop.wait()
            await self._listener.stop()
            for task in tasks:
                task.cancel()

    async def _verifies(self) -> bool:
        # An empty host listens on every address, the loopback one among them.
        return await self._tls.verifies(self._options.reviews.host or LOOPBACK, self._port)


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
