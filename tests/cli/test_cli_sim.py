"""`kq sim` as a process: its kubeconfig leads to a cluster on which jobs wait their turn."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, JOB, QUEUE_UNIT
from kq.kube.auth import load_connection
from kq.kube.client import Client
from kq.kube.errors import NotFound

SECONDS = 60.0


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    return tmp_path / "sim.kubeconfig"


@pytest.fixture
def simulation(kubeconfig: Path) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "kq", "sim", "--kubeconfig", str(kubeconfig)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def lines_of(process: "subprocess.Popen[str]", count: int) -> str:
    assert process.stdout is not None
    return "".join(process.stdout.readline() for _ in range(count))


def job(name: str) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "2"}}}
    pod = {"restartPolicy": "Never", "containers": [container]}
    return {
        "metadata": {"name": name, "labels": {keys.QUOTA_LABEL: "team"}},
        "spec": {"template": {"spec": pod}},
    }


async def phases_of_two_jobs(kubeconfig: Path) -> list[str]:
    connection = await load_connection(str(kubeconfig), None)
    async with Client(connection) as client, asyncio.timeout(SECONDS):
        what = {"apiVersion": ELASTIC_QUOTA.api_version, "kind": ELASTIC_QUOTA.kind}
        quota = {**what, "metadata": {"name": "team"}, "spec": {"max": {"cpu": "2"}}}
        await client.create(ELASTIC_QUOTA, quota, "default")
        for name in ("first", "second"):
            made = await client.create(JOB, job(name), "default")
            assert made["spec"]["suspend"]
        return [await end_of(client, name) for name in ("first", "second")]


async def end_of(client: Client, name: str) -> str:
    for _ in range(1000):
        try:
            unit = await client.get(QUEUE_UNIT, name, "default")
        except NotFound:
            unit = {}
        phase = str(unit.get("status", {}).get("phase"))
        if phase in ("Succeed", "Failed"):
            break
        await asyncio.sleep(0.05)
    return phase


def test_jobs_wait_their_turn_until_it_is_ended(
    simulation: "subprocess.Popen[str]", kubeconfig: Path
) -> None:
    told = lines_of(simulation, 3)
    assert f"export KUBECONFIG={kubeconfig}" in told
    assert asyncio.run(phases_of_two_jobs(kubeconfig)) == ["Succeed", "Succeed"]
    simulation.send_signal(signal.SIGTERM)
    assert simulation.wait(SECONDS) == 0
    assert not kubeconfig.exists()
