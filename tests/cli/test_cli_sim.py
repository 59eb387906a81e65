"""`kq sim` as a process: its kubeconfig leads to a cluster on which jobs wait their turn."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, JOB, QUEUE_UNIT
from kq.kube.auth import load_connection
from kq.kube.client import Client
from kq.kube.errors import NotFound
from kq.sim.http import listen

SIM = (sys.executable, "-m", "kq", "sim")
SECONDS = 60.0


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    return tmp_path / "sim.kubeconfig"


@pytest.fixture
def simulation(kubeconfig: Path) -> Iterator["subprocess.Popen[str]"]:
    command = [*SIM, "--kubeconfig", str(kubeconfig)]
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


def quota(cpu: str) -> dict[str, Any]:
    what = {"apiVersion": ELASTIC_QUOTA.api_version, "kind": ELASTIC_QUOTA.kind}
    return {**what, "metadata": {"name": "team"}, "spec": {"max": {"cpu": cpu}}}


async def phases_of_two_jobs(kubeconfig: Path) -> list[str]:
    connection = await load_connection(str(kubeconfig), None)
    async with Client(connection) as client, asyncio.timeout(SECONDS):
        await client.create(ELASTIC_QUOTA, quota("2"), "default")
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


# -- how it ends


def run(*flags: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*SIM, *flags], capture_output=True, text=True, check=False, timeout=SECONDS
    )


def begun(kubeconfig: Path, *flags: str) -> "subprocess.Popen[str]":
    """One that heeds Ctrl-C also where whoever runs the tests in the background does not."""
    return subprocess.Popen(
        [*SIM, "--kubeconfig", str(kubeconfig), *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_one_line(kubeconfig: Path, number: signal.Signals) -> None:
    with begun(kubeconfig) as process:
        lines_of(process, 3)
        process.send_signal(number)
        _, err = process.communicate(timeout=SECONDS)
    assert err == f"the simulated cluster has ended; {kubeconfig} is removed\n"
    assert process.returncode == 0
    assert not kubeconfig.exists()


@pytest.mark.parametrize("seconds", [0.4, 1.0, 1.6, 2.2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_on_its_way_leaves_nothing_behind(
    kubeconfig: Path, number: signal.Signals, seconds: float
) -> None:
    with begun(kubeconfig) as process:
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        process.send_signal(number)
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode in (0, 130, -number), err
    # What Python does before the first line of kq runs is its own.
    assert [line for line in err.splitlines() if "/kq/" in line or "asyncio" in line] == []
    assert not kubeconfig.exists()


def test_a_kubeconfig_that_leads_elsewhere_too_is_left_and_told(kubeconfig: Path) -> None:
    with begun(kubeconfig) as process:
        lines_of(process, 3)
        other = "clusters:\n- {name: prod, cluster: {server: 'https://10.0.0.1'}}\n"
        kubeconfig.write_text(kubeconfig.read_text().replace("clusters:\n", other))
        process.terminate()
        _, err = process.communicate(timeout=SECONDS)
    assert err == (
        f"the simulated cluster has ended; {kubeconfig} is left as it is: it leads elsewhere too\n"
    )
    assert kubeconfig.exists()


# -- two of them


def test_a_second_one_leaves_the_kubeconfig_of_the_first(
    simulation: "subprocess.Popen[str]", kubeconfig: Path
) -> None:
    lines_of(simulation, 3)
    before = kubeconfig.read_text()
    second = run("--kubeconfig", str(kubeconfig))
    assert second.returncode == 2
    assert second.stderr.startswith(f"kq: {kubeconfig} is of a simulated cluster that runs on ")
    assert len(second.stderr.splitlines()) == 1
    assert kubeconfig.read_text() == before


def test_a_port_that_is_in_use_is_one_line(tmp_path: Path) -> None:
    with listen() as taken:
        port = str(taken.getsockname()[1])
        second = run("--port", port, "--kubeconfig", str(tmp_path / "second"))
    assert (second.returncode, second.stdout) == (2, "")
    assert second.stderr == (
        f"kq: port {port} of 127.0.0.1 is in use by another process:"
        " choose another, or 0 for a free one\n"
    )


# -- what it begins with


def test_units_without_their_jobs_are_told_and_new_jobs_are_held(
    tmp_path: Path, kubeconfig: Path
) -> None:
    meta = {"namespace": "team", "uid": "u1", "creationTimestamp": "2026-03-02T09:00:00Z"}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "lost", "uid": "j1"}
    unit = {
        "apiVersion": QUEUE_UNIT.api_version,
        "kind": QUEUE_UNIT.kind,
        "metadata": {**meta, "name": "lost", "ownerReferences": [owner]},
        "spec": {"consumerRef": {**owner, "namespace": "team"}, "queue": "team"},
    }
    new = {"apiVersion": "batch/v1", "kind": "Job", **job("new")}
    file = tmp_path / "o.jsonl"
    file.write_text("\n".join(map(json.dumps, (new, quota("2"), unit))))
    with begun(kubeconfig, "--objects", str(file)) as process:
        lines_of(process, 3)
        assert asyncio.run(what_the_webhook_did(kubeconfig, "new")) == "pod-labels,suspend"
        process.terminate()
        _, err = process.communicate(timeout=SECONDS)
    assert err.splitlines()[:2] == [
        "kq: 3 objects loaded; made namespace team, without labels, as no file has any:"
        " export namespaces too",
        "kq: 1 QueueUnit will be deleted, as its Job is in no file: team/lost; export jobs too",
    ]


async def what_the_webhook_did(kubeconfig: Path, name: str) -> str:
    connection = await load_connection(str(kubeconfig), None)
    async with Client(connection) as client:
        made = await client.get(JOB, name, "default")
    return str(made["metadata"]["annotations"][keys.INJECTED])
