"""What both processes share: signals, waiting for the API server, the lag of the event loop."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import structlog
from prometheus_client import CollectorRegistry

from kq import __version__
from kq.app.options import Address, ClusterOptions
from kq.core.kinds import ResourceKind
from kq.health import metrics_app, serving
from kq.kube.client import Client
from kq.kube.connection import Connection, in_cluster, is_pod
from kq.kube.errors import ApiError, Forbidden
from kq.metrics import ClientMetrics, Metrics
from kq.settings import ApiSettings

LAG_SECONDS = 5.0
RETRY_SECONDS = 2.0

T = TypeVar("T")

log = structlog.get_logger()


@contextmanager
def stop_on_signals() -> Iterator[asyncio.Event]:
    """An event that SIGTERM and SIGINT set; the second signal ends the process at once."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    signals = (signal.SIGTERM, signal.SIGINT)

    def on_signal(number: int) -> None:
        if stop.is_set():
            os._exit(128 + number)
        log.info("stopping", reason=signal.Signals(number).name)
        stop.set()

    for each in signals:
        loop.add_signal_handler(each, on_signal, each)
    try:
        yield stop
    finally:
        for each in signals:
            loop.remove_signal_handler(each)


class Counted:
    """The metrics of the client and of informers, under their names of spec 18.2."""

    def __init__(self, metrics: ClientMetrics) -> None:
        self._metrics = metrics
        self._requests = cache(metrics.requests.labels)
        self._seconds = cache(metrics.seconds.labels)

    def request(self, *, method: str, code: str, host: str, seconds: float) -> None:
        """One request."""
        self._requests(code, method, host).inc()
        self._seconds(method, host).observe(seconds)

    def watch_idle(self, kind: ResourceKind, read: Callable[[], float]) -> None:
        """How long nothing came, read at each scrape."""
        self._metrics.watch_idle.labels(kind.kind).set_function(read)

    def available(self, kind: ResourceKind, available: bool) -> None:
        """Whether the kind is served."""
        self._metrics.available.labels(kind.kind).set(int(available))

    def undecodable(self, kind: ResourceKind) -> None:
        """An object that cannot be read."""
        self._metrics.undecodable.labels(kind.kind).inc()

    def handler_failed(self, kind: ResourceKind) -> None:
        """A handler of ours failed."""
        self._metrics.handler_errors.labels(kind.kind).inc()

    def events(self, outcome: str) -> None:
        """An Event was written, filtered or dropped."""
        self._metrics.events.labels(outcome).inc()


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """What every process has: its way to the cluster, its metrics, the event of its end."""

    client: Client
    metrics: Metrics
    counted: Counted
    stop: asyncio.Event


@asynccontextmanager
async def equipped(
    cluster: ClusterOptions, api: ApiSettings, metrics_address: Address
) -> AsyncIterator[Equipment]:
    """Equips a process, and serves its metrics, for as long as the block runs."""
    with stop_on_signals() as stop:
        registry = CollectorRegistry()
        metrics = Metrics(registry, version=__version__)
        counted = Counted(metrics.client)
        connection = await _connection(cluster)
        client = Client(
            connection,
            max_in_flight=api.maxInFlight,
            qps=api.qps,
            burst=api.burst,
            metrics=counted,
        )
        async with (
            client,
            serving(metrics_app(registry), metrics_address.host, metrics_address.port),
        ):
            yield Equipment(client=client, metrics=metrics, counted=counted, stop=stop)


async def _connection(cluster: ClusterOptions) -> Connection:
    """The way to the API server; a pod, whose is short, does without what kubeconfigs need."""
    if cluster.kubeconfig is None and cluster.context is None and is_pod():
        return in_cluster()
    from kq.kube import auth  # slow to import, and large

    return await auth.load_connection(cluster.kubeconfig, cluster.context)


async def until_answered(what: str, ask: Callable[[], Awaitable[T]]) -> T:
    """The answer of the API server, however long it takes to come up or to allow it."""
    while True:
        try:
            return await ask()
        except ApiError as err:
            hint = "the service account lacks a right" if isinstance(err, Forbidden) else ""
            log.warning("waiting for the API server", request=what, error=str(err), reason=hint)
        await asyncio.sleep(RETRY_SECONDS)


async def before(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """The result of the work; None if the stop comes first, the work is then given up."""
    working = asyncio.create_task(work, name="work")
    stopping = asyncio.create_task(stop.wait(), name="stop")
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        stopping.cancel()


async def measure_lag(metrics: Metrics) -> None:
    """How late the event loop is, every few seconds."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + LAG_SECONDS
        await asyncio.sleep(LAG_SECONDS)
        metrics.loop_lag.observe(max(0.0, loop.time() - due))
