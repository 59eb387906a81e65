"""`kq manager`: watches, decides, releases."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime

import structlog
from prometheus_client import CollectorRegistry

from kq import __version__
from kq.app.options import ManagerOptions
from kq.app.process import Counted, measure_lag, stop_on_signals, until_answered
from kq.clock import utc_now
from kq.core import views
from kq.core.kinds import (
    ELASTIC_QUOTA,
    LIMIT_RANGE,
    NAMESPACE,
    POD,
    PRIORITY_CLASS,
    QUEUE,
    QUEUE_UNIT,
    RUNTIME_CLASS,
)
from kq.core.model import JobView, Quota
from kq.core.plugins import QuotaPlugin
from kq.decide.book import Book
from kq.decide.situation import Rules
from kq.health import Check, health_app, metrics_app, serving
from kq.jobs import INTEGRATIONS
from kq.jobs.integration import JobIntegration
from kq.kube import auth
from kq.kube.client import Client
from kq.kube.errors import Conflict, NotFound
from kq.kube.informer import Informer
from kq.kube.recorder import Recorder
from kq.metrics import Metrics
from kq.policies import POLICIES
from kq.quota import QUOTAS
from kq.quota.resolve import is_excluded
from kq.reconcile.controller import Controller, Reconciler, Request
from kq.reconcile.events import Teller
from kq.reconcile.execute import Executor
from kq.reconcile.firstrun import first_runs
from kq.reconcile.gather import Gatherer
from kq.reconcile.grants import GrantsReconciler
from kq.reconcile.hub import Hub, WorkQueues
from kq.reconcile.job import JobReconciler
from kq.reconcile.owners import Owners
from kq.reconcile.pods import PodsReconciler
from kq.reconcile.queue import QueueReconciler
from kq.reconcile.quotas import QuotasReconciler
from kq.reconcile.status import StatusReconciler
from kq.reconcile.units import UnitsReconciler
from kq.reconcile.watches import BY_NAMESPACE, Watches
from kq.reconcile.wiring import Wiring, by_namespace
from kq.settings import Settings
from kq.workqueue.queue import WorkQueue

BY_NAME = "name"
WORKERS = {"job": 16, "queue": 1, "grants": 16, "units": 8, "quotas": 1, "status": 2, "pods": 1}
"""Cycles run one at a time over all Queues (spec 10.8); the others may work side by side."""
STOP_SECONDS = 10.0

log = structlog.get_logger()


async def run(settings: Settings, options: ManagerOptions) -> None:
    """Works until SIGTERM or SIGINT."""
    with stop_on_signals() as stop:
        registry = CollectorRegistry()
        metrics = Metrics(registry, version=__version__)
        connection = await auth.load_connection(options.cluster.kubeconfig, options.cluster.context)
        counted = Counted(metrics.client)
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(
                Client(
                    connection,
                    max_in_flight=settings.api.maxInFlight,
                    qps=settings.api.qps,
                    burst=settings.api.burst,
                    metrics=counted,
                )
            )
            manager = Manager(
                client=client, settings=settings, options=options, metrics=metrics, counted=counted
            )
            for app, address in (
                (health_app(manager.checks()), options.health),
                (metrics_app(registry), options.metrics),
            ):
                await stack.enter_async_context(serving(app, address.host, address.port))
            await manager.run(stop)


def _job_decoder(integration: JobIntegration) -> Callable[[bytes], JobView]:
    return lambda raw: integration.view(views.decode_object(raw))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What reconcilers are built from."""

    client: Client
    hub: Hub
    executor: Executor
    teller: Teller
    watches: Watches


