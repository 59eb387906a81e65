"""A control plane and kq in a temporary folder; all of it ends with the block."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from controlplane import processes
from controlplane.cluster import Cluster
from controlplane.kq import Kq
from controlplane.plane import ControlPlane
from controlplane.processes import Process

from bench.failure import BenchError
from bench.objects import NAMESPACE, QUOTA, quota
from bench.posts import Target
from bench.progress import tell
from kq.core.kinds import JOB
from kq.kube.client import Client
from kq.kube.connection import Connection, FixedHeader

SETTLE_SECONDS = 30.0
RESTING_CORES = 0.25
"""Below this all processes together are at rest."""

QUOTAS_PATH = f"/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/{NAMESPACE}/elasticquotas"
QUEUE_PATH = f"/apis/scheduling.x-k8s.io/v1alpha1/namespaces/koord-queue/queues/{QUOTA}"
JOBS_PATH = f"/apis/{JOB.api_version}/namespaces/{NAMESPACE}/{JOB.plural}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much a person asks for; loads that are compared by time have sizes of their own."""

    jobs: int
    """Of a burst."""
    waiting: int
    """In front of a full quota."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a load runs on."""

    queue: bool = True
    """Whether kq is there."""
    audit: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    """For the processes of kq."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Everything that runs under a load."""

    folder: Path
    plane: ControlPlane
    kq: Kq | None

    @property
    def cluster(self) -> Cluster:
        return self.plane.cluster

    @property
    def manager(self) -> Process:
        """The manager, on a stage that has one."""
        if self.kq is None or self.kq.manager is None:
            raise BenchError("there is no manager on this stage")
        return self.kq.manager

    @property
    def webhook(self) -> Process:
        """The webhook, on a stage that has one."""
        if self.kq is None or self.kq.webhook is None:
            raise BenchError("there is no webhook on this stage")
        return self.kq.webhook

    @property
    def processes(self) -> list[Process]:
        """All of them, the oldest first."""
        return [*self.plane.processes, *((self.webhook, self.manager) if self.kq else ())]

    def check(self) -> None:
        """Raises Crashed, with the end of its log, if a process ended by itself."""
        for process in self.processes:
            processes.check(process)

    def jobs_target(self) -> Target:
        """Where jobs are submitted."""
        access = self.cluster.access
        return Target(url=access.server + JOBS_PATH, tls=access.tls, token=access.token)

    def client(self) -> Client:
        """A client for watches."""
        access = self.cluster.access
        header = FixedHeader(f"Bearer {access.token}" if access.token else None)
        return Client(Connection(base_url=access.server, tls=access.tls, credentials=header))

    def metrics(self) -> str:
        """What the manager counts of itself."""
        return self.kq.metrics() if self.kq else ""

    def make_quota(self, places: int) -> None:
        """A quota with room for so many jobs, and its Queue."""
        self.cluster.api("POST", QUOTAS_PATH, quota(places))
        self.cluster.wait(QUEUE_PATH, bool)


@contextmanager
def running(folder: Path, binaries: Path, wanted: Wanted) -> Iterator[Stage]:
    """A fresh control plane without limits on requests, kq on it, and a namespace for jobs."""
    tell(f"  a fresh control plane{' and kq' if wanted.queue else ', without kq'} in {folder}")
    place = folder / "control-plane"
    with ControlPlane.start(place, binaries, audit=wanted.audit, unlimited=True) as plane:
        plane.cluster.api("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        plane.cluster.wait(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default", bool)
        if not wanted.queue:
            yield _settled(Stage(folder=folder, plane=plane, kq=None))
            return
        with Kq(
            cluster=plane.cluster,
            folder=folder / "kq",
            as_accounts=True,
            environment=wanted.environment,
        ) as kq:
            yield _settled(Stage(folder=folder, plane=plane, kq=kq))


def _settled(stage: Stage) -> Stage:
    """The stage once its processes are at rest: new kinds keep an API server busy for a while."""
    deadline = time.monotonic() + SETTLE_SECONDS
    before = _used(stage)
    while time.monotonic() < deadline:
        time.sleep(1.0)
        stage.check()
        now = _used(stage)
        if now - before < RESTING_CORES:
            return stage
        before = now
    tell(f"  not at rest after {SETTLE_SECONDS:.0f} s; going on")
    return stage


def _used(stage: Stage) -> float:
    return sum(processes.cpu_seconds(each) for each in stage.processes)
