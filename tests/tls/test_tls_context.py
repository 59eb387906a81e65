import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from kq.clock import utc_now
from kq.errors import TlsError
from kq.tls import verify
from kq.tls.context import ServingContext
from kq.tls.issue import Pair, Profile, issue_ca, issue_serving, serving_names

NAME = "q-webhook.q-system.svc"
NAMES = serving_names("q-webhook", "q-system")


@dataclass
class Counted:
    loads: int = 0
    refusals: int = 0
    until: list[datetime] = field(default_factory=list)

    def loaded(self, serving_until: datetime, ca_until: datetime) -> None:
        self.loads += 1
        self.until = [serving_until, ca_until]

    def refused(self) -> None:
        self.refusals += 1


@dataclass
class Clock:
    now: datetime = field(default_factory=utc_now)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def ca() -> Pair:
    return issue_ca(utc_now(), Profile())


@pytest.fixture
def metrics() -> Counted:
    return Counted()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def serving(tmp_path: Path, clock: Clock, metrics: Counted) -> ServingContext:
    return ServingContext(tmp_path, name=NAME, clock=clock, metrics=metrics, poll_seconds=0.01)


def pair(ca: Pair, names: tuple[str, ...] = NAMES, days_ago: int = 0) -> Pair:
    return issue_serving(ca, names, utc_now() - timedelta(days=days_ago), Profile())


def put(folder: Path, ca: Pair, serving: Pair) -> None:
    (folder / "ca.crt").write_bytes(ca.certificate)
    (folder / "tls.crt").write_bytes(serving.certificate)
    (folder / "tls.key").write_bytes(serving.key)


@asynccontextmanager
async def echo(serving: ServingContext) -> AsyncIterator[int]:
    """A server on that context that says hello and stays."""

    async def hello(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello\n")
        await _reader.read()
        writer.close()

    server = await asyncio.start_server(hello, "127.0.0.1", 0, ssl=serving.context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def call(port: int, ca: Pair, **options: object) -> ssl.SSLObject:
    """The connection of a client that trusts the CA; closed once it is up."""
    client = verify.client_context(ca.certificate.decode())
    for name, value in options.items():
        setattr(client, name, value)
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=client, server_hostname=NAME
    )
    assert await reader.readline() == b"hello\n"
    connection: ssl.SSLObject = writer.get_extra_info("ssl_object")
    writer.close()
    return connection


async def test_a_verified_pair_is_served(
    tmp_path: Path, serving: ServingContext, ca: Pair, metrics: Counted
) -> None:
    put(tmp_path, ca, pair(ca))
    assert serving.poll()
    assert not serving.poll()
    assert serving.problem is None
    assert metrics.loads == 1
    assert serving.served is not None
    async with echo(serving) as port:
        connection = await call(port, ca)
        assert connection.version() == "TLSv1.3"
        assert connection.selected_alpn_protocol() == "http/1.1"
        older = await call(port, ca, maximum_version=ssl.TLSVersion.TLSv1_2)
        assert older.version() == "TLSv1.2"
        assert older.selected_alpn_protocol() == "http/1.1"
        assert await serving.verifies("127.0.0.1", port)


async def test_a_client_without_a_name_is_served_too(
    tmp_path: Path, serving: ServingContext, ca: Pair
) -> None:
    put(tmp_path, ca, pair(ca, (*NAMES, "127.0.0.1")))
    serving.poll()
    async with echo(serving) as port:
        client = verify.client_context(ca.certificate.decode())
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client)
        assert await reader.readline() == b"hello\n"
        writer.close()


async def test_nothing_is_served_before_a_pair_is_there(
    tmp_path: Path, serving: ServingContext, ca: Pair, metrics: Counted
) -> None:
    assert not serving.poll()
    assert not serving.poll()
    assert serving.problem == "tls.crt cannot be read: No such file or directory"
    assert metrics.refusals == 1
    async with echo(serving) as port:
        assert not await serving.verifies("127.0.0.1", port)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await call(port, ca)
        put(tmp_path, ca, pair(ca))
        assert serving.poll()
        await call(port, ca)


async def test_a_new_pair_serves_new_connections_and_open_ones_go_on(
    tmp_path: Path, serving: ServingContext, ca: Pair
) -> None:
    first, second = pair(ca), pair(ca)
    put(tmp_path, ca, first)
    serving.poll()
    async with echo(serving) as port:
        client = verify.client_context(ca.certificate.decode())
        _, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=client, server_hostname=NAME
        )
        put(tmp_path, ca, second)
        assert serving.poll()
        connection = await call(port, ca)
        assert connection.getpeercert(binary_form=True) == der(second)
        assert writer.get_extra_info("ssl_object").getpeercert(binary_form=True) == der(first)
        assert not writer.transport.is_closing()
        writer.close()


