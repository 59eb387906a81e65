"""What bounds the listener, and how it ends: over real TLS, on both event loops."""

import asyncio

import pytest
from https import HEADERS, Start, whole
from reviews import UID, a_job, a_review

from kq.webhook.connection import Patience
from kq.webhook.http import MAX_BODY
from kq.webhook.review import Request, Response, denied


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
            assert (await reader.readline()) == b"HTTP/1.1 408 Request Timeout\r\n"
            assert (await reader.read()).endswith(b"body did not arrive in time")
        writer.close()


async def test_half_sent_headers_are_closed(start: Start) -> None:
    async with start(patience=Patience(head=0.1)) as webhook:
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
        statuses = sorted(each[9:12] for each in answers)
        assert statuses == [b"408"] * 16 + [b"503"]
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
        await asyncio.sleep(0)  # it begins,
        await asyncio.sleep(0)  # and the drain of no seconds is over
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


async def test_a_peer_that_never_shakes_hands_is_closed(start: Start) -> None:
    async with start(handshake_seconds=0.1) as webhook:
        reader, writer = await asyncio.open_connection("127.0.0.1", webhook.port)
        async with asyncio.timeout(2):
            assert await reader.read() == b""
        writer.close()


async def asks_for_ever(writer: asyncio.StreamWriter) -> None:
    request = whole(a_review()).replace(b"Connection: close\r\n", b"")
    while True:
        writer.write(request * 50)
        await writer.drain()


async def test_a_peer_that_only_asks_is_cut_off(start: Start) -> None:
    def answer(asked: Request) -> Response:
        return denied(asked.uid, "x" * 10_000)

    async with start(answer, patience=Patience(stalled=0.1)) as webhook:
        _, writer = await webhook.connect()
        async with asyncio.timeout(10):
            with pytest.raises(ConnectionError):
                await asks_for_ever(writer)
        writer.close()
        assert (await webhook.post(a_review()))[0] == 200


async def test_stopping_does_not_wait_for_a_peer_that_only_began(start: Start) -> None:
    async with start(shutdown_seconds=0.1) as webhook:
        reader, writer = await webhook.connect()
        writer.write(HEADERS)
        await writer.drain()
        await webhook.listener.stop()
        assert await reader.read() == b""
        writer.close()


async def test_stopping_says_good_bye_to_idle_peers(start: Start) -> None:
    async with start() as webhook:
        reader, writer = await webhook.connect()
        await webhook.post(a_review())
        await webhook.listener.stop()
        async with asyncio.timeout(2):
            assert await reader.read() == b""
        writer.close()


async def test_requests_in_one_segment_are_answered_in_order(start: Start) -> None:
    async with start() as webhook:
        reader, writer = await webhook.connect()
        first, last = whole(a_review(uid="uid-1")), whole(a_review(uid="uid-2"))
        writer.write(first.replace(b"Connection: close\r\n", b"") + last)
        answers = (await reader.read()).split(b"HTTP/1.1 200 OK\r\n")
        assert [each in one for each, one in zip((b"uid-1", b"uid-2"), answers[1:], strict=True)]
        writer.close()
