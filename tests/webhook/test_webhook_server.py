"""The running server, called over real TLS as an API server calls it."""

import asyncio
import io
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from prometheus_client import CollectorRegistry
from reviews import ENABLED, NOW, UID, FakeWorld, a_job, a_review, applied, held

from kq.clock import utc_now
from kq.errors import DecodeError
from kq.metrics import Metrics
from kq.settings import Settings
from kq.tls import verify
from kq.tls.context import ServingContext
from kq.tls.issue import Pair, Profile, issue_ca, issue_serving, serving_names
from kq.webhook.listener import Listener
from kq.webhook.mutate import mutate
from kq.webhook.review import Request, Response
from kq.webhook.server import MAX_BODY, Reviews, seconds_left

NAME = "koord-queue-webhook.koord-queue.svc"
NAMES = (*serving_names("koord-queue-webhook", "koord-queue"), "127.0.0.1")
JSON = {"Content-Type": "application/json"}
HEADERS = b"POST /mutate?timeout=1s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"

hold = partial(mutate, integrations=ENABLED, world=FakeWorld(), settings=Settings(), now=NOW)


class Ignored:
    """Nobody looks at the metrics of the certificate here."""

    def loaded(self, serving_until: object, ca_until: object) -> None:
        """Nothing."""

    def refused(self) -> None:
        """Nothing."""


