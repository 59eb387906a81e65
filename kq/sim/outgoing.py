"""Calls of webhooks over TLS, as the API server makes them, and what their failures are called."""

import asyncio
import base64
import binascii
import ssl
from collections.abc import Callable
from io import BytesIO
from types import TracebackType
from typing import Self

import aiohttp

from kq.errors import TlsError
from kq.sim.admit.hooks import Hook
from kq.sim.admit.webhooks import CallFailed
from kq.tls.verify import client_context

RETRIES = 10
_HEADERS = {
    "User-Agent": "kube-apiserver-admission",
    "Content-Type": "application/json",
    "Accept": "application/json, */*",
}
_EXPIRED, _NOT_YET = 10, 9
_OTHER_NAMES = (62, 64)
_MEANINGS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: (
        "the server was unable to return a response in the time allotted, but may still be"
        " processing the request"
    ),
}
Place = Callable[[str, str, int], tuple[str, int] | None]
"""Where a Service really is, by namespace, name and port; None if nowhere."""


def no_services(namespace: str, name: str, port: int) -> None:
    """Where Services are in a cluster without any."""


class HttpsCaller:
    """Calls webhooks by their URL, or where their Service is; open it as a context."""

    def __init__(self, *, services: Place = no_services) -> None:
        self._services = services
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(headers=_HEADERS)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def call(self, hook: Hook, body: bytes) -> bytes:
        """The body of the answer to a review; CallFailed, in the real server's words, if none."""
        if self._session is None:
            raise CallFailed("the caller is not open")
        try:
            return await self._call(self._session, hook, body)
        except aiohttp.ClientError as err:
            raise CallFailed(f'Post "{hook.url()}": {_reason(err)}') from err

    async def _call(self, session: aiohttp.ClientSession, hook: Hook, body: bytes) -> bytes:
        address, name = self._address(hook)
        context = self._context(str(hook.client.get("caBundle") or ""))
        for _ in range(RETRIES):
            async with session.post(
                address, data=BytesIO(body), ssl=context, server_hostname=name
            ) as response:
                answer = await response.read()
                wait = response.headers.get("Retry-After", "")
                if not (wait.isdigit() and (response.status == 429 or response.status >= 500)):
                    break
            await asyncio.sleep(int(wait))
        return _checked(response, answer)

    def _address(self, hook: Hook) -> tuple[str, str | None]:
        """Where to call, and the name that the certificate has to have if it is another one."""
        service = hook.client.get("service")
        if not service:
            return hook.url(), None
        namespace, name = str(service["namespace"]), str(service["name"])
        found = self._services(namespace, name, int(service.get("port", 443)))
        if found is None:
            raise CallFailed(f'Post "{hook.url()}": service "{name}" not found')
        host, port = found
        path = str(service.get("path") or "/")
        address = f"https://{host}:{port}{path}?timeout={hook.timeout:.0f}s"
        return address, f"{name}.{namespace}.svc"

    def _context(self, bundle: str) -> ssl.SSLContext:
        """What is trusted: the bundle alone, or what the system trusts if there is none."""
        if bundle not in self._contexts:
            self._contexts[bundle] = _trusting(bundle)
        return self._contexts[bundle]


def _trusting(bundle: str) -> ssl.SSLContext:
    if not bundle:
        return ssl.create_default_context()
    try:
        return client_context(base64.b64decode(bundle).decode())
    except (TlsError, binascii.Error, UnicodeDecodeError) as err:
        raise CallFailed(
            "could not get REST client: unable to load root certificates: unable to parse bytes as"
            " PEM block"
        ) from err


def _checked(response: aiohttp.ClientResponse, answer: bytes) -> bytes:
    status = response.status
    if 200 <= status < 300:
        if answer:
            return answer
        kind = response.headers.get("Content-Type") or "application/json"
        raise CallFailed(f"0-length response with status code: {status} and content type: {kind}")
    said = answer.decode("utf-8", "replace").strip()
    if status == 403 and said:
        raise CallFailed(said)
    if status in _MEANINGS:
        raise CallFailed(_MEANINGS[status])
    if status >= 500:
        text = said.replace("\\", "\\\\").replace('"', '\\"')
        raise CallFailed(
            f'an error on the server ("{text}") has prevented the request from succeeding'
        )
    raise CallFailed(
        f"the server responded with the status code {status} but did not return more information"
    )


def _reason(err: aiohttp.ClientError) -> str:
    """What the real server calls a call that did not come about."""
    match err:
        case aiohttp.ClientConnectorCertificateError():
            return f"tls: failed to verify certificate: x509: {_distrust(err)}"
        case aiohttp.ClientConnectorSSLError():
            return "http: server gave HTTP response to HTTPS client"
        case aiohttp.ClientConnectorDNSError():
            return f"dial tcp: lookup {err.host}: no such host"
        case aiohttp.ClientConnectorError():
            what = "connection refused" if isinstance(err.os_error, ConnectionRefusedError) else ""
            return f"dial tcp {err.host}:{err.port}: connect: {what or err.os_error.strerror}"
        case aiohttp.ServerDisconnectedError():
            return "EOF"
        case _:
            return str(err) or type(err).__name__


def _distrust(err: aiohttp.ClientConnectorCertificateError) -> str:
    found = err.certificate_error
    code = getattr(found, "verify_code", 0)
    if code in (_EXPIRED, _NOT_YET):
        return "certificate has expired or is not yet valid"
    if code not in _OTHER_NAMES:
        return "certificate signed by unknown authority"
    if err.host.replace(".", "").isdigit():
        return f"cannot validate certificate for {err.host} because it doesn't contain any IP SANs"
    return f"certificate is not valid for any names, but wanted to match {err.host}"
