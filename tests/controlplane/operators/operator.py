"""What one operator consists of, and what it finds when it starts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controlplane import probes
from controlplane.cluster import Cluster, Object
from controlplane.components import HOST
from controlplane.edits import Edit
from controlplane.processes import Process

MODULES = Path(__file__).with_name("modules")


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhooks:
    """Where an operator keeps its webhook configurations, and the Service that they call."""

    folder: str
    namespace: str
    service: str
    prefix: str = ""
    """Set before the names of the configurations, where they are too general."""
    unserved: frozenset[str] = frozenset()
    """The names of those that the program does not serve; they are left out."""
    set_of: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What is set of some of them, by name."""

    @property
    def host(self) -> str:
        """The name that the certificate has to bear."""
        return f"{self.service}.{self.namespace}.svc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What an operator finds when it starts."""

    cluster: Cluster
    folder: Path
    """Its own, for whatever it must be told by file."""
    program: Path
    certificates: Path
    """A folder with ca.crt, ca.key, and tls.crt, tls.key for the host of its webhooks."""
    webhook_port: int
    beside: frozenset[str]
    """The names of the operators that run on the same cluster, its own among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One process to start; the operator itself is the last of several."""

    name: str
    command: Sequence[str]
    is_ready: Callable[[Process], bool]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operator, all but its version, which its go.mod pins."""

    name: str
    module: str
    """The folder of its go.mod; operators that can share compiled packages share one."""
    package: str
    """What is built."""
    source: str
    """The Go module that its manifests are in."""
    kinds: Mapping[str, str]
    """The file of the CRD of each kind, by the path at which the kind is listed."""
    starts: Callable[[Place], Sequence[Start]]
    effort: str
    edits: Sequence[Edit] = ()
    webhooks: Webhooks | None = None
    objects: Sequence[Object] = ()
    """What else it wants to find, its namespace first."""
    helpers: Sequence[str] = ()
    """The names of the processes that it starts beside itself."""
    needs: Sequence[str] = ()
    leaves: Mapping[str, str] = field(default_factory=dict)
    """The kind that it leaves to another operator, by the name of that one."""

    @property
    def process(self) -> str:
        """The name of its process."""
        return f"{self.name}-operator"

    def kinds_beside(self, others: frozenset[str]) -> Mapping[str, str]:
        """The kinds that it brings to a cluster where others run too."""
        left = {kind for other, kind in self.leaves.items() if other in others}
        return {kind: file for kind, file in self.kinds.items() if kind not in left}


def namespace(name: str) -> Object:
    """A namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def address(port: int) -> str:
    """That port on loopback."""
    return f"{HOST}:{port}"


def link_certificates(place: Place) -> Mapping[str, str]:
    """The environment for those who find their certificates by TMPDIR alone."""
    mount = place.folder / "k8s-webhook-server" / "serving-certs"
    mount.parent.mkdir(exist_ok=True)
    if not mount.is_symlink():
        mount.symlink_to(place.certificates)
    return {"TMPDIR": str(place.folder)}


def write_secret(place: Place, webhooks: Webhooks, name: str, files: Iterable[str]) -> None:
    """Some of the certificates in a Secret, for those who look for them there."""
    place.cluster.apply(
        f"/api/v1/namespaces/{webhooks.namespace}/secrets/{name}",
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name},
            "stringData": {each: (place.certificates / each).read_text() for each in files},
        },
    )


def answers(port: int, *, webhook_port: int | None = None) -> Callable[[Process], bool]:
    """Whether a process says at /readyz that it is ready, and takes calls of its webhooks."""

    def is_ready(process: Process) -> bool:
        ready, _ = probes.get(port, "/readyz")
        return ready == 200 and (webhook_port is None or probes.accepts(webhook_port))

    return is_ready


def says(line: str) -> Callable[[Process], bool]:
    """Whether a process has logged a text; for those whose health nobody can ask."""

    def is_ready(process: Process) -> bool:
        return line in Path(process.log).read_text(errors="replace")

    return is_ready
