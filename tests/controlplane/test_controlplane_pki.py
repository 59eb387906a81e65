"""Certificates and kubeconfig files fit together."""

import ssl
from pathlib import Path

import pytest
from cryptography import x509

from controlplane import kubeconfig, pki
from controlplane.errors import ControlPlaneError

SERVER = "https://127.0.0.1:6443"


def handshake(client: ssl.SSLContext, server: ssl.SSLContext) -> bytes | None:
    """The client's certificate as the server saw it, after a handshake in memory."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = client.wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    far = server.wrap_bio(to_server, to_client, server_side=True)
    waiting = [near, far]
    while waiting:
        side = waiting.pop(0)
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            waiting.append(side)
    return far.getpeercert(binary_form=True)


def serving(authority: pki.Authority, folder: Path) -> ssl.SSLContext:
    pki.write(authority.server(), folder, "server")
    context = ssl.create_default_context(
        ssl.Purpose.CLIENT_AUTH, cadata=authority.certificate.decode()
    )
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    return context


def test_a_kubeconfig_logs_in_as_its_user(tmp_path: Path) -> None:
    authority = pki.Authority("test")
    path = tmp_path / "kubeconfig"
    kubeconfig.write(
        path,
        server=SERVER,
        ca=authority.certificate,
        user="anna",
        pair=authority.client("anna", "admins"),
    )
    access = kubeconfig.read(path)
    access.tls.verify_flags |= ssl.VERIFY_X509_STRICT
    seen = handshake(access.tls, serving(authority, tmp_path))
    assert seen is not None
    assert x509.load_der_x509_certificate(seen).subject.rfc4514_string() == "CN=anna,O=admins"
    assert access.server == SERVER


def test_the_certificate_of_another_authority_is_refused(tmp_path: Path) -> None:
    ours = pki.Authority("test")
    client = ssl.create_default_context(cadata=pki.Authority("test").certificate.decode())
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(client, serving(ours, tmp_path))


def test_private_keys_are_for_their_owner_only(tmp_path: Path) -> None:
    pki.write(pki.signing_pair(), tmp_path, "tokens")
    assert (tmp_path / "tokens.key").stat().st_mode & 0o777 == 0o600


def write_config(path: Path, user: str) -> None:
    path.write_text(
        f"""
current-context: here
contexts: [{{name: here, context: {{cluster: one, user: anna}}}}]
clusters: [{{name: one, cluster: {{server: "{SERVER}/", insecure-skip-tls-verify: true}}}}]
users: [{{name: anna, user: {user}}}]
"""
    )


def test_a_token_is_as_good_as_a_certificate(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    write_config(path, "{token: abc}")
    access = kubeconfig.read(path)
    assert (access.server, access.token) == (SERVER, "abc")


def test_a_kubeconfig_without_a_login_that_we_can_use_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    write_config(path, "{exec: {command: login}}")
    with pytest.raises(ControlPlaneError, match="user anna has no certificate and no token"):
        kubeconfig.read(path)
