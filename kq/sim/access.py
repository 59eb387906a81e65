"""Who gets in: the server's certificate, bearer tokens, and kubeconfig files that hold both."""

import base64
import secrets
import socket
import ssl
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
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
_NAMES = ("localhost", HOST, "kubernetes", "kubernetes.default", "kubernetes.default.svc")
_TOKEN_BYTES = 24


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
            "certificate-authority-data": base64.b64encode(self.authority.certificate).decode(),
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


def check_free(path: Path) -> None:
    """Refuses a file that must not be written over: one of a cluster that runs, or of another."""
    if not path.exists():
        return
    try:
        content = yaml.safe_load(path.read_text("utf-8"))
        (cluster,) = content["clusters"]
        server = cluster["cluster"]["server"] if cluster["name"] == NAME else ""
    except (OSError, UnicodeDecodeError, yaml.YAMLError, LookupError, TypeError, ValueError):
        server = ""
    url = urlsplit(str(server))
    if url.hostname != HOST or url.port is None:
        raise ConfigError(f"{path} is not of a simulated cluster; choose another --kubeconfig")
    if _is_listened_at(HOST, url.port):
        raise ConfigError(
            f"{path} is of a simulated cluster that runs on {server}; choose another --kubeconfig"
        )


def remove(path: Path, content: str) -> None:
    """Removes a file that still has this content; one that somebody else wrote there stays."""
    with suppress(OSError):
        if path.read_text("utf-8") == content:
            path.unlink()


def _is_listened_at(host: str, port: int) -> bool:
    with socket.socket() as tried:
        tried.settimeout(1.0)
        return tried.connect_ex((host, port)) == 0
