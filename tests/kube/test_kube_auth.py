"""Ways to the API server: kubeconfigs, certificates, plugins, and the pod's own token."""

import base64
import json
import ssl
import stat
from collections.abc import Callable
from datetime import datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from fake_api import FakeApi, answer, serving

from kq.clock import utc_now
from kq.core.kinds import JOB
from kq.errors import ConfigError
from kq.kube.auth import from_kubeconfig, load_connection
from kq.kube.client import Client
from kq.kube.connection import Connection, TokenFile, in_cluster
from kq.kube.errors import Indeterminate, NotFound, Unreachable


class Pair:
    """A certificate and its key, signed by another pair or by itself."""

    def __init__(self, name: str, issuer: "Pair | None" = None) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        signer = issuer or self
        now = utc_now()
        self.certificate = (
            x509.CertificateBuilder()
            .subject_name(self.subject)
            .issuer_name(signer.subject)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), True)
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), False
            )
            .sign(signer.key, hashes.SHA256())
        )

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )


def base64_text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def kubeconfig(path: Path, server: str, user: dict[str, Any], **cluster: Any) -> str:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u"}},
            {"name": "anonymous", "context": {"cluster": "c", "user": ""}},
        ],
    }
    path.write_text(yaml.safe_dump(content))
    return str(path)


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., str]:
    def write(user: dict[str, Any], server: str = "http://127.0.0.1:1", **cluster: Any) -> str:
        return kubeconfig(tmp_path / "config", server, user, **cluster)

    return write


def server_context(ca: Pair, tmp_path: Path, *, is_mutual: bool) -> ssl.SSLContext:
    serving_pair = Pair("server", ca)
    (tmp_path / "server.pem").write_bytes(serving_pair.pem + serving_pair.key_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    if is_mutual:
        context.load_verify_locations(cadata=ca.pem.decode())
        context.verify_mode = ssl.CERT_REQUIRED
    return context


async def test_a_client_certificate_of_a_kubeconfig_is_shown_and_the_ca_believed(
    config: Callable[..., str], tmp_path: Path
) -> None:
    ca = Pair("ca")
    us = Pair("koord-queue", ca)
    user = {
        "client-certificate-data": base64_text(us.pem),
        "client-key-data": base64_text(us.key_pem),
    }
    api = FakeApi()
    api.put("jobs", "a")
    async with serving(api, server_context(ca, tmp_path, is_mutual=True)):
        trusting = {"certificate-authority-data": base64_text(ca.pem)}
        connection = await load_connection(config(user, api.url, **trusting), None)
        async with Client(connection) as client:
            assert (await client.get(JOB, "a", "ns"))["metadata"]["name"] == "a"
        stranger = await load_connection(config({}, api.url, **trusting), None)
        async with Client(stranger, uniform=lambda low, high: 0) as client:
            with pytest.raises((Indeterminate, Unreachable)):
                await client.get(JOB, "a", "ns")


async def test_a_server_of_another_ca_is_not_believed(
    config: Callable[..., str], tmp_path: Path
) -> None:
    api = FakeApi()
    async with serving(api, server_context(Pair("ca"), tmp_path, is_mutual=False)):
        other = {"certificate-authority-data": base64_text(Pair("other").pem)}
        connection = await load_connection(config({}, api.url, **other), None)
        async with Client(connection, uniform=lambda low, high: 0) as client:
            with pytest.raises(Unreachable, match="certificate"):
                await client.get(JOB, "a", "ns")
        careless = config({}, api.url, **{"insecure-skip-tls-verify": True})
        async with Client(await load_connection(careless, None)) as client:
            with pytest.raises(NotFound):
                await client.get(JOB, "a", "ns")


async def test_a_name_to_check_the_server_for_is_taken_from_the_kubeconfig(
    config: Callable[..., str], tmp_path: Path
) -> None:
    ca = Pair("ca")
    api = FakeApi()
    async with serving(api, server_context(ca, tmp_path, is_mutual=False)):
        cluster = {
            "certificate-authority-data": base64_text(ca.pem),
            "tls-server-name": "elsewhere.example",
        }
        connection = await load_connection(config({}, api.url, **cluster), None)
        async with Client(connection, uniform=lambda low, high: 0) as client:
            with pytest.raises(Unreachable, match=r"elsewhere\.example"):
                await client.get(JOB, "a", "ns")


async def test_a_token_and_a_proxy_of_a_kubeconfig_are_used(config: Callable[..., str]) -> None:
    path = config({"token": "t0"}, **{"proxy-url": "http://proxy.example:3128"})
    connection = await from_kubeconfig(path, None)
    assert await connection.credentials.header() == "Bearer t0"
    assert connection.proxy == "http://proxy.example:3128"
    assert connection.base_url == "http://127.0.0.1:1"
    assert connection.tls is None


async def test_a_password_of_a_kubeconfig_is_used(config: Callable[..., str]) -> None:
    connection = await from_kubeconfig(config({"username": "me", "password": "x"}), None)
    assert await connection.credentials.header() == f"Basic {base64_text(b'me:x')}"


async def test_a_context_by_name_is_used(config: Callable[..., str]) -> None:
    connection = await from_kubeconfig(config({"token": "t0"}), "anonymous")
    assert await connection.credentials.header() is None


async def test_the_variable_kubeconfig_is_followed(
    config: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("KUBECONFIG", config({"token": "t0"}))
    connection = await load_connection(None, None)
    assert await connection.credentials.header() == "Bearer t0"


async def test_a_proxy_of_the_environment_is_used_but_for_hosts_that_are_excluded(
    config: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "10.0.0.1")
    far = await from_kubeconfig(config({}, "https://api.example"), None)
    near = await from_kubeconfig(config({}, "https://10.0.0.1"), None)
    assert (far.proxy, near.proxy) == ("http://proxy.example:3128", None)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("", id="empty"),
        pytest.param("a: [", id="no yaml"),
        pytest.param("current-context: x\ncontexts: []\nclusters: []\n", id="no context"),
        pytest.param("[]", id="a list"),
        pytest.param(
            "clusters: [{name: a, cluster: {server: 'https://x'}}]\nusers: []\ncurrent-context: c\n"
            "contexts: [{name: c, context: {cluster: a, user: nobody}}]\n",
            id="no such user",
        ),
    ],
)
async def test_a_bad_kubeconfig_is_a_config_error_that_names_it(
    tmp_path: Path, content: str
) -> None:
    (tmp_path / "config").write_text(content)
    with pytest.raises(ConfigError, match=str(tmp_path / "config")) as caught:
        await load_connection(str(tmp_path / "config"), None)
    assert "NoneType" not in str(caught.value)
    assert "indices" not in str(caught.value)


