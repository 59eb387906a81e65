"""How this process may reach the API server: in-cluster, or by a kubeconfig.

The only module that imports kubernetes_asyncio, and only its configuration loaders.
"""

import asyncio
import os
import ssl
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import structlog
import yaml
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException
from kubernetes_asyncio.config.kube_config import (
    KubeConfigLoader,
    KubeConfigMerger,
)

from kq.clock import utc_now
from kq.errors import ConfigError
from kq.kube.connection import (
    Connection,
    Credentials,
    FixedHeader,
    TokenFile,
    environment_proxy,
    in_cluster,
    is_pod,
    tls_context,
)

log = structlog.get_logger(component="kube")

_EARLY = timedelta(seconds=60)
_RETRY = timedelta(seconds=10)
_PLUGIN_TIMEOUT = 60.0
_FOREIGN = (ConfigException, OSError, ValueError, KeyError, TypeError, AssertionError)
"""What the loaders raise for a kubeconfig that is not as it should be."""


async def load_connection(kubeconfig: str | None, context: str | None) -> Connection:
    """The connection of that kubeconfig, else of the pod we run in, else of the user's own."""
    if kubeconfig is None and context is None and is_pod():
        return in_cluster()
    paths = kubeconfig or os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    return await from_kubeconfig(paths, context)


async def from_kubeconfig(
    paths: str, context: str | None, *, clock: Callable[[], datetime] = utc_now
) -> Connection:
    """The connection of one context of a kubeconfig, or of several joined by `:`."""
    login = Login(paths, context)
    try:
        found = await login.load()
        ssl_context = _tls(found)
    except (*_FOREIGN, yaml.YAMLError, aiohttp.ClientError) as err:
        raise ConfigError(f"kubeconfig {paths}: {_why(err)}") from err
    base_url = _base_url(found)
    return Connection(
        base_url=base_url,
        tls=ssl_context,
        credentials=login.credentials(found, ssl_context, clock),
        proxy=found.proxy or environment_proxy(base_url),
        server_name=found.tls_server_name,
    )


def _merged(paths: str) -> KubeConfigMerger:
    """What all files together say; those that are missing are passed over, but one."""
    if not any(Path(each).expanduser().exists() for each in paths.split(os.pathsep)):
        raise ConfigException("no such file")
    return KubeConfigMerger(paths)


def _why(err: Exception) -> str:
    """What is wrong with a kubeconfig, where the loaders only stumble over it."""
    match err:
        case TypeError() | KeyError() | AssertionError():
            return "it has no clusters, users and contexts that name one another"
        case OSError(strerror=str(text)):
            return text
        case _:
            return str(err) or type(err).__name__


class Login:
    """One user of a kubeconfig, logged in as often as wanted."""

    def __init__(self, paths: str, context: str | None) -> None:
        self._paths = paths
        self._context = context
        self._user: Any = {}
        self.expires_at: datetime | None = None

    async def load(self) -> Configuration:
        """What the files, and the plugin they name, say now."""
        merger = _merged(self._paths)
        loader = KubeConfigLoader(
            config_dict=merger.config,
            active_context=self._context,
            config_base_path=None,
            config_persister=merger.save_changes,
        )
        found = Configuration()
        async with asyncio.timeout(_PLUGIN_TIMEOUT):
            await loader.load_and_set(found)
        self._user = _user(merger, loader)
        self.expires_at = getattr(loader, "exec_plugin_expiry", None)
        return found

    def credentials(
        self,
        found: Configuration,
        context: ssl.SSLContext | None,
        clock: Callable[[], datetime],
    ) -> Credentials:
        """The fresh-keeping of what was found, as its kind needs it."""
        if "exec" in self._user or "auth-provider" in self._user:
            return LoginCredentials(self, found, context, clock)
        header = found.api_key.get("BearerToken")
        if header and "tokenFile" in self._user and "token" not in self._user:
            beside = Path(self._user.path or self._paths).parent
            return TokenFile(beside / self._user["tokenFile"])
        return FixedHeader(header)

    def good_until(self, now: datetime) -> datetime | None:
        """When to log in again before being refused; None if only a refusal tells."""
        if self.expires_at is not None:
            left = max(self.expires_at - now, _RETRY)
            return now + max(left - _EARLY, left / 2)
        # An auth-provider's loader looks at its token's expiry itself, on each load.
        return now + _EARLY if "auth-provider" in self._user else None


class LoginCredentials:
    """A token from a plugin or an auth-provider: got again before it expires, or when refused."""

    def __init__(
        self,
        login: Login,
        found: Configuration,
        context: ssl.SSLContext | None,
        clock: Callable[[], datetime],
    ) -> None:
        self._login = login
        self._value: str | None = found.api_key.get("BearerToken")
        self._context = context
        self._clock = clock
        self._again_at = login.good_until(clock())
        self._lock = asyncio.Lock()

    async def header(self) -> str | None:
        """The token, got again if it is about to expire."""
        if self._is_due():
            async with self._lock:
                if self._is_due():
                    await self._load()
        return self._value

    async def renew(self, refused: str | None) -> None:
        """Log in again, unless somebody did since that value was handed out."""
        async with self._lock:
            if self._value == refused:
                await self._load()

    def _is_due(self) -> bool:
        return self._again_at is not None and self._clock() >= self._again_at

    async def _load(self) -> None:
        try:
            found = await self._login.load()
            if self._context is not None and found.cert_file:
                self._context.load_cert_chain(found.cert_file, found.key_file)
        except (*_FOREIGN, yaml.YAMLError, aiohttp.ClientError) as err:
            # What we have may still be good; the API server says so if it is not.
            log.warning("login failed", error=str(err))
            self._again_at = self._clock() + _RETRY
            return
        self._value = found.api_key.get("BearerToken")
        self._again_at = self._login.good_until(self._clock())


def _user(merger: KubeConfigMerger, loader: KubeConfigLoader) -> Any:
    name = ((loader.current_context or {}).get("context") or {}).get("user")
    users = merger.config["users"] if merger.config is not None and name else None
    found = users.get_with_name(name, safe=True) if users else None
    return found["user"] if found is not None and found.safe_get("user") else {}


def _base_url(found: Configuration) -> str:
    return (found.host or "").rstrip("/")


def _tls(found: Configuration) -> ssl.SSLContext | None:
    if not _base_url(found).startswith("https"):
        return None
    return tls_context(
        ca_file=found.ssl_ca_cert,
        cert_file=found.cert_file,
        key_file=found.key_file,
        verify=found.verify_ssl,
    )
