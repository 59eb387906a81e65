"""All processes of one control plane, started in order and ended in reverse."""

import http.client
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from controlplane import components, kubeconfig, processes
from controlplane.cluster import Cluster, Object
from controlplane.components import HOST, Plan, Ports
from controlplane.errors import Crashed, Refused, StartError
from controlplane.processes import Process

START_SECONDS = 60
GRACE_SECONDS = 5.0
ATTEMPTS = 4

PORT_TAKEN = "address already in use"

NODE_RESOURCES = {
    "cpu": "1000",
    "memory": "4Ti",
    "pods": "100k",
    "ephemeral-storage": "100Ti",
    "nvidia.com/gpu": "1000",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlane:
    """A running control plane; as a context manager it stops at the end."""

    folder: Path
    cluster: Cluster
    processes: Sequence[Process]

    @classmethod
    def start(
        cls,
        folder: Path,
        binaries: Path,
        *,
        audit: bool = False,
        unlimited: bool = False,
        nodes: int = 2,
        leashed: bool = True,
    ) -> Self:
        """A control plane that is ready for Jobs; on failure all of it is ended, its logs stay.

        Unlimited lifts every limit on requests, for load. Leashed, it dies with this process.
        """
        if users := [each.name for each in _running(folder)]:
            raise StartError(f"{folder} is in use by {', '.join(users)}")
        attempts = 0
        while True:
            attempts += 1
            plan = Plan(
                binaries=binaries,
                folder=folder,
                ports=components.free_ports(),
                audit=audit,
                unlimited=unlimited,
            )
            try:
                return cls._attempt(plan, nodes=nodes, leashed=leashed)
            except Crashed as err:
                if PORT_TAKEN not in str(err) or attempts == ATTEMPTS:
                    raise

    @classmethod
    def _attempt(cls, plan: Plan, *, nodes: int, leashed: bool) -> Self:
        _prepare(plan)
        starter = _Starter(plan, leashed=leashed)
        try:
            cluster = starter.run(nodes)
        except BaseException:
            stop(plan.folder)
            raise
        return cls(folder=plan.folder, cluster=cluster, processes=tuple(starter.started))

    def check(self) -> None:
        """Raises Crashed if one of the processes ended by itself."""
        for process in self.processes:
            processes.check(process)

    def stop(self) -> None:
        """Ends every process; the folder with data and logs stays."""
        stop(self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def state_file(folder: Path) -> Path:
    """Where a folder says which processes belong to it."""
    return folder / "processes.json"


def stop(folder: Path) -> list[Process]:
    """Ends what was started in a folder, last first, by whomever; returns what was running."""
    running = _running(folder)
    for process in reversed(processes.load(state_file(folder))):
        if process.expendable:
            processes.kill(process)
        else:
            processes.end(process, GRACE_SECONDS)
    state_file(folder).unlink(missing_ok=True)
    return running


def _running(folder: Path) -> list[Process]:
    return [each for each in processes.load(state_file(folder)) if processes.is_running(each)]


class _Starter:
    """One attempt to start; notes every process before it waits for it."""

    def __init__(self, plan: Plan, *, leashed: bool) -> None:
        self.started: list[Process] = []
        self._plan = plan
        self._leashed = leashed

    def run(self, nodes: int) -> Cluster:
        ports = self._plan.ports
        self._start("etcd")
        self._until("etcd is healthy", lambda: _is_healthy(ports))
        self._start("kube-apiserver")
        cluster = Cluster.of(
            self._plan.folder / "kubeconfig",
            kubectl_command=str(self._plan.binaries / "kubectl"),
            audit_log=self._plan.audit_log if self._plan.audit else None,
        )
        self._until("the API server is ready", lambda: _answers(cluster, "/readyz"))
        for name in ("kube-controller-manager", "kube-scheduler", "kwok"):
            self._start(name)
        for number in range(nodes):
            cluster.api("POST", "/api/v1/nodes", node(f"node-{number}"))
        self._until("nodes are ready", lambda: _nodes_are_ready(cluster))
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        self._until("controllers make accounts", lambda: _answers(cluster, account))
        return cluster

    def _start(self, name: str) -> None:
        plan = self._plan
        command = [str(plan.binaries / name), *components.COMMANDS[name](plan)]
        log = plan.folder / "logs" / f"{name}.log"
        with processes.uninterrupted():
            self.started.append(processes.start(name, command, log, leashed=self._leashed))
            processes.save(self.started, state_file(plan.folder))

    def _until(self, claim: str, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self._holds(condition):
            if time.monotonic() > deadline:
                logs = self._plan.folder / "logs"
                raise StartError(f"not after {START_SECONDS} s: {claim}; logs are in {logs}")
            time.sleep(0.02)

    def _holds(self, condition: Callable[[], bool]) -> bool:
        holds = condition()
        # Also when it holds: a stranger on our port may have answered in our crashed one's place.
        for process in self.started:
            processes.check(process)
        return holds


def node(name: str) -> Object:
    """A node that KWOK plays, with room for whatever a test asks."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
        },
        "status": {"allocatable": NODE_RESOURCES, "capacity": NODE_RESOURCES},
    }


def _prepare(plan: Plan) -> None:
    for name in ("etcd", "logs", "pki"):
        shutil.rmtree(plan.folder / name, ignore_errors=True)
    plan.audit_log.unlink(missing_ok=True)
    plan.pki.mkdir(parents=True, mode=0o700)
    (plan.folder / "logs").mkdir()
    kubeconfig.issue(plan)


def _is_healthy(ports: Ports) -> bool:
    connection = http.client.HTTPConnection(HOST, ports.etcd, timeout=1)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _answers(cluster: Cluster, path: str) -> bool:
    # Whoever took our port may accept and say nothing.
    hasty = replace(cluster, request_seconds=2.0)
    try:
        hasty.api("GET", path)
    except (Refused, OSError, http.client.HTTPException):
        return False
    return True


def _nodes_are_ready(cluster: Cluster) -> bool:
    listed = cluster.api("GET", "/api/v1/nodes")["items"]
    return all(
        not each["spec"].get("taints")
        and any(
            c["type"] == "Ready" and c["status"] == "True" for c in each["status"]["conditions"]
        )
        for each in listed
    )