async def test_a_missing_kubeconfig_is_a_config_error(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ConfigError, match="kubeconfig /nowhere/config: no such file"):
        await load_connection("/nowhere/config", None)
    assert caplog.text == ""


def plugin(tmp_path: Path, expires_in: timedelta | None) -> dict[str, Any]:
    """A user whose plugin gives token t1, then t2, and so on."""
    status = {"token": "t$n"}
    if expires_in is not None:
        status["expirationTimestamp"] = (utc_now() + expires_in).strftime("%Y-%m-%dT%H:%M:%SZ")
    version = "client.authentication.k8s.io/v1"
    said = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})
    script = tmp_path / "plugin"
    script.write_text(
        f"#!/bin/sh\necho x >> {tmp_path}/runs\nn=$(wc -l < {tmp_path}/runs)\n"
        f"cat <<END\n{said}\nEND\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": version, "command": str(script)}}


class Clock:
    def __init__(self) -> None:
        self.now = utc_now()

    def __call__(self) -> datetime:
        return self.now


async def test_a_plugins_token_is_kept_until_it_is_about_to_expire(
    config: Callable[..., str], tmp_path: Path
) -> None:
    clock = Clock()
    path = config(plugin(tmp_path, timedelta(hours=1)))
    credentials = (await from_kubeconfig(path, None, clock=clock)).credentials
    clock.now += timedelta(minutes=58)
    assert await credentials.header() == "Bearer t1"
    clock.now += timedelta(minutes=1, seconds=30)
    assert await credentials.header() == "Bearer t2"


async def test_a_plugins_token_without_expiry_is_got_again_only_when_refused(
    config: Callable[..., str], tmp_path: Path
) -> None:
    clock = Clock()
    path = config(plugin(tmp_path, None))
    credentials = (await from_kubeconfig(path, None, clock=clock)).credentials
    clock.now += timedelta(days=9)
    assert await credentials.header() == "Bearer t1"
    await credentials.renew("Bearer t1")
    await credentials.renew("Bearer t1")
    assert await credentials.header() == "Bearer t2"


async def test_a_plugin_that_fails_later_leaves_the_old_token(
    config: Callable[..., str], tmp_path: Path
) -> None:
    credentials = (await from_kubeconfig(config(plugin(tmp_path, None)), None)).credentials
    (tmp_path / "plugin").write_text("#!/bin/sh\nexit 3\n")
    await credentials.renew("Bearer t1")
    assert await credentials.header() == "Bearer t1"


async def test_a_plugin_that_fails_at_first_is_a_config_error(
    config: Callable[..., str], tmp_path: Path
) -> None:
    user = plugin(tmp_path, None)
    (tmp_path / "plugin").write_text("#!/bin/sh\necho no login >&2\nexit 3\n")
    with pytest.raises(ConfigError, match="no login"):
        await from_kubeconfig(config(user), None)


