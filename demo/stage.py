"""Control plane, webhook and manager in a temporary folder; all of it ends with the block."""

import http.client
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from controlplane import processes
from controlplane.cluster import Cluster
from controlplane.kq import OVERLAY, Kq
from controlplane.plane import ControlPlane
from controlplane.processes import Process

from demo.examples import ROOT
from demo.show import Show


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Everything that runs while the story is told."""

    folder: Path
    plane: ControlPlane
    kq: Kq

    @property
    def cluster(self) -> Cluster:
        return self.plane.cluster

    def check(self) -> None:
        """Raises Crashed, with the end of its log, if a process ended by itself."""
        self.plane.check()
        for process in (self.kq.webhook, self.kq.manager):
            if process is not None:
                processes.check(process)


@contextmanager
def running(folder: Path, binaries: Path, show: Show) -> Iterator[Stage]:
    """Starts it all, a step at a time, in view."""
    show.chapter("A control plane")
    with show.step("etcd, API server, controllers, scheduler, and KWOK to play the nodes"):
        plane = ControlPlane.start(folder / "control-plane", binaries)
    with plane:
        for process in plane.processes:
            show.process(process)
        show.chapter("kq")
        kq = Kq(cluster=plane.cluster, folder=folder / "kq")
        stage = Stage(folder=folder, plane=plane, kq=kq)
        try:
            _start_kq(kq, show)
            yield stage
        except (OSError, http.client.HTTPException):
            # More often than not the API server has died, and its log says why.
            stage.check()
            raise
        finally:
            kq.stop_manager()
            kq.stop_webhook()


def _start_kq(kq: Kq, show: Show) -> None:
    show.command(f"kubectl apply -k {OVERLAY.relative_to(ROOT)}")
    with show.step("CRDs, rights and the webhook configuration"):
        kq.install()
    show.command(f"kq certs issue --out {kq.folder / 'tls'} --inject")
    _start("webhook", kq.start_webhook, lambda: kq.webhook, show)
    _start("manager", kq.start_manager, lambda: kq.manager, show)


def _start(
    name: str, start: Callable[[], None], process: Callable[[], Process | None], show: Show
) -> None:
    show.waiting_for, before = f"kq {name} is ready", time.monotonic()
    start()
    started = process()
    if started is not None:
        show.command(command_line(started))
        show.process(started)
        show.line(f"  ready after {time.monotonic() - before:.1f} s")


def command_line(process: Process) -> str:
    """The command that a process of kq runs, as a person would type it."""
    words = Path(f"/proc/{process.pid}/cmdline").read_text().rstrip("\0").split("\0")
    return " ".join(["kq", *words[words.index("kq") + 1 :]])
