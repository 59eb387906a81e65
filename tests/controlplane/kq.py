"""kq itself on a cluster: its objects installed, webhook and manager as processes of their own."""

import http.client
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from controlplane import probes, processes
from controlplane.cluster import Cluster
from controlplane.components import HOST
from controlplane.errors import ControlPlaneError
from controlplane.processes import Process

OVERLAY = Path(__file__).parents[2] / "manifests/kustomize/overlays/local"
CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/koord-queue"
KINDS = (
    "/apis/scheduling.x-k8s.io/v1alpha1/queueunits",
    "/apis/scheduling.x-k8s.io/v1alpha1/queues",
    "/apis/scheduling.sigs.k8s.io/v1alpha1/elasticquotas",
)
NAMESPACE = "/api/v1/namespaces/koord-queue"
ACCOUNTS = {"manager": "koord-queue", "webhook": "koord-queue-controllers"}
TOKEN_SECONDS = 8 * 3600
KQ = (sys.executable, "-m", "kq")
READY_SECONDS = 30.0
GRACE_SECONDS = 15.0


@dataclass(slots=True, kw_only=True)
class Kq:
    """Webhook and manager on one cluster; as a context manager they end with the block."""

    cluster: Cluster
    folder: Path
    leashed: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Sections of the configuration file, beside a webhook that ends without a drain."""
    environment: Mapping[str, str] = field(default_factory=dict)
    as_accounts: bool = False
    """With the rights of their service accounts, as in a cluster, instead of an administrator's."""
    webhook: Process | None = None
    manager: Process | None = None
    manager_ports: tuple[int, int] = (0, 0)
    _starts: int = 0

    def __enter__(self) -> Self:
        self.install()
        self.start_webhook()
        self.start_manager()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop_manager()
        self.stop_webhook()

    def install(self) -> None:
        """CRDs, rights and the webhook configuration; returns when the kinds are served."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.cluster.kubectl("apply", "-k", str(OVERLAY))
        for path in KINDS:
            # Until its storage is up a new kind answers 404 and then 429.
            served = partial(probes.serves, self.cluster, path)
            probes.until(served, f"{path} is served", READY_SECONDS)
        if self.as_accounts:
            for name, account in ACCOUNTS.items():
                self._write_kubeconfig(name, account)

    def start_webhook(self) -> None:
        """Issues a certificate, starts the process, lets the API server know where it is."""
        tls, port, health = self.folder / "tls", *probes.free_ports(2)
        self._run("certs", "issue", "--out", str(tls))
        command = (
            *("webhook", "--tls-dir", str(tls), "--bind-address", f"{HOST}:{port}"),
            *("--metrics-bind-address", f"{HOST}:0"),
            *("--health-probe-bind-address", f"{HOST}:{health}"),
        )
        self.webhook = self._start("webhook", command)
        self._wait_ready(self.webhook, health)
        self.cluster.api(
            "PATCH",
            CONFIGURATION,
            [
                {
                    "op": "replace",
                    "path": f"/webhooks/{number}/clientConfig/service/port",
                    "value": port,
                }
                for number in range(len(self.cluster.api("GET", CONFIGURATION)["webhooks"]))
            ],
            content_type="application/json-patch+json",
        )
        self._run("certs", "issue", "--out", str(tls), "--inject")

    def start_manager(self, *arguments: str, wait: bool = True) -> None:
        """Starts the process; returns when it decides, unless told not to wait."""
        metrics, health = probes.free_ports(2)
        self.manager_ports = (metrics, health)
        command = (
            *("manager", "--metrics-bind-address", f"{HOST}:{metrics}"),
            *("--health-probe-bind-address", f"{HOST}:{health}"),
            *arguments,
        )
        self.manager = self._start("manager", command)
        if wait:
            self._wait_ready(self.manager, health)

    def stop_webhook(self, grace_seconds: float = GRACE_SECONDS) -> None:
        """Ends the webhook; with a grace of 0 it is killed."""
        if self.webhook is not None:
            processes.end(self.webhook, grace_seconds)
            self.webhook = None

    def stop_manager(self, grace_seconds: float = GRACE_SECONDS) -> None:
        """Ends the manager; with a grace of 0 it is killed."""
        if self.manager is not None:
            processes.end(self.manager, grace_seconds)
            self.manager = None

    def kill_manager(self) -> None:
        """SIGKILL."""
        if self.manager is not None:
            processes.kill(self.manager)
            self.manager = None

    def kill_webhook(self) -> None:
        """SIGKILL."""
        if self.webhook is not None:
            processes.kill(self.webhook)
            self.webhook = None

    def metrics(self) -> str:
        """What the manager's /metrics shows."""
        return probes.get(self.manager_ports[0], "/metrics")[1]

    def errors(self) -> list[str]:
        """Every line in which one of the processes so far told of an error."""
        logs = sorted(self.folder.glob("*-*.log"))
        lines = [line for log in logs for line in log.read_text(errors="replace").splitlines()]
        return [line for line in lines if '"level":"error"' in line or "Traceback" in line]

    def _start(self, name: str, command: Sequence[str]) -> Process:
        self._starts += 1
        log = self.folder / f"{name}-{self._starts}.log"
        return processes.start(
            f"kq {name}",
            (*KQ, *command, "--config", str(self._configuration())),
            log,
            leashed=self.leashed,
            environment={"KUBECONFIG": str(self._kubeconfig(name)), **self.environment},
        )

    def _kubeconfig(self, name: str) -> Path:
        return self.folder / f"{name}.kubeconfig" if self.as_accounts else self.cluster.kubeconfig

    def _write_kubeconfig(self, name: str, account: str) -> None:
        """The admin's way in, with a token of a service account in place of the certificate."""
        asked = {"spec": {"expirationSeconds": TOKEN_SECONDS}}
        path = f"{NAMESPACE}/serviceaccounts/{account}/token"
        token = self.cluster.api("POST", path, asked)["status"]["token"]
        config = yaml.safe_load(self.cluster.kubeconfig.read_text())
        for user in config["users"]:
            user["user"] = {"token": token}
        file = self._kubeconfig(name)
        file.touch(mode=0o600)
        file.write_text(yaml.safe_dump(config))

    def _configuration(self) -> Path:
        webhook = {"terminationDrainSeconds": 0, **self.settings.get("webhook", {})}
        path = self.folder / "config.yaml"
        path.write_text(yaml.safe_dump({**self.settings, "webhook": webhook}))
        return path

    def _run(self, *arguments: str) -> None:
        """A command of kq that ends by itself."""
        log = self.folder / "commands.log"
        environment = {"KUBECONFIG": str(self.cluster.kubeconfig)}
        done = processes.start(
            "kq", (*KQ, *arguments), log, leashed=self.leashed, environment=environment
        )
        code = processes.wait(done)
        if code:
            raise ControlPlaneError(f"kq {' '.join(arguments)} ended with {code}; see {log}")

    def _wait_ready(self, process: Process, port: int) -> None:
        def ready() -> bool:
            processes.check(process)
            return probes.get(port, "/readyz")[0] == http.HTTPStatus.OK

        probes.until(ready, f"{process.name} is ready; its log is {process.log}", READY_SECONDS)