async def test_a_plugins_client_certificate_is_shown(
    config: Callable[..., str], tmp_path: Path
) -> None:
    ca = Pair("ca")
    user = plugin(tmp_path, None)
    us = Pair("koord-queue", ca)
    said = {
        "apiVersion": user["exec"]["apiVersion"],
        "kind": "ExecCredential",
        "status": {
            "clientCertificateData": us.pem.decode(),
            "clientKeyData": us.key_pem.decode(),
        },
    }
    (tmp_path / "said").write_text(json.dumps(said))
    (tmp_path / "plugin").write_text(f"#!/bin/sh\ncat {tmp_path}/said\n")
    api = FakeApi()
    api.put("jobs", "a")
    async with serving(api, server_context(ca, tmp_path, is_mutual=True)):
        trusting = {"certificate-authority-data": base64_text(ca.pem)}
        connection = await from_kubeconfig(config(user, api.url, **trusting), None)
        async with Client(connection) as client:
            await connection.credentials.renew(None)
            assert await client.get(JOB, "a", "ns")


async def test_a_token_file_of_a_kubeconfig_is_looked_for_beside_it_and_read_again(
    config: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("t1\n")
    credentials = (await from_kubeconfig(config({"tokenFile": "token"}), None)).credentials
    assert await credentials.header() == "Bearer t1"
    (tmp_path / "token").write_text("t2")
    await credentials.renew("Bearer t1")
    assert await credentials.header() == "Bearer t2"


class Seconds:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_a_token_file_is_read_again_each_minute(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", Seconds()
    path.write_text("t1\n")
    tokens = TokenFile(path, clock=clock)
    assert await tokens.header() == "Bearer t1"
    path.write_text("t2\n")
    clock.now = 59
    assert await tokens.header() == "Bearer t1"
    clock.now = 60
    assert await tokens.header() == "Bearer t2"


async def test_a_token_file_that_is_gone_for_a_moment_leaves_the_old_token(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", Seconds()
    path.write_text("t1")
    tokens = TokenFile(path, clock=clock)
    await tokens.header()
    for content in (None, ""):
        clock.now += 61
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_text(content)
        assert await tokens.header() == "Bearer t1"


@pytest.mark.parametrize("content", [None, " \n"], ids=["missing", "empty"])
async def test_without_any_token_nothing_is_sent(
    api: FakeApi, tmp_path: Path, content: str | None
) -> None:
    if content is not None:
        (tmp_path / "token").write_text(content)
    tokens = TokenFile(tmp_path / "token")
    connection = Connection(base_url=api.url, credentials=tokens)
    async with Client(connection, uniform=lambda low, high: 0) as client:
        with pytest.raises(Unreachable, match="no credentials"):
            await client.get(JOB, "a", "ns")
    assert api.seen == []


async def test_a_pod_uses_its_service_account_and_reads_a_refused_token_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ca = Pair("ca")
    (tmp_path / "ca.crt").write_bytes(ca.pem)
    token = tmp_path / "token"
    token.write_text("t1")
    api = FakeApi()
    api.put("jobs", "a")
    api.fail(answer(401), times=9, on=lambda seen: seen.headers["Authorization"] == "Bearer t1")
    async with serving(api, server_context(ca, tmp_path, is_mutual=False)):
        host, port = api.url.removeprefix("https://").split(":")
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
        connection = in_cluster(token_file=str(token), ca_file=str(tmp_path / "ca.crt"))
        assert connection.base_url == api.url
        async with Client(connection) as client:
            assert await connection.credentials.header() == "Bearer t1"
            token.write_text("t2")
            assert await client.get(JOB, "a", "ns")
    assert [seen.headers["Authorization"] for seen in api.seen] == ["Bearer t1", "Bearer t2"]


@pytest.mark.parametrize(
    ("host", "url"),
    [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")],
    ids=["IPv4", "IPv6"],
)
def test_a_pod_finds_its_api_server_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: str, url: str
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    (tmp_path / "ca.crt").write_bytes(Pair("ca").pem)
    (tmp_path / "token").write_text("t1\n")
    connection = in_cluster(token_file=str(tmp_path / "token"), ca_file=str(tmp_path / "ca.crt"))
    assert connection.base_url == url


@pytest.mark.parametrize("port", ["", "443"], ids=["no port", "no files"])
async def test_a_pod_without_what_it_needs_gets_a_config_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, port: str
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    with pytest.raises(ConfigError, match="in-cluster"):
        in_cluster(token_file=str(tmp_path / "token"), ca_file=str(tmp_path / "ca.crt"))


@pytest.mark.parametrize("missing", ["token", "ca.crt"])
def test_a_pod_with_an_empty_file_gets_a_config_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: str
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    (tmp_path / "ca.crt").write_bytes(Pair("ca").pem)
    (tmp_path / "token").write_text("t1")
    (tmp_path / missing).write_text("")
    with pytest.raises(ConfigError, match="in-cluster"):
        in_cluster(token_file=str(tmp_path / "token"), ca_file=str(tmp_path / "ca.crt"))
