"""Where the API server is, who we are to it, and the sockets that lead there."""

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Protocol
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from kq.errors import ConfigError
from kq.kube.requests import FIELD_MANAGER

LONGEST_LINE = 8 * 2**20
"""Bytes of one watch event; etcd's limit of 1.5 MiB can grow when written as JSON."""

_KEEP_ALIVE = 75.0
_KEEP_ALIVE_OPTIONS = {
    "TCP_KEEPIDLE": 15,
    "TCP_KEEPINTVL": 10,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 45_000,
}

SERVICE_HOST, SERVICE_PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

TOKEN_LIFE = 60.0
"""Seconds after which a token file is read again; the kubelet replaces it before it expires."""


class Credentials(Protocol):
    """What goes into the Authorization header, kept fresh."""

    async def header(self) -> str | None:
        """The header's present value; None for none (client certificate, anonymous)."""

    async def renew(self, refused: str | None) -> None:
        """Read anew, because the API server refused that value; cheap if others did so already."""


class FixedHeader:
    """A value that never changes: a token in a kubeconfig, a password, or nothing at all."""

    def __init__(self, value: str | None = None) -> None:
        self._value = value

    async def header(self) -> str | None:
        """The value."""
        return self._value

    async def renew(self, refused: str | None) -> None:
        """Nothing: there is no other place to read it from."""


class TokenFile:
    """A bearer token in a file that somebody else replaces now and then."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = monotonic) -> None:
        self._path = path
        self._clock = clock
        self._value: str | None = None
        self._read_at = 0.0
        self._lock = asyncio.Lock()

    async def header(self) -> str:
        """The token as it was in the file at most a minute ago."""
        if self._value is not None and self._clock() - self._read_at < TOKEN_LIFE:
            return self._value
        async with self._lock:
            if self._value is None or self._clock() - self._read_at >= TOKEN_LIFE:
                await self._read()
        assert self._value is not None  # noqa: S101 - for the type checker; _read sets it
        return self._value

    async def renew(self, refused: str | None) -> None:
        """Read the file now, unless it was read since that value was taken from it."""
        async with self._lock:
            if self._value == refused:
                await self._read()

    async def _read(self) -> None:
        try:
            token = (await asyncio.to_thread(self._path.read_text, "utf-8")).strip()
        except (OSError, UnicodeDecodeError) as err:
            if self._value is None:
                raise ConfigError(f"token file {self._path}: {err}") from err
            token = ""
        if token:
            self._value = f"Bearer {token}"
        elif self._value is None:
            raise ConfigError(f"token file {self._path} is empty")
        # A file that is being replaced may be gone or empty for a moment: the old token stays.
        self._read_at = self._clock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One API server and the way to it."""

    base_url: str
    tls: ssl.SSLContext | None = None
    credentials: Credentials = field(default_factory=FixedHeader)
    proxy: str | None = None
    server_name: str | None = None
    """The name to check the server's certificate for, where it is not the host of the URL."""


def tls_context(
    *, ca_file: str | None, cert_file: str | None, key_file: str | None, verify: bool = True
) -> ssl.SSLContext:
    """A client's TLS context: which CA to believe, which certificate to show."""
    context = ssl.create_default_context(cafile=ca_file)
    # Strict since Python 3.13, it refuses cluster CAs that every other client takes.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if cert_file:
        context.load_cert_chain(cert_file, key_file)
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def is_pod() -> bool:
    """Whether this process runs in a pod that knows its API server."""
    return bool(os.environ.get(SERVICE_HOST))


def in_cluster(
    *, token_file: str = str(ACCOUNT / "token"), ca_file: str = str(ACCOUNT / "ca.crt")
) -> Connection:
    """The connection of a pod, by its service account."""
    try:
        base_url = _base_url()
        if not Path(token_file).read_text("utf-8").strip():
            raise ConfigError(f"{token_file} is empty")
        context = tls_context(ca_file=ca_file, cert_file=None, key_file=None)
    except (ConfigError, OSError, ValueError) as err:
        raise ConfigError(f"in-cluster configuration: {err}") from err
    return Connection(
        base_url=base_url,
        tls=context,
        credentials=TokenFile(Path(token_file)),
        proxy=environment_proxy(base_url),
    )


def environment_proxy(base_url: str) -> str | None:
    """The proxy that the environment names for that server; None if it names none."""
    host = URL(base_url).host or ""
    return None if proxy_bypass(host) else getproxies().get(URL(base_url).scheme)


def _base_url() -> str:
    host, port = os.environ.get(SERVICE_HOST), os.environ.get(SERVICE_PORT)
    if not host or not port:
        raise ConfigError(f"{SERVICE_HOST} or {SERVICE_PORT} is not set")
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def open_session(middleware: aiohttp.ClientMiddlewareType) -> aiohttp.ClientSession:
    """A session without limits of its own; which server it is for, each request says."""
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE, socket_factory=_socket)
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": FIELD_MANAGER,
        },
        read_bufsize=LONGEST_LINE // 2,
        middlewares=(middleware,),
        trust_env=False,
    )


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """A socket on which a dead peer is noticed within 45 s (spec 22.3)."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family=family, type=kind, proto=protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE_OPTIONS.items():
        if (option := getattr(socket, name, None)) is not None:
            made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made
