"""Who gets in: the server's certificate, bearer tokens, and kubeconfig files that hold both."""

import base64
import secrets
import ssl
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import yaml

from kq.sim.api.call import User
from kq.tls.issue import Pair, Profile, issue_ca, issue_serving
from kq.tls.verify import bare_context

HOST = "127.0.0.1"
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
        name = "kq-sim"
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
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(content), "utf-8")