def der(pair: Pair) -> bytes:
    return ssl.PEM_cert_to_DER_cert(pair.certificate.decode())


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        pytest.param("tls.crt", "other certificate", "tls.crt and tls.key are no pair", id="half"),
        pytest.param("tls.crt", "truncated", "tls.crt holds no certificate", id="truncated"),
        pytest.param("tls.key", "", "tls.crt and tls.key are no pair", id="empty key"),
        pytest.param("ca.crt", "other ca", "does not verify", id="another CA"),
        pytest.param("ca.crt", None, "ca.crt cannot be read", id="CA missing"),
    ],
)
async def test_a_broken_pair_is_refused_once_and_the_old_one_serves_on(
    tmp_path: Path, file: str, content: str | None, reason: str
) -> None:
    ca, metrics = issue_ca(utc_now(), Profile()), Counted()
    serving = ServingContext(tmp_path, name=NAME, clock=utc_now, metrics=metrics)
    first = pair(ca)
    put(tmp_path, ca, first)
    serving.poll()
    contents = {
        "other certificate": pair(ca).certificate,
        "truncated": first.certificate[:100],
        "": b"",
        "other ca": issue_ca(utc_now(), Profile()).certificate,
    }
    if content is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_bytes(contents[content])
    with pytest.raises(TlsError, match=reason):
        verify.load(tmp_path, NAME, utc_now())
    assert not serving.poll()
    assert not serving.poll()
    assert (metrics.loads, metrics.refusals) == (1, 1)
    assert serving.problem is None
    async with echo(serving) as port:
        assert (await call(port, ca)).getpeercert(binary_form=True) == der(first)


@pytest.mark.parametrize(
    ("names", "days_ago", "reason"),
    [
        pytest.param(NAMES, 91, "tls.crt expired", id="expired"),
        pytest.param(NAMES, -1, "tls.crt is not valid before", id="not yet valid"),
        pytest.param(("other.svc",), 0, "does not verify for q-webhook", id="wrong names"),
    ],
)
def test_a_pair_that_no_client_would_take_is_refused(
    tmp_path: Path, ca: Pair, names: tuple[str, ...], days_ago: int, reason: str
) -> None:
    put(tmp_path, ca, pair(ca, names, days_ago))
    with pytest.raises(TlsError, match=reason):
        verify.load(tmp_path, NAME, utc_now())


def test_a_ca_cannot_be_served(tmp_path: Path, ca: Pair) -> None:
    put(tmp_path, ca, ca)
    with pytest.raises(TlsError, match="does not verify"):
        verify.load(tmp_path, NAME, utc_now())


def test_while_a_ca_is_replaced_the_bundle_holds_two(tmp_path: Path, ca: Pair) -> None:
    expired = issue_ca(utc_now() - timedelta(days=731), Profile())
    put(tmp_path, ca, pair(ca))
    (tmp_path / "ca.crt").write_bytes(expired.certificate + ca.certificate)
    served = verify.load(tmp_path, NAME, utc_now())
    assert served.ca_not_after > utc_now()


def test_a_pair_that_expires_while_served_is_a_problem(
    tmp_path: Path, serving: ServingContext, ca: Pair, clock: Clock
) -> None:
    put(tmp_path, ca, pair(ca))
    serving.poll()
    clock.now += timedelta(days=91)
    assert serving.problem is not None
    assert serving.problem.startswith("tls.crt expired at")


def test_files_are_read_of_one_version_where_kubelet_swaps_a_link(
    tmp_path: Path, serving: ServingContext, ca: Pair
) -> None:
    for version in ("..1", "..2"):
        (tmp_path / version).mkdir()
        put(tmp_path / version, ca, pair(ca))
    data = tmp_path / "..data"
    data.symlink_to("..1")
    for file in ("tls.crt", "tls.key", "ca.crt"):
        (tmp_path / file).symlink_to(f"..data/{file}")
    assert serving.poll()
    (tmp_path / "..new").symlink_to("..2")
    (tmp_path / "..new").replace(data)
    assert serving.poll()


async def test_files_are_looked_at_again_and_again(
    tmp_path: Path, serving: ServingContext, ca: Pair
) -> None:
    loaded = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Noticed(Counted):
        def loaded(self, serving_until: datetime, ca_until: datetime) -> None:
            loop.call_soon_threadsafe(loaded.set)

    watched = ServingContext(
        tmp_path, name=NAME, clock=utc_now, metrics=Noticed(), poll_seconds=0.01
    )
    running = asyncio.create_task(watched.run())
    put(tmp_path, ca, pair(ca))
    async with asyncio.timeout(5):
        await loaded.wait()
        loaded.clear()
        put(tmp_path, ca, pair(ca))
        await loaded.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


def test_an_encrypted_key_is_refused_without_asking(tmp_path: Path, ca: Pair) -> None:
    serving = pair(ca)
    put(tmp_path, ca, serving)
    key = serialization.load_pem_private_key(serving.key, None)
    encrypted = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    (tmp_path / "tls.key").write_bytes(encrypted)
    with pytest.raises(TlsError, match="no pair"):
        verify.load(tmp_path, NAME, utc_now())
