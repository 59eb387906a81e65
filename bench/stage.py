"""A control plane and a queue in a temporary folder; all of it ends with the block."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from controlplane import processes
from controlplane.cluster import Cluster
from controlplane.plane import ControlPlane
from controlplane.processes import Process

from bench import objects
from bench.failure import BenchError
from bench.objects import NAMESPACE
from bench.posts import Target
from bench.progress import tell
from bench.queues import OfKq, Opener, Queue, of_kq
from kq.core.kinds import JOB
from kq.kube.client import Client
from kq.kube.connection import Connection, FixedHeader

SETTLE_SECONDS = 30.0
RESTING_CORES = 0.25
"""Below this all processes together are at rest."""

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
    """Whether a queue is there."""
    audit: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    """For the processes of the queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Everything that runs under a load."""

    folder: Path
    plane: ControlPlane
    queue: Queue | None

    @property
    def cluster(self) -> Cluster:
        return self.plane.cluster

    @property
    def manager(self) -> Process:
        """The manager, on a stage that has one."""
        return self._part("manager")

    @property
    def webhook(self) -> Process:
        """The webhook, on a stage that has one of its own."""
        return self._part("webhook")

    @property
    def parts(self) -> Mapping[str, Process]:
        """The processes of the queue, by what they do."""
        return self.queue.parts if self.queue else {}

    @property
    def processes(self) -> list[Process]:
        """All of them, the control plane's first."""
        return [*self.plane.processes, *self.parts.values()]

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
        """What the manager of kq counts of itself."""
        return self.queue.kq.metrics() if isinstance(self.queue, OfKq) else ""

    def make_quota(self, places: int) -> None:
        """A quota with room for so many jobs, ready to take them."""
        if self.queue is not None:
            self.queue.make_quota(places)

    def jobs(self, count: int, run_for: str) -> list[bytes]:
        """So many jobs for the queue of this stage, ready to be sent."""
        return objects.jobs(count, run_for, self.queue.labels if self.queue else objects.OF_KQ)

    def check_ended(self, jobs: int) -> None:
        """Raises BenchError unless so many jobs went through the queue to a good end."""
        if self.queue is not None:
            self.queue.check_ended(jobs)

    def _part(self, role: str) -> Process:
        if role not in self.parts:
            raise BenchError(f"there is no {role} on this stage")
        return self.parts[role]


@contextmanager
def running(
    folder: Path, binaries: Path, wanted: Wanted, opener: Opener = of_kq
) -> Iterator[Stage]:
    """A fresh control plane without limits on requests, the queue on it, a namespace for jobs."""
    tell(f"  a fresh control plane{'' if wanted.queue else ', without a queue'} in {folder}")
    place = folder / "control-plane"
    with ControlPlane.start(place, binaries, audit=wanted.audit, unlimited=True) as plane:
        plane.cluster.api("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        plane.cluster.wait(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default", bool)
        if not wanted.queue:
            yield _settled(Stage(folder=folder, plane=plane, queue=None))
            return
        with opener(plane.cluster, folder, wanted.environment) as queue:
            yield _settled(Stage(folder=folder, plane=plane, queue=queue))


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
