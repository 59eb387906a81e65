"""A whole cluster with kq at work on it, in one process."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from types import TracebackType
from typing import Self

from prometheus_client import CollectorRegistry

from kq import __version__
from kq.app.manager import Manager
from kq.app.options import Address, ClusterOptions, ManagerOptions
from kq.app.process import Counted, before
from kq.app.reviewing import Reviewing
from kq.clock import Clocks
from kq.core.kinds import Object
from kq.kube.client import Client
from kq.kube.connection import Connection
from kq.kube.lane import Lane
from kq.kube.transport import Wire
from kq.metrics import Metrics
from kq.settings import Settings
from kq.sim.api.call import User
from kq.sim.api.server import ApiServer
from kq.sim.cluster.cluster import controllers, node
from kq.sim.cluster.plays import Plays, by_annotation
from kq.sim.control.running import Running
from kq.sim.faults import Faults
from kq.sim.faultywire import FaultyWire
from kq.sim.install import install, installation
from kq.sim.loading import Bereft, Loader, bereft
from kq.sim.local import Answered, LocalCaller, LocalTransport
from kq.sim.operators import kinds_of, operator_controllers, operator_kinds
from kq.sim.patience import Patient
from kq.sim.process import Cord, Process
from kq.webhook.http import Refusal

WEBHOOK = "koord-queue-webhook.koord-queue.svc:443"
"""Where the webhook configuration says that the webhook is."""
HOOKS = "WebhookConfiguration"

_NOWHERE = Address("", 0)
_ADDRESS = Connection(base_url="https://simulated")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """On what terms kq works, and on what cluster."""

    settings: Settings = field(default_factory=Settings)
    default_policy: str = "Priority"
    nodes: Sequence[Object] = field(default_factory=lambda: [node("node-1")])
    plays: Plays = by_annotation
    """How pods run."""
    operators: Sequence[str] = ()
    """Those that look after further kinds of jobs, by their names in `OPERATORS`."""
    objects: Sequence[Object] = field(default_factory=installation)
    """What is made before kq starts."""
    loaded: Iterable[Object] = ()
    """What is put onto it then (`kq.sim.loading`)."""
    has_kq: bool = True
    """Whether kq is at work in it; else there are only its CRDs and rights."""
    latency: float = 0.001
    """Seconds that a request of kq takes in each direction."""
    history: int = 20_000
    """Events of one kind that the API server remembers."""
    tracks_managers: bool = False
    """Whether objects note who manages which of their fields, for server-side apply."""


class Simulation:
    """API server, controllers of the cluster, kq's webhook and manager; open it as a context.

    `kq_clock` is what kq goes by, if that is not the clock of the cluster. Faults come between kq
    and the API server, never between that and the cluster's controllers.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], datetime],
        random: Random,
        terms: Terms | None = None,
        faults: Faults | None = None,
        kq_clock: Callable[[], datetime] | None = None,
    ) -> None:
        self.terms = terms or Terms()
        self.faults = faults or Faults()
        self.manager: Process | None = None
        self.webhook: Process | None = None
        self._answers: dict[str, Answered] = {}
        self._clock = kq_clock or clock
        self._random = random
        self.server = ApiServer(
            clock=clock,
            random=random,
            caller=LocalCaller(self._answers),
            tracks_managers=self.terms.tracks_managers,
            history=self.terms.history,
        )
        queued = kinds_of(self.terms.settings.jobs.enabled) if self.terms.has_kq else ()
        self.loader = Loader(self.server, waits=queued)
        self.bereft: list[Bereft] = []
        """What was loaded without its owners."""
        looking_after = operator_controllers(self.terms.operators)
        self.cluster = Running(self.server, [*controllers(self.terms.plays), *looking_after])

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.kill_manager()
        await self.kill_webhook()
        await self.cluster.stop()

    async def _start(self) -> None:
        self.cluster.start()
        await self.server.start()
        kinds = operator_kinds(self.terms.operators)
        await install(self.server, [*kinds, *self._installed(), *self.terms.nodes])
        with self.cluster.packing():
            await self.loader.load(self.terms.loaded)
            self.bereft = bereft(self.cluster.view)
        if self.terms.has_kq:
            await self.start_webhook()
            await self.start_manager()
        await self.loader.finish()

    def _installed(self) -> list[Object]:
        """What is made before kq starts; no webhook is named that never answers."""
        if self.terms.has_kq:
            return list(self.terms.objects)
        return [each for each in self.terms.objects if not each["kind"].endswith(HOOKS)]

    def client(self, user: User | None = None) -> Client:
        """A way to the API server that no fault is put in."""
        return Client(_ADDRESS, transport=LocalTransport(self.server, user=user))

    async def start_manager(self) -> None:
        """Starts a manager that knows nothing; returns when it decides."""
        metrics = _metrics()
        cord = Cord(self._wire("koord-queue", self._kill_manager_at_once))
        manager = Manager(
            client=Client(_ADDRESS, transport=cord),
            settings=self.terms.settings,
            options=ManagerOptions(
                cluster=ClusterOptions(),
                metrics=_NOWHERE,
                health=_NOWHERE,
                default_policy=self.terms.default_policy,
            ),
            metrics=metrics,
            counted=Counted(metrics.client),
            clocks=Clocks(self._clock, asyncio.get_running_loop().time),
            first_lists=nullcontext,
        )
        self.manager = Process("manager", manager.run, cord)
        synced = manager.checks()["synced"]
        await self.manager.ready(lambda: bool(synced()))

    async def stop_manager(self) -> None:
        """Ends the manager as a SIGTERM does."""
        if self.manager is not None:
            await self.manager.stop()
            self.manager = None

    async def kill_manager(self) -> None:
        """Ends the manager as a SIGKILL does."""
        self._kill_manager_at_once()
        if self.manager is not None:
            await self.manager.wait()
            self.manager = None

    async def start_webhook(self) -> None:
        """Starts a webhook that knows nothing; returns when it knows what it needs."""
        cord = Cord(self._wire("koord-queue-controllers", lambda: None))
        metrics = _metrics()
        reviewing = Reviewing(
            client=Client(_ADDRESS, transport=cord),
            settings=self.terms.settings,
            metrics=metrics,
            counted=Counted(metrics.client),
            clock=self._clock,
        )
        self.webhook = Process("webhook", lambda stop: _until(stop, reviewing), cord)
        await self.webhook.ready(lambda: reviewing.synced)
        self._answers[WEBHOOK] = _answering(reviewing)

    async def kill_webhook(self) -> None:
        """Ends the webhook; until it is started again nobody answers reviews."""
        self._answers.pop(WEBHOOK, None)
        if self.webhook is not None:
            self.webhook.kill()
            await self.webhook.wait()
            self.webhook = None

    def _kill_manager_at_once(self) -> None:
        if self.manager is not None:
            self.manager.kill()

    def _wire(self, account: str, kill: Callable[[], None]) -> Wire:
        user = User(
            name=f"system:serviceaccount:{self.terms.settings.installNamespace}:{account}",
            groups=("system:serviceaccounts", "system:authenticated"),
        )
        wire = FaultyWire(
            LocalTransport(self.server, user=user),
            faults=self.faults,
            version=lambda: self.server.storage.version,
            kill=kill,
            latency=self.terms.latency,
        )
        lane = Lane(max_in_flight=self.terms.settings.api.maxInFlight)
        return Patient(wire, lane=lane, uniform=self._random.uniform)


async def _until(stop: asyncio.Event, reviewing: Reviewing) -> None:
    await before(stop, reviewing.run())


def _answering(reviewing: Reviewing) -> Answered:
    """As the webhook's listener answers, without the HTTP."""

    async def answer(path: str, body: bytes) -> tuple[int, bytes]:
        answered = reviewing.answer(body)
        if isinstance(answered, Refusal):
            return answered.status, answered.message.encode()
        return 200, answered

    return answer


def _metrics() -> Metrics:
    return Metrics(CollectorRegistry(), version=__version__)
