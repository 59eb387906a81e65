"""How clients get in: certificates and kubeconfig files, written and read."""

import base64
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from controlplane import pki
from controlplane.components import CONTROLLER_MANAGER, HOST, SCHEDULER, Plan
from controlplane.errors import ControlPlaneError
from controlplane.pki import Pair


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What a client needs to reach one API server."""

    server: str
    tls: ssl.SSLContext
    token: str | None


def issue(plan: Plan) -> None:
    """Everything that the processes of one instance trust, serve and log in with."""
    authority = pki.Authority("kq-control-plane")
    (plan.pki / "ca.crt").write_bytes(authority.certificate)
    pki.write(authority.server(), plan.pki, "apiserver")
    pki.write(pki.signing_pair(), plan.pki, "tokens")
    admins = "system:masters"
    users = {
        "admin": (plan.folder / "kubeconfig", admins),
        "kwok": (plan.kubeconfig("kwok"), admins),
        CONTROLLER_MANAGER: (plan.kubeconfig(CONTROLLER_MANAGER), None),
        SCHEDULER: (plan.kubeconfig(SCHEDULER), None),
    }
    for user, (path, group) in users.items():
        write(
            path,
            server=f"https://{HOST}:{plan.ports.api}",
            ca=authority.certificate,
            user=user,
            pair=authority.client(user, group),
        )


def write(path: Path, *, server: str, ca: bytes, user: str, pair: Pair) -> None:
    """A self-contained kubeconfig for one user, readable by its owner only."""
    name = "kq"
    cluster = {"server": server, "certificate-authority-data": _encoded(ca)}
    login = {
        "client-certificate-data": _encoded(pair.certificate),
        "client-key-data": _encoded(pair.key),
    }
    path.touch(mode=0o600)
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": name, "cluster": cluster}],
                "users": [{"name": user, "user": login}],
                "contexts": [{"name": name, "context": {"cluster": name, "user": user}}],
                "current-context": name,
            }
        )
    )


def read(path: Path) -> Access:
    """The access that the current context of a kubeconfig gives, by certificate or token."""
    config = yaml.safe_load(path.read_text())
    context = _named(config, "contexts", "context", config["current-context"])
    cluster = _named(config, "clusters", "cluster", context["cluster"])
    user = _named(config, "users", "user", context["user"])
    ca = _content(cluster, "certificate-authority", path.parent)
    tls = ssl.create_default_context(cadata=ca.decode() if ca else None)
    if cluster.get("insecure-skip-tls-verify"):
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    certificate = _content(user, "client-certificate", path.parent)
    key = _content(user, "client-key", path.parent)
    if certificate and key:
        _load_client(tls, certificate + b"\n" + key)
    elif not user.get("token"):
        raise ControlPlaneError(f"{path}: user {context['user']} has no certificate and no token")
    return Access(server=cluster["server"].rstrip("/"), tls=tls, token=user.get("token"))


def _named(config: Mapping[str, Any], section: str, key: str, name: str) -> dict[str, Any]:
    for entry in config[section]:
        if entry["name"] == name:
            return dict(entry[key])
    raise ControlPlaneError(f"the kubeconfig has no {key} {name}")


def _content(entry: Mapping[str, Any], key: str, folder: Path) -> bytes | None:
    if data := entry.get(f"{key}-data"):
        return base64.b64decode(data)
    return (folder / entry[key]).read_bytes() if entry.get(key) else None


def _load_client(tls: ssl.SSLContext, pem: bytes) -> None:
    # The ssl module takes client certificates from files only.
    with tempfile.NamedTemporaryFile() as file:
        file.write(pem)
        file.flush()
        tls.load_cert_chain(file.name)


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()
