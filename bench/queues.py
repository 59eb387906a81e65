"""The queue under test as a value: its processes, what its jobs carry, how it gets a quota."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from controlplane.cluster import Cluster
from controlplane.kq import Kq
from controlplane.processes import Process

from bench.failure import BenchError
from bench.objects import NAMESPACE, OF_KQ, QUOTA, quota
from kq.core.kinds import QUEUE_UNIT

SUCCEEDED = "Succeed"
UNITS_PATH = f"/apis/{QUEUE_UNIT.api_version}/namespaces/{NAMESPACE}/{QUEUE_UNIT.plural}"
QUOTAS_PATH = f"/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/{NAMESPACE}/elasticquotas"
QUEUE_PATH = f"/apis/scheduling.x-k8s.io/v1alpha1/namespaces/koord-queue/queues/{QUOTA}"


class Queue(Protocol):
    """What holds jobs back and lets them go, on a cluster."""

    @property
    def parts(self) -> Mapping[str, Process]:
        """Its processes, by what they do."""

    @property
    def labels(self) -> Mapping[str, str]:
        """What a job carries to be queued."""

    def make_quota(self, places: int) -> None:
        """Room for so many jobs; returns when jobs may be submitted."""

    def check_ended(self, jobs: int) -> None:
        """Raises BenchError unless so many jobs went through it to a good end."""


Opener = Callable[[Cluster, Path, Mapping[str, str]], AbstractContextManager[Queue]]
"""Puts a queue on a cluster: with a folder for its files and an environment for its processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfKq:
    """kq as the queue under test."""

    kq: Kq

    @property
    def parts(self) -> Mapping[str, Process]:
        """The manager and the webhook."""
        found = {"manager": self.kq.manager, "webhook": self.kq.webhook}
        return {role: process for role, process in found.items() if process is not None}

    @property
    def labels(self) -> Mapping[str, str]:
        """The name of the quota."""
        return OF_KQ

    def make_quota(self, places: int) -> None:
        """An elastic quota; returns when it has its Queue."""
        self.kq.cluster.api("POST", QUOTAS_PATH, quota(places))
        self.kq.cluster.wait(QUEUE_PATH, bool)

    def check_ended(self, jobs: int) -> None:
        """A load counts only if every unit has been brought to its end."""
        units = self.kq.cluster.api("GET", UNITS_PATH)["items"]
        ended = [each for each in units if each.get("status", {}).get("phase") == SUCCEEDED]
        if len(ended) != jobs:
            logs = ", ".join(process.log for process in self.parts.values())
            raise BenchError(f"of {jobs} jobs {len(ended)} units ended well; logs: {logs}")


@contextmanager
def of_kq(cluster: Cluster, folder: Path, environment: Mapping[str, str]) -> Iterator[Queue]:
    """kq with the rights of its service accounts; it ends with the block."""
    with Kq(cluster=cluster, folder=folder / "kq", as_accounts=True, environment=environment) as kq:
        yield OfKq(kq=kq)
