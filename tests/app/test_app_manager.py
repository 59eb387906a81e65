"""The manager as a process whose API server does not answer."""

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from kq.app.controllers import WORKERS
from kq.app.manager import Manager
from kq.app.options import Address, ClusterOptions, ManagerOptions
from kq.app.process import Counted
from kq.kube.client import Client
from kq.kube.connection import Connection
from kq.metrics import Metrics
from kq.reconcile.hub import WorkQueues
from kq.settings import Settings

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: test}}]
clusters: [{name: test, cluster: {server: "http://127.0.0.1:PORT"}}]
users: [{name: test, user: {token: none}}]
"""
IGNORED = ("workers", "leader-elect", "queue-list")
SECONDS = 60


class Process:
    """`kq manager`, its health port and what it logged."""

    def __init__(self, folder: Path) -> None:
        self._health = free_port()
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(KUBECONFIG.replace("PORT", str(free_port())))
        self._log = folder / "log"
        flags = [
            f"-kubeconfig={kubeconfig}",
            f"--health-probe-bind-address=127.0.0.1:{self._health}",
            "--metrics-bind-address=127.0.0.1:0",
            "--workers=5",
            "-leader-elect",
            "--queue-list",
            "a,b",
        ]
        with self._log.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "kq", "manager", *flags], stderr=file
            )

    def logged(self) -> list[dict[str, Any]]:
        lines = [
            line for line in self._log.read_text().splitlines(keepends=True) if line[-1] == "\n"
        ]
        return [json.loads(line) for line in lines]

    def wait_for(self, event: str) -> None:
        ends = monotonic() + SECONDS
        while event not in {each["event"] for each in self.logged()}:
            assert self.process.poll() is None, self._log.read_text()
            assert monotonic() < ends, self._log.read_text()
            sleep(0.05)

    def ask(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._health}{path}") as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as err:
            with err:
                return err.code, err.read().decode()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    made = Process(tmp_path_factory.mktemp("manager"))
    try:
        made.wait_for("waiting for the API server")
        yield made
    finally:
        made.process.kill()
        made.process.wait()


def test_it_lives_but_is_not_ready(process: Process) -> None:
    assert process.ask("/healthz") == (200, "ok")
    code, text = process.ask("/readyz?verbose")
    assert code == 503
    assert "[-]synced failed" in text


def test_it_says_what_it_waits_for(process: Process) -> None:
    waiting = [each for each in process.logged() if each["event"].startswith("waiting")]
    assert waiting[0]["level"] == "warning"
    assert re.search("127.0.0.1", waiting[0]["error"])


def test_a_flag_without_effect_is_told_once(process: Process) -> None:
    told = [each["reason"] for each in process.logged() if each["event"] == "flag has no effect"]
    assert sorted(told) == sorted(f"--{name}" for name in IGNORED)


def test_it_stops_at_sigterm_all_the_same(process: Process) -> None:
    """The last test of this process."""
    process.process.send_signal(signal.SIGTERM)
    assert process.process.wait(timeout=20) == 0
    assert process.logged()[-1]["event"] == "stopping"


def unreachable() -> Client:
    return Client(Connection(base_url=f"http://127.0.0.1:{free_port()}"))


def manager(client: Client) -> Manager:
    metrics = Metrics(CollectorRegistry(), version="test")
    nowhere = Address("127.0.0.1", 0)
    return Manager(
        client=client,
        settings=Settings(),
        options=ManagerOptions(
            cluster=ClusterOptions(), metrics=nowhere, health=nowhere, default_policy="Priority"
        ),
        metrics=metrics,
        counted=Counted(metrics.client),
    )


async def test_a_manager_that_was_never_started_is_not_ready() -> None:
    checks = manager(unreachable()).checks()
    assert checks["synced"]() is False


async def test_a_stop_before_the_start_ends_it() -> None:
    stop = asyncio.Event()
    stop.set()
    async with unreachable() as client:
        await asyncio.wait_for(manager(client).run(stop), 10)


async def test_every_work_queue_has_its_workers() -> None:
    assert set(WORKERS) == set(WorkQueues.__dataclass_fields__)
    assert WORKERS["queue"] == 1
