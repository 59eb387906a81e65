"""Who gets in: the server's certificate, bearer tokens, and kubeconfig files that hold both."""

import base64
import fcntl
import os
import secrets
import socket
import ssl
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from kq.errors import ConfigError
from kq.sim.api.call import User
from kq.tls.issue import Pair, Profile, issue_ca, issue_serving
from kq.tls.verify import bare_context

HOST = "127.0.0.1"
NAME = "kq-sim"
"""Of the cluster in kubeconfig files."""
ADMIN = User()
BUSY_SECONDS = 1.0
"""Who does not answer for so long is at work."""
_NAMES = ("localhost", HOST, "kubernetes", "kubernetes.default", "kubernetes.default.svc")
_TOKEN_BYTES = 24
_AUTHORITY = "certificate-authority-data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A certificate authority, a serving pair for loopback, and a token for each user."""

    authority: Pair
    serving: Pair = field(repr=False)
    tokens: dict[str, User] = field(repr=False)

    @classmethod
    def issue(cls, now: datetime, users: Iterable[User] = (ADMIN,)) -> "Access":
        """New certificates, and a token for each of these users."""
        authority = issue_ca(now, Profile())
        serving = issue_serving(authority, _NAMES, now, Profile())
        tokens = {secrets.token_urlsafe(_TOKEN_BYTES): user for user in users}
        return cls(authority=authority, serving=serving, tokens=tokens)

    def token_of(self, user: User) -> str:
        """The token with which a user gets in; one is made if there is none yet."""
        for token, known in self.tokens.items():
            if known == user:
                return token
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        self.tokens[token] = user
        return token

    def context(self) -> ssl.SSLContext:
        """What the server shows its clients."""
        context = bare_context()
        # The ssl module takes pairs from files only.
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = Path(folder) / "tls.crt", Path(folder) / "tls.key"
            certificate.write_bytes(self.serving.certificate)
            key.touch(mode=0o600)
            key.write_bytes(self.serving.key)
            context.load_cert_chain(certificate, key)
        return context

    def write_kubeconfig(
        self, path: Path, *, port: int, user: User = ADMIN, namespace: str = "default"
    ) -> None:
        """Writes a kubeconfig, readable by its owner only, that leads to the server as a user."""
        path.touch(mode=0o600)
        path.write_text(self.kubeconfig(port=port, user=user, namespace=namespace), "utf-8")

    def kubeconfig(self, *, port: int, user: User = ADMIN, namespace: str = "default") -> str:
        """The text of such a file."""
        name = NAME
        cluster = {
            "server": f"https://{HOST}:{port}",
            _AUTHORITY: self._authority(),
        }
        context = {"cluster": name, "user": user.name, "namespace": namespace}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": user.name, "user": {"token": self.token_of(user)}}],
            "contexts": [{"name": name, "context": context}],
            "current-context": name,
        }
        return yaml.safe_dump(content)

    def remove(self, path: Path) -> bool:
        """Removes a kubeconfig that leads to this server alone; whether it is gone now."""
        if _cluster_of(path).get(_AUTHORITY) == self._authority():
            with suppress(OSError):
                path.unlink()
        return not path.exists()

    def _authority(self) -> str:
        return base64.b64encode(self.authority.certificate).decode()


def check_free(path: Path, *, ours: int | None = None) -> None:
    """Refuses a file that cannot be written, or must not: of a cluster that runs, or of another.

    `ours` is the port of the cluster that is to be written there.
    """
    folder = path.parent
    if not folder.is_dir():
        raise ConfigError(f"{path} cannot be written: there is no folder {folder}; make it first")
    if not path.exists():
        if not os.access(folder, os.W_OK | os.X_OK):
            raise ConfigError(f"{path} cannot be written: nothing may be made in {folder}")
        return
    cluster = _cluster_of(path) if path.is_file() else {}
    port = _port_of(cluster)
    if port is None:
        raise ConfigError(f"{path} is not of a simulated cluster; choose another --kubeconfig")
    if port != ours and _is_served(port, str(cluster.get(_AUTHORITY, ""))):
        raise ConfigError(
            f"{path} is of a simulated cluster that runs on {cluster['server']};"
            " choose another --kubeconfig"
        )


@contextmanager
def claimed(path: Path, port: int) -> Iterator[None]:
    """A time in which nobody else finds a file free, for the cluster at that port to write it."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        # Not every file system has locks; what is left without one is a moment.
        with suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_EX)
        check_free(path, ours=port)
        yield
    finally:
        os.close(folder)


def _cluster_of(path: Path) -> dict[str, Any]:
    """The one cluster that a kubeconfig leads to, if it is a simulated one."""
    try:
        content = yaml.safe_load(path.read_text("utf-8"))
        (entry,) = content["clusters"]
        cluster = entry["cluster"] if entry["name"] == NAME else {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError, LookupError, TypeError, ValueError):
        return {}
    return cluster if isinstance(cluster, dict) else {}


def _port_of(cluster: dict[str, Any]) -> int | None:
    """At which port of this machine it is; None if it is elsewhere."""
    try:
        url = urlsplit(str(cluster.get("server", "")))
        return url.port if url.hostname == HOST else None
    except ValueError:
        return None


def _is_served(port: int, authority: str) -> bool:
    """Whether whoever is at that port is of that authority, or too busy to say."""
    try:
        tls = ssl.create_default_context(cadata=base64.b64decode(authority).decode())
        with (
            socket.create_connection((HOST, port), BUSY_SECONDS) as tried,
            tls.wrap_socket(tried, server_hostname=HOST),
        ):
            return True
    except TimeoutError:
        return True
    except (OSError, ValueError):
        return False