class Manager:
    """All of a manager's objects; `run` starts and stops them."""

    def __init__(
        self,
        *,
        client: Client,
        settings: Settings,
        options: ManagerOptions,
        metrics: Metrics,
        counted: Counted,
    ) -> None:
        self._client = client
        self._settings = settings
        self._options = options
        self._metrics = metrics
        self._counted = counted
        self._integrations = {
            each.kind.kind: each for each in map(INTEGRATIONS.__getitem__, settings.jobs.enabled)
        }
        self._watches = self._make_watches()
        self._recorder = Recorder(client, clock=utc_now, metrics=counted)
        self._synced = False

    def checks(self) -> Mapping[str, Check]:
        """What readiness needs."""
        watches = self._watches.all()
        return {
            "synced": lambda: self._synced,
            "watches": lambda: all(each.healthy for each in watches),
        }

    async def run(self, stop: asyncio.Event) -> None:
        """Watch, wait for whole copies, decide; at the end finish what is in hand."""
        namespace = self._settings.installNamespace
        kinds = {INTEGRATIONS[key].kind.kind: key for key in self._settings.jobs.enabled}
        since = await until_answered(
            "first run", lambda: first_runs(self._client, namespace, kinds)
        )
        hub = self._make_hub()
        async with asyncio.TaskGroup() as group:
            watching = [
                group.create_task(each.run(), name=f"watch {each.kind.plural}")
                for each in self._watches.all()
            ]
            watching.append(group.create_task(self._recorder.run(), name="events"))
            watching.append(group.create_task(measure_lag(self._metrics), name="loop lag"))
            wiring = self._wire(hub)
            stopping = group.create_task(stop.wait(), name="stop")
            synced = group.create_task(self._wait_synced(), name="sync")
            await asyncio.wait({synced, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not stop.is_set():
                wiring.settle()
                self._synced = True
                log.info("manager is working", kind=sorted(self._integrations))
                await self._work(hub, since, stopping)
            synced.cancel()
            for task in watching:
                task.cancel()
        await self._recorder.flush()

    async def _work(
        self, hub: Hub, since: Mapping[str, datetime], stopping: asyncio.Task[object]
    ) -> None:
        """Controllers until the stop; then they finish what is in hand, within their time."""
        controllers = self._controllers(hub, since)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each.run(), name=name) for name, each in controllers.items()]
            await stopping
            for queue in hub.queues.all():
                queue.shut_down()
            _, late = await asyncio.wait(tasks, timeout=STOP_SECONDS)
            for task in late:
                task.cancel()

    async def _wait_synced(self) -> None:
        for each in self._watches.all():
            await each.wait_synced()

    def _make_watches(self) -> Watches:
        client, counted = self._client, self._counted
        return Watches(
            units=Informer(client=client, kind=QUEUE_UNIT, decode=views.unit, metrics=counted),
            queues=Informer(
                client=client,
                kind=QUEUE,
                decode=views.queue,
                namespace=self._settings.installNamespace,
                metrics=counted,
            ),
            quotas=Informer(
                client=client,
                kind=ELASTIC_QUOTA,
                decode=views.quota,
                indexes={BY_NAME: lambda quota: (quota.name,)},
                optional=True,
                metrics=counted,
            ),
            namespaces=Informer(
                client=client, kind=NAMESPACE, decode=views.namespace, metrics=counted
            ),
            pods=Informer(client=client, kind=POD, decode=views.pod, metrics=counted),
            jobs={
                kind: Informer(
                    client=client,
                    kind=each.kind,
                    decode=_job_decoder(each),
                    optional=kind != "Job",
                    metrics=counted,
                )
                for kind, each in self._integrations.items()
            },
            priority_classes=Informer(
                client=client, kind=PRIORITY_CLASS, decode=views.priority_class, metrics=counted
            ),
            limit_ranges=Informer(
                client=client,
                kind=LIMIT_RANGE,
                decode=views.limit_range,
                indexes={BY_NAMESPACE: by_namespace},
                metrics=counted,
            ),
            runtime_classes=Informer(
                client=client, kind=RUNTIME_CLASS, decode=views.runtime_class, metrics=counted
            ),
        )

    def _make_hub(self) -> Hub:
        queues = WorkQueues(
            **{name: WorkQueue(metrics=self._metrics.work_queue(name)) for name in WORKERS}
        )
        book = Book(
            policies=POLICIES,
            default_policy=self._options.default_policy,
            quotas=self._make_quotas(()),
            kinds=self._integrations,
        )
        kinds = {kind: each.kind for kind, each in self._integrations.items()}
        return Hub(book=book, queues=queues, kinds=kinds)

    def _make_quotas(self, quotas: Iterable[Quota]) -> QuotaPlugin:
        make = QUOTAS[self._settings.quotaPlugin]
        return make(self._settings.quota_options, quotas)

    def _wire(self, hub: Hub) -> Wiring:
        wiring = Wiring(
            watches=self._watches,
            hub=hub,
            make_quotas=self._make_quotas,
            namespace=self._settings.installNamespace,
        )
        wiring.connect()
        return wiring

    def _controllers(self, hub: Hub, since: Mapping[str, datetime]) -> dict[str, Controller]:
        teller = Teller(self._recorder)
        executor = Executor(
            client=self._client, hub=hub, teller=teller, integrations=self._integrations
        )
        parts = Parts(
            client=self._client, hub=hub, executor=executor, teller=teller, watches=self._watches
        )
        reconcilers = {**self._deciders(parts, since), **self._keepers(parts)}
        queues: Mapping[str, WorkQueue[Request]] = {
            name: getattr(hub.queues, name) for name in WORKERS
        }
        return {
            name: Controller(
                name=name,
                reconciler=each,
                queue=queues[name],
                metrics=self._metrics,
                workers=WORKERS[name],
                quiet=(Conflict, NotFound),
            )
            for name, each in reconcilers.items()
        }

    def _deciders(self, parts: Parts, since: Mapping[str, datetime]) -> dict[str, Reconciler]:
        """Those who bring jobs and units on."""
        jobs, scheduling = self._settings.jobs, self._metrics.scheduling
        gatherer = Gatherer(
            watches=parts.watches,
            hub=parts.hub,
            owners=Owners(parts.client),
            is_excluded=lambda namespace: is_excluded(namespace, self._settings.selection),
            holds_unmatched=jobs.unmatchedJobs == "hold",
            bypass_enabled=self._settings.security.bypass.enabled,
            rules=Rules(
                slipped=jobs.slippedJobs,
                grace_seconds=jobs.slippedGraceSeconds,
                finished_ttl_seconds=jobs.finishedUnitTTLSeconds,
            ),
            first_runs=since,
        )
        return {
            "job": JobReconciler(
                watches=parts.watches,
                hub=parts.hub,
                executor=parts.executor,
                gatherer=gatherer,
                metrics=scheduling,
                clock=utc_now,
            ),
            "queue": QueueReconciler(hub=parts.hub, metrics=scheduling, clock=utc_now),
            "grants": GrantsReconciler(
                hub=parts.hub,
                executor=parts.executor,
                teller=parts.teller,
                metrics=scheduling,
                clock=utc_now,
            ),
            "units": UnitsReconciler(
                hub=parts.hub, executor=parts.executor, teller=parts.teller, clock=utc_now
            ),
        }

    def _keepers(self, parts: Parts) -> dict[str, Reconciler]:
        """Those who look after Queues, quotas and pods."""
        namespace = self._settings.installNamespace
        watches = parts.watches
        return {
            "quotas": QuotasReconciler(
                client=parts.client,
                hub=parts.hub,
                teller=parts.teller,
                quotas=watches.quotas.lister,
                queues=watches.queues.lister,
                same_name=lambda name: watches.quotas.lister.by_index(BY_NAME, name),
                namespace=namespace,
                default_policy=self._options.default_policy,
            ),
            "status": StatusReconciler(
                client=parts.client,
                hub=parts.hub,
                queues=watches.queues.lister,
                namespace=namespace,
                policies=tuple(POLICIES),
                metrics=self._metrics.scheduling,
                clock=utc_now,
                monotonic=time.monotonic,
            ),
            "pods": PodsReconciler(
                pods=watches.pods.lister,
                hub=parts.hub,
                teller=parts.teller,
                limit_seconds=self._settings.quota.terminatingLimitSeconds,
                clock=utc_now,
            ),
        }
