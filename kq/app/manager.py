"""`kq manager`: watches, decides, releases."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime

import structlog

from kq.app.controllers import WORKERS, Parts, make_controllers, make_gatherer
from kq.app.options import ManagerOptions
from kq.app.process import Counted, before, equipped, measure_lag, until_answered
from kq.app.watching import make_watches
from kq.clock import Clocks
from kq.core.plugins import QuotaPlugin
from kq.core.priority import global_default
from kq.core.quotaviews import QuotaView
from kq.decide.book import Book
from kq.decide.kin import pod_owners
from kq.health import Check, health_app, serving
from kq.jobs import INTEGRATIONS, make_integrations
from kq.jobs.integration import JobIntegration
from kq.kube.client import Client
from kq.kube.informer import quiet_collector
from kq.kube.recorder import Recorder
from kq.metrics import Metrics
from kq.policies import POLICIES
from kq.quota import QUOTAS
from kq.reconcile.controller import Controller
from kq.reconcile.family import Family
from kq.reconcile.firstrun import first_runs
from kq.reconcile.hub import Hub, WorkQueues
from kq.reconcile.shown import samples
from kq.reconcile.wiring import Wiring
from kq.settings import Settings
from kq.workqueue.queue import WorkQueue

STOP_SECONDS = 10.0

FirstLists = Callable[[], AbstractContextManager[None]]

log = structlog.get_logger()


async def run(settings: Settings, options: ManagerOptions) -> None:
    """Works until SIGTERM or SIGINT."""
    async with equipped(options.cluster, settings.api, options.metrics) as equipment:
        manager = Manager(
            client=equipment.client,
            settings=settings,
            options=options,
            metrics=equipment.metrics,
            counted=equipment.counted,
        )
        health = health_app(manager.checks())
        async with serving(health, options.health.host, options.health.port):
            await manager.run(equipment.stop)


class Manager:
    """All of a manager's objects; `run` starts and stops them.

    `first_lists` is the context in which the first lists of all informers are read.
    """

    def __init__(
        self,
        *,
        client: Client,
        settings: Settings,
        options: ManagerOptions,
        metrics: Metrics,
        counted: Counted,
        clocks: Clocks | None = None,
        first_lists: FirstLists = quiet_collector,
    ) -> None:
        self._clocks = clocks or Clocks()
        self._first_lists = first_lists
        self._client = client
        self._settings = settings
        self._options = options
        self._metrics = metrics
        self._counted = counted
        self._integrations = {
            each.kinds[0].kind: each
            for each in make_integrations(settings.jobs.enabled, settings.job_options)
        }
        self._hub = self._make_hub()
        self._watches = make_watches(
            client,
            self._integrations,
            counted,
            kin=self._kin(),
            known=self._hub.book.ledger.known,
            units_of=self._hub.book.jobs.units_of,
            copied=settings.jobs.copiedAnnotations,
            counts_foreign=settings.counts_foreign_pods,
            quota_mode=settings.quotaPlugin,
        )
        self._recorder = Recorder(client, clock=self._clocks.now, metrics=counted)
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
        since = await before(stop, until_answered("first run", self._first_runs))
        if since is None:
            return
        hub = self._hub
        async with asyncio.TaskGroup() as group:
            watching = [
                group.create_task(each.run(), name=f"watch {each.kind.plural}")
                for each in self._watches.all()
            ]
            watching.append(group.create_task(self._recorder.run(), name="events"))
            watching.append(group.create_task(measure_lag(self._metrics), name="loop lag"))
            wiring = self._wire(hub)
            parts = self._parts(hub, since)
            gatherer = make_gatherer(parts)
            with self._first_lists():
                await before(stop, self._wait_synced())
                if not stop.is_set():
                    await before(stop, wiring.settle(gatherer.place_of))
            if not stop.is_set():
                self._metrics.show(lambda: samples(hub.book))
                self._synced = True
                log.info("manager is working", kind=sorted(self._integrations))
                await self._work(hub, make_controllers(parts, gatherer), stop)
            for task in watching:
                task.cancel()
        await self._recorder.flush()

    def _kin(self) -> Sequence[JobIntegration]:
        """The kinds between jobs and their pods that are not served."""
        wanted = pod_owners(self._integrations) - self._integrations.keys()
        every = make_integrations(INTEGRATIONS, self._settings.job_options)
        return [each for each in every if each.kinds[0].kind in wanted]

    async def _first_runs(self) -> dict[str, datetime]:
        kinds = {
            make_integrations([key], self._settings.job_options)[0].kinds[0].kind: key
            for key in self._settings.jobs.enabled
        }
        return await first_runs(self._client, self._settings.installNamespace, kinds)

    def _parts(self, hub: Hub, since: Mapping[str, datetime]) -> Parts:
        return Parts(
            client=self._client,
            hub=hub,
            watches=self._watches,
            recorder=self._recorder,
            settings=self._settings,
            metrics=self._metrics,
            integrations=self._integrations,
            default_policy=self._options.default_policy,
            first_runs=since,
            clocks=self._clocks,
        )

    async def _work(
        self, hub: Hub, controllers: Mapping[str, Controller], stop: asyncio.Event
    ) -> None:
        """Controllers until the stop; then they finish what is in hand, within their time."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each.run(), name=name) for name, each in controllers.items()]
            await stop.wait()
            for queue in hub.queues.all():
                queue.shut_down()
            _, late = await asyncio.wait(tasks, timeout=STOP_SECONDS)
            for task in late:
                task.cancel()

    async def _wait_synced(self) -> None:
        for each in self._watches.all():
            await each.wait_synced()

    def _make_hub(self) -> Hub:
        queues = WorkQueues(
            **{name: WorkQueue(metrics=self._metrics.work_queue(name)) for name in WORKERS}
        )
        book = Book(
            policies=POLICIES,
            default_policy=self._options.default_policy,
            quotas=QUOTAS[self._settings.quotaPlugin](self._settings.quota_options, ()),
            kinds=self._integrations,
            counts_foreign=self._settings.counts_foreign_pods,
            taking=self._settings.taking_options,
            retry=self._settings.retry_options,
        )
        kinds = {kind: each.kinds[0] for kind, each in self._integrations.items()}
        return Hub(book=book, queues=queues, kinds=kinds)

    def _make_quotas(self, quotas: Iterable[QuotaView]) -> QuotaPlugin:
        options = replace(self._settings.quota_options, default_class=self._default_class())
        return QUOTAS[self._settings.quotaPlugin](options, quotas)

    def _default_class(self) -> str:
        """The PriorityClass that pods get which name none."""
        classes = self._watches.priority_classes.lister.values()
        found = global_default(each.view for each in classes)
        return found.name if found is not None else ""

    def _wire(self, hub: Hub) -> Wiring:
        wiring = Wiring(
            watches=self._watches,
            family=Family(self._watches),
            hub=hub,
            make_quotas=self._make_quotas,
            namespace=self._settings.installNamespace,
            forget_queue=self._metrics.scheduling.forget_queue,
            pods_limit=self._settings.quota.terminatingLimitSeconds,
            classes_count=self._settings.quotaPlugin == "ResourceQuota",
        )
        wiring.connect()
        return wiring
