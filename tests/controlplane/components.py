"""The command line of each process of a control plane."""

import socket
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

HOST = "127.0.0.1"
CONTROLLER_MANAGER = "system:kube-controller-manager"
SCHEDULER = "system:kube-scheduler"
"""Users to whom the API server grants by name what these processes need."""

STAGES = Path(__file__).with_name("stages.yaml")
AUDIT_POLICY = Path(__file__).with_name("audit-policy.yaml")

# On one machine without clouds these controllers only fail and log.
CONTROLLERS = "*,-nodeipam,-node-route-controller,-cloud-node-lifecycle-controller"


CLIENT_UNLIMITED = ("--kube-api-qps=2000", "--kube-api-burst=4000")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The loopback ports of one instance."""

    etcd: int
    etcd_peer: int
    api: int
    controllers: int
    scheduler: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that decides how one instance is started."""

    binaries: Path
    folder: Path
    ports: Ports
    audit: bool
    unlimited: bool

    @property
    def pki(self) -> Path:
        return self.folder / "pki"

    @property
    def audit_log(self) -> Path:
        return self.folder / "audit.log"

    def kubeconfig(self, user: str) -> Path:
        """Where the kubeconfig of one of our own users is."""
        return self.folder / "pki" / f"{user}.kubeconfig"


def free_ports() -> Ports:
    """Ports that nobody listens on now; somebody may take one before we do."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(5)]
        for each in sockets:
            each.bind((HOST, 0))
        etcd, etcd_peer, api, controllers, scheduler = (s.getsockname()[1] for s in sockets)
    return Ports(
        etcd=etcd, etcd_peer=etcd_peer, api=api, controllers=controllers, scheduler=scheduler
    )


def etcd(plan: Plan) -> list[str]:
    client = f"http://{HOST}:{plan.ports.etcd}"
    peer = f"http://{HOST}:{plan.ports.etcd_peer}"
    return [
        "--name=kq",
        f"--data-dir={plan.folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=kq={peer}",
        "--unsafe-no-fsync",
        # Alone in its cluster it need not wait long for others to lead; saves up to a second.
        "--heartbeat-interval=50",
        "--election-timeout=500",
        f"--quota-backend-bytes={8 << 30}",
    ]


def apiserver(plan: Plan) -> list[str]:
    pki = plan.pki
    flags = [
        f"--etcd-servers=http://{HOST}:{plan.ports.etcd}",
        f"--bind-address={HOST}",
        f"--secure-port={plan.ports.api}",
        f"--tls-cert-file={pki / 'apiserver.crt'}",
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={pki / 'tokens.crt'}",
        f"--service-account-signing-key-file={pki / 'tokens.key'}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged",
        "--endpoint-reconciler-type=none",
    ]
    if plan.unlimited:
        flags += [
            "--max-requests-inflight=0",
            "--max-mutating-requests-inflight=0",
            "--enable-priority-and-fairness=false",
        ]
    if plan.audit:
        flags += [
            f"--audit-policy-file={AUDIT_POLICY}",
            f"--audit-log-path={plan.audit_log}",
            "--audit-log-maxsize=0",
        ]
    return flags


def controller_manager(plan: Plan) -> list[str]:
    flags = [
        f"--kubeconfig={plan.kubeconfig(CONTROLLER_MANAGER)}",
        f"--root-ca-file={plan.pki / 'ca.crt'}",
        f"--service-account-private-key-file={plan.pki / 'tokens.key'}",
        # Without it RBAC refuses most controllers, and Jobs stay without pods.
        "--use-service-account-credentials=true",
        f"--controllers={CONTROLLERS}",
        "--leader-elect=false",
        f"--bind-address={HOST}",
        f"--secure-port={plan.ports.controllers}",
    ]
    if plan.unlimited:
        return [*flags, *CLIENT_UNLIMITED, "--concurrent-job-syncs=20"]
    # The default burst of 30 costs the start 4 s; the rate of 20 a second stays as it is.
    return [*flags, "--kube-api-burst=300"]


def scheduler(plan: Plan) -> list[str]:
    flags = [
        f"--kubeconfig={plan.kubeconfig(SCHEDULER)}",
        "--leader-elect=false",
        f"--bind-address={HOST}",
        f"--secure-port={plan.ports.scheduler}",
    ]
    return [*flags, *CLIENT_UNLIMITED] if plan.unlimited else flags


def kwok(plan: Plan) -> list[str]:
    return [
        f"--kubeconfig={plan.kubeconfig('kwok')}",
        f"--config={STAGES}",
        "--manage-all-nodes=true",
        f"--node-ip={HOST}",
        "--cidr=10.128.0.0/9",
        # Else nobody renews the nodes, and they go NotReady every 50 s.
        "--node-lease-duration-seconds=40",
    ]


COMMANDS = {
    "etcd": etcd,
    "kube-apiserver": apiserver,
    "kube-controller-manager": controller_manager,
    "kube-scheduler": scheduler,
    "kwok": kwok,
}
"""Every process in the order of starting; ended in reverse."""
