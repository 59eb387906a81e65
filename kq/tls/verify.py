"""Whether the files of a folder can be served: pair, dates, names, chain (spec 17.5).

Chain and names are judged by an actual handshake in memory, so by what a client would say.
"""

import hashlib
import ssl
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from kq.errors import TlsError
from kq.tls.issue import load_certificates

CERTIFICATE, KEY, CA = "tls.crt", "tls.key", "ca.crt"
ALPN = ["http/1.1"]
"""The API server forces HTTP/1.1 towards webhooks (kubernetes #75791)."""
MAX_FLIGHTS = 10
"""Rounds of a handshake; TLS needs three."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A verified pair, ready to be handed to new connections."""

    context: ssl.SSLContext
    ca: str
    serial: str
    not_after: datetime
    ca_not_after: datetime


def digest(folder: Path) -> str:
    """What the three files hold, as one short text; equal texts, equal files."""
    folder = _version_of(folder)
    parts = [hashlib.sha256(_read(folder, file)).hexdigest() for file in (CERTIFICATE, KEY, CA)]
    return ".".join(parts)


def load(folder: Path, name: str, now: datetime) -> Served:
    """The pair of the folder if a client that trusts its ca.crt may call it by that name."""
    folder = _version_of(folder)
    before = digest(folder)
    certificate = load_certificates(_read(folder, CERTIFICATE), CERTIFICATE)[0]
    bundle = _read(folder, CA)
    # While a CA is replaced the bundle holds two, and the old one may have expired meanwhile.
    ca_not_after = max(each.not_valid_after_utc for each in load_certificates(bundle, CA))
    if now < certificate.not_valid_before_utc:
        raise TlsError(f"{CERTIFICATE} is not valid before {certificate.not_valid_before_utc}")
    for file, until in ((CERTIFICATE, certificate.not_valid_after_utc), (CA, ca_not_after)):
        if now >= until:
            raise TlsError(f"{file} expired at {until}")
    context = _server_context(folder)
    ca = bundle.decode("utf-8", "replace")
    _handshake(context, client_context(ca), name)
    if digest(folder) != before:
        raise TlsError("files changed while they were read")
    return Served(
        context=context,
        ca=ca,
        serial=f"{certificate.serial_number:x}",
        not_after=certificate.not_valid_after_utc,
        ca_not_after=ca_not_after,
    )


def bare_context() -> ssl.SSLContext:
    """A server's context without a certificate: TLS 1.2 and newer, HTTP/1.1, no resumption."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(ALPN)
    # A resumed session would never see a new certificate.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    return context


def client_context(ca: str) -> ssl.SSLContext:
    """A client's context that trusts this bundle alone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(ALPN)
    try:
        context.load_verify_locations(cadata=ca)
    except (ssl.SSLError, ValueError) as err:
        raise TlsError(f"{CA} holds no bundle that can be read: {_reason(err)}") from err
    return context


def _server_context(folder: Path) -> ssl.SSLContext:
    context = bare_context()
    try:
        context.load_cert_chain(folder / CERTIFICATE, folder / KEY, password=_no_password)
    except (ssl.SSLError, ValueError, OSError) as err:
        raise TlsError(f"{CERTIFICATE} and {KEY} are no pair: {_reason(err)}") from err
    return context


def _no_password() -> str:
    # Without this OpenSSL would ask at the terminal.
    raise ValueError("the key is encrypted")


def _handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> None:
    """Lets the two contexts shake hands in memory; raises TlsError if the client refuses."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(to_client, to_server, server_hostname=name)
    answering = server.wrap_bio(to_server, to_client, server_side=True)
    try:
        for _ in range(MAX_FLIGHTS):
            if all([_shaken(asking), _shaken(answering)]):
                return
    except ssl.SSLError as err:
        raise TlsError(f"{CERTIFICATE} does not verify for {name}: {_reason(err)}") from err
    raise TlsError(f"the handshake for {name} does not end")


def _shaken(side: ssl.SSLObject) -> bool:
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def _reason(err: Exception) -> str:
    return getattr(err, "verify_message", None) or getattr(err, "reason", None) or str(err)


def _version_of(folder: Path) -> Path:
    """Where the files really are: kubelet swaps a link, so that all files are of one version."""
    data = folder / "..data"
    return data.resolve() if data.exists() else folder


def _read(folder: Path, file: str) -> bytes:
    try:
        return (folder / file).read_bytes()
    except OSError as err:
        raise TlsError(f"{file} cannot be read: {err.strerror}") from err
