"""Kueue on a cluster, as the queue under test: one process, with its service account's rights."""

import http.client
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml
from controlplane import pki, processes
from controlplane.cluster import Cluster
from controlplane.components import HOST
from controlplane.probes import free_ports
from controlplane.processes import Process

from bench.failure import BenchError
from bench.peers import certificate, manifests, objects
from bench.peers.manifests import NAMESPACE, Ports, Shipped
from bench.peers.program import Program
from bench.queues import Queue

ACCOUNT = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/kueue-controller-manager"
TOKEN_SECONDS = 8 * 3600
READY_SECONDS = 60.0
ENDED_SECONDS = 60.0
"""Kueue limits its own requests, so workloads are told of their ends later than jobs are."""
GRACE_SECONDS = 15.0
POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class OfKueue:
    """Kueue as the queue under test; its webhooks are in the process of its manager."""

    cluster: Cluster
    manager: Process

    @property
    def parts(self) -> Mapping[str, Process]:
        """The only process."""
        return {"manager": self.manager}

    @property
    def labels(self) -> Mapping[str, str]:
        """The name of the local queue."""
        return {objects.QUEUE_LABEL: objects.QUEUE}

    def make_quota(self, places: int) -> None:
        """A cluster queue of one flavor, and a local queue; returns when that is active."""
        for path, made in objects.quota(places):
            self.cluster.api("POST", path, made)
        path = f"{objects.LOCAL_QUEUES}/{objects.QUEUE}"
        self.cluster.wait(path, lambda queue: objects.has("Active", queue))

    def check_ended(self, jobs: int) -> None:
        """A load counts only if every job had a workload that was admitted and has finished."""
        deadline = time.monotonic() + ENDED_SECONDS
        while (ended := self._ended()) != jobs:
            processes.check(self.manager)
            if time.monotonic() > deadline:
                raise BenchError(
                    f"of {jobs} jobs {ended} workloads were admitted and finished "
                    f"{ENDED_SECONDS:.0f} s after the last job"
                )
            time.sleep(1.0)

    def _ended(self) -> int:
        workloads = self.cluster.api("GET", objects.WORKLOADS)["items"]
        return sum(
            objects.has("Admitted", each) and objects.has("Finished", each) for each in workloads
        )


@contextmanager
def of_kueue(
    program: Program, cluster: Cluster, folder: Path, environment: Mapping[str, str]
) -> Iterator[Queue]:
    """Kueue installed and ready; it ends with the block."""
    place = folder / "kueue"
    place.mkdir()
    webhook, health, metrics = free_ports(3)
    ports = Ports(webhook=webhook, health=health, metrics=metrics)
    shipped = manifests.read(cluster.kubectl("kustomize", str(program.manifests)).stdout)
    _install(cluster, shipped, ports, place)
    kubeconfig = _kubeconfig(cluster, place)
    config = place / "config.yaml"
    config.write_text(
        yaml.safe_dump(manifests.configuration(shipped.configuration, ports, place / "tls"))
    )
    manager = processes.start(
        "kueue manager",
        (str(program.binary), *shipped.arguments, f"--config={config}"),
        place / "manager-1.log",
        leashed=True,
        environment={"KUBECONFIG": str(kubeconfig), **environment},
    )
    try:
        _wait_ready(manager, health)
        yield OfKueue(cluster=cluster, manager=manager)
    finally:
        processes.end(manager, GRACE_SECONDS)


def _install(cluster: Cluster, shipped: Shipped, ports: Ports, place: Path) -> None:
    """The objects and the certificate; returns when the kinds are served."""
    pair = certificate.issue()
    (place / "tls").mkdir(mode=0o700)
    pki.write(pair, place / "tls", "tls")
    items = manifests.local(shipped.objects, ports.webhook, pair)
    made = {"apiVersion": "v1", "kind": "List", "items": items}
    # The CRDs are too large for the annotation that an apply on the client's side leaves.
    cluster.kubectl("apply", "--server-side", "--filename=-", input=json.dumps(made))
    names = [
        f"crd/{each['metadata']['name']}"
        for each in items
        if each["kind"] == "CustomResourceDefinition"
    ]
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)


def _kubeconfig(cluster: Cluster, place: Path) -> Path:
    """The admin's way in, with a token of Kueue's service account for a certificate."""
    asked = {"spec": {"expirationSeconds": TOKEN_SECONDS}}
    token = cluster.api("POST", f"{ACCOUNT}/token", asked)["status"]["token"]
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    for user in config["users"]:
        user["user"] = {"token": token}
    path = place / "kubeconfig"
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config))
    return path


def _wait_ready(manager: Process, port: int) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not _is_ready(port):
        processes.check(manager)
        if time.monotonic() > deadline:
            raise BenchError(f"Kueue is not ready after {READY_SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()
