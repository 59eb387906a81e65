"""What a peer may send, however it is cut, and what is read of it. No socket, no loop."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kq.webhook.http import MAX_BODY, MAX_HEAD, Post, Reader, Refusal, Stage, answered, refused

TYPE = "Content-Type: application/json"


def head(*headers: str, line: str = "POST /mutate?timeout=3s HTTP/1.1") -> bytes:
    return "\r\n".join([line, "Host: x", *headers, "", ""]).encode()


def posted(body: bytes, *headers: str, line: str = "POST /mutate HTTP/1.1") -> bytes:
    return head(TYPE, f"Content-Length: {len(body)}", *headers, line=line) + body


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    pieces = [b"%x\r\n%b\r\n" % (len(each), each) for each in chunks]
    return head(TYPE, "Transfer-Encoding: chunked") + b"".join(pieces) + end


def in_chunks(body: bytes) -> bytes:
    return chunked(*(body[place : place + 7] for place in range(0, len(body), 7)))


def read(pieces: Iterable[bytes]) -> list[Post | Refusal]:
    reader = Reader()
    return [each for piece in pieces for each in reader.feed(piece)]


def plain(found: Sequence[Post | Refusal]) -> list[object]:
    """Where a refused request was cut depends on the pieces."""
    return [
        (bytes(each.body), each.keeps) if isinstance(each, Post) else each.status for each in found
    ]


CONVERSATIONS = [
    pytest.param(posted(b"{}"), [(b"{}", True)], id="one"),
    pytest.param(posted(b""), [(b"", True)], id="without a body"),
    pytest.param(
        posted(b"1") + chunked(b"2", b"34") + posted(b"5"),
        [(b"1", True), (b"234", True), (b"5", True)],
        id="three in a row",
    ),
    pytest.param(
        posted(b"1", "Connection: close") + posted(b"2"), [(b"1", False)], id="none after the last"
    ),
    pytest.param(
        chunked(b"1", end=b"0\r\nExpect: 9\r\nX-Sum: 1\r\n\r\n") + posted(b"2"),
        [(b"1", True), (b"2", True)],
        id="trailers",
    ),
    pytest.param(posted(b"{}") + b"more", [(b"{}", True), 400], id="longer than its length"),
    pytest.param(
        posted(b"1") + posted(b"2", line="POST /x HTTP/1.1") + posted(b"3"),
        [(b"1", True), 404],
        id="none after a refusal",
    ),
]


@pytest.mark.parametrize(("sent", "found"), CONVERSATIONS)
def test_requests_are_found_in_one_piece_and_byte_by_byte(sent: bytes, found: object) -> None:
    assert plain(read([sent])) == found
    assert plain(read(sent[place : place + 1] for place in range(len(sent)))) == found


@pytest.mark.parametrize(("sent", "found"), CONVERSATIONS)
def test_requests_are_found_wherever_the_bytes_are_cut_in_two(sent: bytes, found: object) -> None:
    for place in range(1, len(sent)):
        assert plain(read([sent[:place], sent[place:]])) == found


@given(
    asked=st.lists(st.tuples(st.binary(max_size=40), st.sampled_from([posted, in_chunks]))),
    cuts=st.lists(st.integers(0, 1000)),
)
def test_bodies_arrive_whole_and_in_order(
    asked: list[tuple[bytes, Callable[[bytes], bytes]]], cuts: list[int]
) -> None:
    sent = b"".join(framed(body) for body, framed in asked)
    places = [0, *sorted(cuts), len(sent)]
    pieces = [sent[here:there] for here, there in pairwise(places)]
    assert plain(read(pieces)) == [(body, True) for body, _ in asked]


@given(pieces=st.lists(st.binary(min_size=1)), before=st.sampled_from([b"", head(TYPE)[:-2]]))
def test_whatever_else_arrives_is_refused_or_waited_for(pieces: list[bytes], before: bytes) -> None:
    for each in read([before, *pieces]):
        assert isinstance(each, Post) or refused(each).startswith(b"HTTP/1.1 4")


NO_HTTP = [
    pytest.param(b"\x16\x03\x01\x02\x00\x01", id="TLS inside"),
    pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", id="HTTP/2"),
    pytest.param(b"hello\r\n\r\n", id="text"),
    pytest.param(head("Content-Length: -1"), id="negative length"),
    pytest.param(head(f"Content-Length: {2**64}"), id="length beyond 64 bits"),
    pytest.param(head("Content-Length: 0x10"), id="length in hex"),
    pytest.param(head("Content-Length: 1_0"), id="length with an underscore"),
    pytest.param(head("Content-Length: +5"), id="length with a sign"),
    pytest.param(head("Content-Length: 5", "Content-Length: 6"), id="two lengths"),
    pytest.param(head("Content-Length: 5", "Transfer-Encoding: chunked"), id="length and chunks"),
    pytest.param(head("Transfer-Encoding: chunked", "Content-Length: 5"), id="chunks and length"),
    pytest.param(head("Transfer-Encoding: gzip"), id="packed"),
    pytest.param(head("Transfer-Encoding: chunked, gzip"), id="packed after chunks"),
    pytest.param(head(TYPE, "Transfer-Encoding: chunked") + b"-1\r\n", id="negative chunk"),
    pytest.param(head(TYPE, "Transfer-Encoding: chunked") + b"f" * 17, id="chunk beyond 64 bits"),
    pytest.param(chunked(b"1", end=b"0\r\nContent-Length: 1\r\n\r\n"), id="late length"),
    pytest.param(head(" folded"), id="folded line"),
    pytest.param(head("a b: c"), id="space in a name"),
    pytest.param(head("no colon"), id="no colon"),
    pytest.param(head("X: a\x00b"), id="zero byte"),
]


@pytest.mark.parametrize("sent", NO_HTTP)
def test_what_is_no_http_is_refused_and_nothing_after_it_is_read(sent: bytes) -> None:
    reader = Reader()
    assert plain(reader.feed(sent)) in ([400], [404])
    assert reader.feed(posted(b"{}")) == ()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(posted(b"{}", line="POST / HTTP/1.1"), 404, id="another path"),
        pytest.param(posted(b"{}", line="POST /mutate/ HTTP/1.1"), 404, id="slash"),
        pytest.param(posted(b"{}", line="POST http://:x HTTP/1.1"), 404, id="no URL"),
        pytest.param(posted(b"{}", line="PUT /mutate HTTP/1.1"), 405, id="PUT"),
        pytest.param(head(line="GET /mutate HTTP/1.1"), 405, id="GET"),
        pytest.param(head(line="HEAD /mutate HTTP/1.1"), 405, id="HEAD"),
        pytest.param(head(line="OPTIONS * HTTP/1.1"), 404, id="OPTIONS"),
        pytest.param(head(line="CONNECT x:1 HTTP/1.1"), 404, id="CONNECT"),
        pytest.param(head("Content-Length: 0"), 415, id="no content type"),
        pytest.param(head("Content-Type: text/json", "Content-Length: 0"), 415, id="other type"),
        pytest.param(posted(b"{}", "Expect: 200-ok"), 417, id="odd expectation"),
        pytest.param(
            posted(b"{}", "Connection: Upgrade", "Upgrade: h2c"), 400, id="another protocol"
        ),
    ],
)
def test_what_is_not_for_us_is_refused_and_ends_the_connection(sent: bytes, status: int) -> None:
    (refusal,) = read([sent])
    assert refusal == Refusal(status, getattr(refusal, "message", ""), is_cut=False)


@pytest.mark.parametrize("status", [404, 405])
def test_answers_that_a_head_could_get_have_no_body(status: int) -> None:
    assert refused(Refusal(status)).endswith(b"Content-Length: 0\r\nConnection: close\r\n\r\n")


@pytest.mark.parametrize(
    ("sent", "keeps"),
    [
        pytest.param(posted(b"{}", "connection: keep-alive"), True, id="said twice"),
        pytest.param(posted(b"{}", "CONNECTION: Close"), False, id="close"),
        pytest.param(posted(b"{}", line="POST /mutate HTTP/1.0"), False, id="1.0"),
        pytest.param(
            posted(b"{}", "Connection: keep-alive", line="POST /mutate HTTP/1.0"),
            False,
            id="1.0 that would stay",
        ),
        pytest.param(
            posted(b"{}", line="POST https://x:1/mutate?timeout=1s HTTP/1.1"), True, id="whole URL"
        ),
        pytest.param(
            posted(b"{}").lower().replace(b"post", b"POST").replace(b"http", b"HTTP"),
            True,
            id="lower case",
        ),
        pytest.param(posted(b"{}", "Expect: 100-Continue"), True, id="100-continue"),
    ],
)
def test_a_review_is_taken_and_its_connection_kept_or_not(sent: bytes, keeps: bool) -> None:
    assert plain(read([sent])) == [(b"{}", keeps)]


@pytest.mark.parametrize(
    "kind", ["application/json; charset=utf-8", "Application/JSON", "application/json ;x"]
)
def test_json_may_be_spelled_in_its_ways(kind: str) -> None:
    assert plain(read([head(f"Content-Type: {kind}", "Content-Length: 1") + b"1"])) == [
        (b"1", True)
    ]


def test_a_head_without_an_end_is_refused() -> None:
    reader = Reader()
    assert reader.feed(head()[:-2]) == []
    assert reader.feed(b"X: " + b"x" * (MAX_HEAD - 3)) == []
    assert reader.stage is Stage.HEAD
    assert reader.feed(b"x") == [Refusal(431, f"head is larger than {MAX_HEAD} bytes", is_cut=True)]


@pytest.mark.parametrize(
    "line", ["POST /mutate HTTP/1.1", "POST /x HTTP/1.1", "PUT /mutate HTTP/1.1"]
)
def test_a_refusal_does_not_wait_for_the_body(line: str) -> None:
    reader = Reader()
    (refusal,) = reader.feed(head("Content-Length: 10", line=line))
    assert isinstance(refusal, Refusal)
    assert refusal.is_cut


@pytest.mark.parametrize(
    ("length", "statuses"), [(MAX_BODY, []), (MAX_BODY + 1, [413]), (2**63, [413])], ids=str
)
def test_a_body_is_refused_by_its_length_before_it_comes(length: int, statuses: list[int]) -> None:
    reader = Reader()
    assert plain(reader.feed(head(TYPE, f"Content-Length: {length}"))) == statuses


def test_chunks_are_refused_once_they_are_too_many() -> None:
    reader = Reader()
    reader.feed(head(TYPE, "Transfer-Encoding: chunked"))
    chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    found = [plain(reader.feed(chunk)) for _ in range(8)]
    assert found == [[]] * 7 + [[413]]


def test_heads_of_chunks_count_too() -> None:
    reader = Reader()
    reader.feed(head(TYPE, "Transfer-Encoding: chunked"))
    piece = b"1;" + b"x" * 0x10000 + b"\r\nx\r\n"
    found = [status for _ in range(300) for status in plain(reader.feed(piece))]
    assert found == [413]


def test_what_is_under_way_is_known_from_the_head() -> None:
    reader = Reader()
    reader.feed(head(TYPE, "Content-Length: 70", "Expect: 100-continue"))
    told = (reader.stage, reader.size, reader.timeout, reader.expects_continue)
    assert told == (Stage.BODY, 70, "3s", True)


def test_what_is_not_said_in_the_head_is_taken_at_its_worst() -> None:
    reader = Reader()
    reader.feed(head(TYPE, "Transfer-Encoding: chunked", line="POST /mutate HTTP/1.1"))
    told = (reader.size, reader.timeout, reader.expects_continue)
    assert told == (MAX_BODY, None, False)


def test_an_answer_says_its_length_and_whether_it_is_the_last() -> None:
    start = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
    assert answered(b"{}", is_last=False) == start + b"\r\n{}"
    assert answered(b"{}", is_last=True) == start + b"Connection: close\r\n\r\n{}"
