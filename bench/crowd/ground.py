"""`kq sim` with a crowd in it, and `kq manager`: processes of their own, that end with a block."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from controlplane import probes, processes
from controlplane.components import HOST
from controlplane.processes import Process

from bench.failure import BenchError

KQ = (sys.executable, "-m", "kq")
GRACE_SECONDS = 15.0
POLL_SECONDS = 0.02
READY = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A cluster that was there before the manager."""

    folder: Path
    kubeconfig: Path
    simulator: Process
    units: int
    seconds: float
    """From the start of `kq sim` until it served."""

    @contextmanager
    def managed(self) -> Iterator[tuple[Process, int]]:
        """A manager that has just been started, and the port of its health."""
        metrics, health = probes.free_ports(2)
        command = [
            *(*KQ, "manager", "--kubeconfig", str(self.kubeconfig)),
            *("--metrics-bind-address", f"{HOST}:{metrics}"),
            *("--health-probe-bind-address", f"{HOST}:{health}"),
        ]
        manager = processes.start("manager", command, self.folder / "manager-1.log", leashed=True)
        try:
            yield manager, health
        finally:
            processes.end(manager, GRACE_SECONDS)


@contextmanager
def crowded(folder: Path, objects: Path, units: int, limit: float) -> Iterator[Ground]:
    """The simulator with these objects, so many waiting units among them, once it serves."""
    kubeconfig, started = folder / "kubeconfig", time.monotonic()
    command = [
        *(*KQ, "sim", "--without-kq", "--objects", str(objects)),
        *("--kubeconfig", str(kubeconfig), "--log-level", "error"),
    ]
    simulator = processes.start("kq sim", command, folder / "sim-1.log", leashed=True)
    try:
        while not (kubeconfig.exists() and kubeconfig.stat().st_size):
            processes.check(simulator)
            if time.monotonic() - started > limit:
                raise BenchError(f"kq sim does not serve after {limit:.0f} s")
            time.sleep(POLL_SECONDS)
        yield Ground(
            folder=folder,
            kubeconfig=kubeconfig,
            simulator=simulator,
            units=units,
            seconds=time.monotonic() - started,
        )
    finally:
        processes.end(simulator, GRACE_SECONDS)


def is_ready(port: int) -> bool:
    """Whether a manager with that health port decides."""
    return probes.get(port, "/readyz")[0] == READY