class Running:
    """A webhook that runs, and a client that trusts it."""

    def __init__(self, folder: Path, ca: Pair) -> None:
        self.folder = folder
        self.ca = ca
        self.registry = CollectorRegistry()
        self.serving = ServingContext(folder, name=NAME, clock=utc_now, metrics=Ignored())
        self.client = verify.client_context(ca.certificate.decode())
        self.listener: Listener
        self.session: aiohttp.ClientSession
        self.port = 0

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}/mutate?timeout=3s"

    async def post(self, body: Any, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = io.BytesIO(data)
        async with self.session.post(self.url, data=sent, headers=headers or JSON) as answer:
            return answer.status, await answer.read()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port, ssl=self.client)

    async def is_refused(self) -> bool:
        """Whether a new connection is closed before it could be used."""
        try:
            reader, writer = await self.connect()
        except (OSError, ssl.SSLError):
            return True
        writer.write(whole(a_review()))
        try:
            return await reader.read() == b""
        except (OSError, ssl.SSLError):
            return True
        finally:
            writer.close()

    async def call_once(self) -> tuple[int, bytes]:
        """A review on a connection of its own: the serial that served it, and the answer."""
        reader, writer = await self.connect()
        writer.write(whole(a_review()))
        answer = await reader.read()
        serial = int(writer.get_extra_info("peercert")["serialNumber"], 16)
        writer.close()
        return serial, answer

    def renew(self) -> int:
        """A new pair in the folder; gives its serial once it is served."""
        pair = issue_serving(self.ca, NAMES, utc_now(), Profile())
        (self.folder / "tls.crt").write_bytes(pair.certificate)
        (self.folder / "tls.key").write_bytes(pair.key)
        self.serving.poll()
        assert self.serving.served is not None
        return int(self.serving.served.serial, 16)

    def count(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(name, {"webhook": "mutate", **labels}) or 0.0


def whole(review: Any) -> bytes:
    """An HTTP request that is to be the last of its connection."""
    body = json.dumps(review).encode()
    return HEADERS + f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


Start = Callable[..., Any]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts a webhook for as long as the block runs."""

    @asynccontextmanager
    async def starting(
        answer: Callable[[Request], Response] = hold, fail_closed: bool = False, **options: Any
    ) -> AsyncIterator[Running]:
        ca = issue_ca(utc_now(), Profile())
        (tmp_path / "ca.crt").write_bytes(ca.certificate)
        running = Running(tmp_path, ca)
        running.renew()
        reviews = Reviews(
            answer,
            kinds=["Job"],
            fail_closed=fail_closed,
            metrics=Metrics(running.registry, version="test").admission,
        )
        options = {"drain_seconds": 0, "closing_seconds": 0, **options}
        running.listener = Listener(reviews, context=running.serving.context, **options)
        running.port = await running.listener.start("127.0.0.1", 0)
        connector = aiohttp.TCPConnector(ssl=running.client, limit=64)
        try:
            async with aiohttp.ClientSession(connector=connector) as running.session:
                yield running
        finally:
            await running.listener.stop()

    return starting


async def test_a_job_is_held_over_https(start: Start) -> None:
    async with start() as webhook:
        status, body = await webhook.post(a_review())
        answer = json.loads(body)
        assert status == 200
        assert answer["response"]["uid"] == UID
        assert applied(a_job(), answer) == held(a_job(), "label,pod-labels,suspend")
        requests = "kq_admission_requests_total"
        assert webhook.count(requests, kind="Job", result="patched") == 1
        assert webhook.count("kq_admission_seconds_count", kind="Job") == 1


async def test_kinds_of_strangers_share_one_series(start: Start) -> None:
    async with start() as webhook:
        for kind in ("Foo", "Bar"):
            await webhook.post(a_review(kind={"group": "x", "version": "v1", "kind": kind}))
        requests = "kq_admission_requests_total"
        assert webhook.count(requests, kind="other", result="allowed") == 2


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        pytest.param(b"{}", {"Content-Type": "text/plain"}, 415, id="text"),
        pytest.param(b"{}", {"Content-Type": ""}, 415, id="no content type"),
        pytest.param(b"", JSON, 400, id="empty"),
        pytest.param(b"{", JSON, 400, id="cut off"),
        pytest.param(b'{"kind":"Job"}', JSON, 400, id="no review"),
        pytest.param(
            a_review() | {"apiVersion": "admission.k8s.io/v1beta1"}, JSON, 400, id="v1beta1"
        ),
        pytest.param(a_review(uid=None), JSON, 400, id="no uid"),
        pytest.param(b"[" * 50_000, JSON, 400, id="deep"),
        pytest.param(b"\x1f\x8b\x08", {**JSON, "Content-Encoding": "gzip"}, 400, id="packed"),
        pytest.param(
            a_review(), {"Content-Type": "application/json; charset=utf-8"}, 200, id="charset"
        ),
    ],
)
async def test_what_is_no_review_is_refused_by_http(
    start: Start, body: Any, headers: dict[str, str], status: int
) -> None:
    async with start() as webhook:
        assert (await webhook.post(body, headers))[0] == status
        assert (await webhook.post(a_review()))[0] == 200


async def test_only_posts_to_the_path_are_answered(start: Start) -> None:
    async with start() as webhook:
        async with webhook.session.get(webhook.url) as answer:
            assert answer.status == 405
        async with webhook.session.post(f"https://127.0.0.1:{webhook.port}/x") as answer:
            assert answer.status == 404


@pytest.mark.parametrize(
    ("megabytes", "status"), [(3, 200), (6.9, 200), (7.1, 413), (8, 413)], ids=str
)
async def test_bodies_are_bounded(start: Start, megabytes: float, status: int) -> None:
    job = a_job(annotations={"big": "x" * int(megabytes * 1024 * 1024)})
    async with start() as webhook:
        assert (await webhook.post(a_review(job)))[0] == status


async def test_an_endless_body_is_cut_off(start: Start) -> None:
    async with start() as webhook:
        reader, writer = await webhook.connect()
        writer.write(HEADERS + b"Transfer-Encoding: chunked\r\n\r\n")
        chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        writer.write(chunk * 8)
        async with asyncio.timeout(5):
            assert (await reader.readline()) == b"HTTP/1.1 413 Request Entity Too Large\r\n"
        writer.close()
        assert (await webhook.post(a_review()))[0] == 200


async def test_a_half_sent_body_is_closed_at_the_deadline(start: Start) -> None:
    async with start() as webhook:
        reader, writer = await webhook.connect()
        writer.write(HEADERS + b"Content-Length: 100\r\n\r\n{")
        async with asyncio.timeout(2):
            assert await reader.read() == b""
        writer.close()


async def test_half_sent_headers_are_closed(start: Start) -> None:
    async with start(keepalive_seconds=0.1) as webhook:
        reader, writer = await webhook.connect()
        writer.write(HEADERS[:30])
        async with asyncio.timeout(2):
            assert await reader.read() == b""
        writer.close()


async def test_bodies_under_way_are_bounded_together(start: Start) -> None:
    async with start() as webhook:
        half = HEADERS + f"Content-Length: {MAX_BODY}\r\n\r\n".encode() + b"{"
        opened = [await webhook.connect() for _ in range(17)]
        for _, writer in opened:
            writer.write(half)
            await writer.drain()
        answers = await asyncio.gather(*(reader.read() for reader, _ in opened))
        assert [each[:12] for each in answers if each] == [b"HTTP/1.1 503"]
        for _, writer in opened:
            writer.close()
        assert (await webhook.post(a_review()))[0] == 200


async def test_one_connection_too_many_is_refused(start: Start) -> None:
    async with start(max_connections=1) as webhook:
        reader, writer = await webhook.connect()
        assert await webhook.is_refused()
        writer.write(whole(a_review()))
        assert (await reader.read()).startswith(b"HTTP/1.1 200 OK")
        writer.close()


async def test_a_thousand_reviews_at_once_are_all_answered(start: Start) -> None:
    async with start() as webhook:
        reviews = [a_review(uid=f"uid-{number}") for number in range(1000)]
        answers = await asyncio.gather(*(webhook.post(each) for each in reviews))
        said = [json.loads(body)["response"] for _, body in answers]
        assert [each["uid"] for each in said] == [each["request"]["uid"] for each in reviews]
        assert all("patch" in each for each in said)


def broken(error: Exception) -> Callable[[Request], Response]:
    def answer(_asked: Request) -> Response:
        raise error

    return answer


@pytest.mark.parametrize(
    ("error", "cause"),
    [(DecodeError("spec.x is y"), "spec.x is y"), (KeyError("secret"), "KeyError in answer")],
    ids=["ours", "unforeseen"],
)
async def test_a_failure_lets_the_job_through_with_a_warning(
    start: Start, error: Exception, cause: str
) -> None:
    async with start(broken(error)) as webhook:
        _, body = await webhook.post(a_review())
        said = json.loads(body)["response"]
        assert (said["uid"], said["allowed"]) == (UID, True)
        assert "patch" not in said
        assert said["warnings"] == [f"koord-queue failed, the job is not held yet: {cause}"]
        assert webhook.count("kq_admission_errors_total", kind="Job") == 1


async def test_a_failure_refuses_the_job_if_the_policy_is_fail(start: Start) -> None:
    async with start(broken(KeyError("secret")), fail_closed=True) as webhook:
        _, body = await webhook.post(a_review())
        said = json.loads(body)["response"]
        assert (said["allowed"], said["status"]["code"]) == (False, 500)
        assert said["status"]["message"] == (
            "koord-queue failed: KeyError in answer; to switch it off: "
            "kubectl delete mutatingwebhookconfiguration koord-queue"
        )
        requests = "kq_admission_requests_total"
        assert webhook.count(requests, kind="Job", result="error") == 1


async def test_an_odd_review_is_answered_as_a_failure(start: Start) -> None:
    async with start() as webhook:
        status, body = await webhook.post(a_review(object="text"))
        said = json.loads(body)["response"]
        assert (status, said["uid"], said["allowed"]) == (200, UID, True)
        assert "cannot be read" in said["warnings"][0]
        assert webhook.count("kq_admission_errors_total", kind="other") == 1


async def test_a_certificate_is_swapped_under_load_without_a_failed_handshake(
    start: Start,
) -> None:
    async with start() as webhook:
        serials, calls = [], []
        for _ in range(10):
            async with asyncio.TaskGroup() as group:
                calls += [group.create_task(webhook.call_once()) for _ in range(10)]
                await asyncio.sleep(0)
                serials.append(webhook.renew())
        answers = [each.result()[1] for each in calls]
        assert all(each.startswith(b"HTTP/1.1 200 OK") for each in answers)
        assert {each.result()[0] for each in calls} >= set(serials[:-1])
        assert (await webhook.call_once())[0] == serials[-1]


async def test_stopping_answers_what_is_in_flight_and_tells_clients_to_go(start: Start) -> None:
    async with start(closing_seconds=0.5) as webhook:
        reader, writer = await webhook.connect()
        request = whole(a_review()).replace(b"Connection: close\r\n", b"")
        writer.write(request[:-100])
        await writer.drain()
        stopping = asyncio.create_task(webhook.listener.stop())
        await asyncio.sleep(0)
        assert webhook.listener.stopping
        writer.write(request[-100:])
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"Connection: close\r\n" in answer
        assert UID.encode() in answer
        writer.close()
        await stopping
        with pytest.raises(ConnectionRefusedError):
            await webhook.connect()


async def test_no_part_of_a_broken_request_is_logged(
    start: Start, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    async with start() as webhook:
        reader, writer = await webhook.connect()
        writer.write(HEADERS + b'{"password": "secret"}\r\n\r\n')
        assert b"400 Bad Request" in await reader.readline()
        writer.close()
    assert "secret" not in caplog.text + capsys.readouterr().out


async def test_while_it_drains_new_connections_are_served(start: Start) -> None:
    async with start(drain_seconds=0.2) as webhook:
        stopping = asyncio.create_task(webhook.listener.stop())
        await asyncio.sleep(0)
        assert webhook.listener.stopping
        assert (await webhook.post(a_review()))[0] == 200
        await stopping


@pytest.mark.parametrize(
    ("timeout", "seconds"),
    [
        (None, 3.0),
        ("3s", 2.5),
        ("1s", 0.5),
        ("30s", 3.0),
        ("1m", 3.0),
        ("1500ms", 1.0),
        ("2", 1.5),
        ("0s", 0.1),
        ("x", 3.0),
        ("-5s", 3.0),
        ("9" * 40 + "s", 3.0),
    ],
)
def test_the_deadline_is_that_of_the_api_server_less_a_margin(
    timeout: str | None, seconds: float
) -> None:
    assert seconds_left(timeout) == pytest.approx(seconds)
