"""How one process is to run, beside its settings: addresses, folders, the way to the cluster."""

from dataclasses import dataclass
from pathlib import Path

from kq.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; an empty host is every address, port 0 a free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """`host:port`, `:port` or `[::1]:port`."""
        host, colon, port = text.rpartition(":")
        if not colon or not port.isascii() or not port.isdecimal() or int(port) > 65535:
            raise ConfigError(f"address is {text}, not host:port")
        return cls(host.removeprefix("[").removesuffix("]"), int(port))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """The way to the API server."""

    kubeconfig: str | None = None
    context: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerOptions:
    """How `kq manager` runs."""

    cluster: ClusterOptions
    metrics: Address
    health: Address
    default_policy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """How `kq webhook` runs."""

    cluster: ClusterOptions
    metrics: Address
    health: Address
    reviews: Address
    tls_dir: Path
    service: str
