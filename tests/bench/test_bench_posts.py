"""Requests as bytes, answers out of what arrives, and both over a socket."""

import asyncio
import ssl

import pytest

from bench.failure import BenchError
from bench.posts import Answer, Post, Target, whole

PLAIN = b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n{ } "
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{ } \r\n0\r\n\r\n"
EMPTY = b"HTTP/1.1 204 No Content\r\nDate: now\r\n\r\n"


@pytest.mark.parametrize(
    ("received", "status"),
    [
        pytest.param(PLAIN, 201, id="with a length"),
        pytest.param(CHUNKED, 200, id="in chunks"),
        pytest.param(EMPTY, 204, id="without a body"),
    ],
)
def test_an_answer_is_whole_with_its_last_byte_and_not_before(received: bytes, status: int) -> None:
    for length in range(len(received)):
        assert whole(received[:length]) is None
    answer = whole(received)
    assert answer is not None
    assert answer.status == status


def test_the_body_is_what_comes_behind_the_head() -> None:
    assert whole(PLAIN) == Answer(201, b"{ } ")


def target(port: int = 6443, token: str | None = None) -> Target:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return Target(url=f"https://127.0.0.1:{port}/mutate?timeout=3s", tls=context, token=token)


def test_a_request_has_the_path_with_its_query_and_the_length_of_the_body() -> None:
    head, _, body = target().request(b'{"a": 1}').partition(b"\r\n\r\n")
    assert head.startswith(b"POST /mutate?timeout=3s HTTP/1.1\r\nHost: 127.0.0.1:6443\r\n")
    assert b"Content-Length: 8" in head
    assert b"Authorization" not in head
    assert body == b'{"a": 1}'


def test_a_token_goes_into_the_head() -> None:
    assert b"\r\nAuthorization: Bearer abc\r\n" in target(token="abc").request(b"{}")


async def test_one_connection_carries_one_request_after_the_other() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in (PLAIN, CHUNKED):
            await reader.readuntil(b"\r\n\r\n{}")
            writer.write(answer[:30])
            await writer.drain()
            writer.write(answer[30:])
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        loop = asyncio.get_running_loop()
        _, post = await loop.create_connection(Post, "127.0.0.1", port)
        request = target(port).request(b"{}")
        assert (await post.send(request)).status == 201
        assert (await post.send(request)).status == 200
        with pytest.raises(BenchError, match="closed"):
            await post.send(request)
        post.close()
