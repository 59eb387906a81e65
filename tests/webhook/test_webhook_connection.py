"""One connection on a transport that only writes down what is done to it; time is the loop's."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from kq.webhook.connection import (
    MAX_AWAITED,
    MAX_SECONDS,
    Connection,
    Patience,
    Shared,
    seconds_left,
)
from kq.webhook.http import CONTINUE, MAX_BODY, Refusal, answered

pytestmark = pytest.mark.looptime

PATIENCE = Patience()
HEAD = b"POST /mutate?timeout=3s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


def posted(body: bytes, *headers: bytes, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return b"\r\n".join([HEAD + b"Content-Length: %d" % size, *headers, b"", body])


class Wire(asyncio.Transport):
    """Writes down what the connection does."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.done: list[str] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent.append(bytes(data))

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.limit = high

    def pause_reading(self) -> None:
        self.done.append("pause")

    def resume_reading(self) -> None:
        self.done.append("resume")

    def close(self) -> None:
        self.done.append("close")

    def abort(self) -> None:
        self.done.append("abort")


@dataclass
class Line:
    """A connection, what it shares with others, and its wire."""

    answer: Callable[[bytes | bytearray], bytes | Refusal] = bytes
    wire: Wire = field(default_factory=Wire)

    def __post_init__(self) -> None:
        self.shared = Shared(answer=self.answer, patience=PATIENCE, max_connections=2)
        self.connection = Connection(self.shared)
        self.connection.connection_made(self.wire)

    def arrives(self, data: bytes) -> None:
        self.connection.get_buffer(-1)[: len(data)] = data
        self.connection.buffer_updated(len(data))

    @property
    def statuses(self) -> list[int]:
        return [int(each[9:12]) for each in self.wire.sent]


@pytest.fixture
async def line() -> Line:
    return Line()


async def test_a_request_is_answered_with_its_last_byte(line: Line) -> None:
    sent = posted(b"question")
    line.arrives(sent[:-1])
    assert line.wire.sent == []
    line.arrives(sent[-1:])
    assert line.wire.sent == [answered(b"question", is_last=False)]
    assert line.wire.done == []
    assert len(asyncio.all_tasks()) == 1


async def test_requests_in_one_piece_are_answered_in_order(line: Line) -> None:
    line.arrives(posted(b"1") + posted(b"2") + posted(b"3"))
    assert line.wire.sent == [answered(each, is_last=False) for each in (b"1", b"2", b"3")]


async def test_a_peer_that_says_close_is_closed_behind_its_answer(line: Line) -> None:
    line.arrives(posted(b"1", b"Connection: close") + posted(b"2"))
    assert line.wire.sent == [answered(b"1", is_last=True)]
    assert line.wire.done == ["close"]


async def test_nothing_is_answered_behind_a_refused_review() -> None:
    line = Line(answer=lambda _body: Refusal(400, "no review"))
    line.arrives(posted(b"1") + posted(b"2"))
    assert line.statuses == [400]
    assert line.wire.sent[0].endswith(b"no review")
    assert line.wire.done == ["close"]


async def test_what_arrives_while_it_closes_is_not_read(line: Line) -> None:
    line.arrives(posted(b"1", b"Connection: close"))
    line.arrives(posted(b"2"))
    assert line.statuses == [200]


async def test_an_idle_connection_is_closed_and_each_answer_renews_its_time(line: Line) -> None:
    await asyncio.sleep(PATIENCE.keepalive - 1)
    line.arrives(posted(b"1"))
    await asyncio.sleep(PATIENCE.keepalive - 1)
    assert line.wire.done == []
    await asyncio.sleep(2)
    assert line.wire.done == ["close"]


async def test_a_head_that_trickles_is_not_waited_for(line: Line) -> None:
    for byte in HEAD[: int(PATIENCE.head) - 1]:
        line.arrives(bytes([byte]))
        await asyncio.sleep(1)
    assert line.wire.done == []
    await asyncio.sleep(1.1)
    assert (line.wire.done, line.wire.sent) == (["close"], [])


async def test_a_body_that_trickles_is_refused_at_the_deadline(line: Line) -> None:
    line.arrives(posted(b"", length=100))
    for _ in range(4):
        await asyncio.sleep(0.6)
        line.arrives(b"x")
    assert line.wire.sent == []
    await asyncio.sleep(0.2)
    assert (line.statuses, line.wire.done) == ([408], ["close"])
    assert line.shared.bytes_awaited == 0


async def test_a_body_in_time_renews_the_time_of_the_connection(line: Line) -> None:
    line.arrives(posted(b"1", length=2))
    line.arrives(b"2")
    assert line.shared.bytes_awaited == 0
    await asyncio.sleep(PATIENCE.keepalive - 1)
    assert (line.statuses, line.wire.done) == ([200], [])


async def test_bodies_under_way_are_bounded_over_all_connections(line: Line) -> None:
    line.shared.bytes_awaited = MAX_AWAITED - MAX_BODY
    line.arrives(posted(b"", length=MAX_BODY))
    assert line.statuses == []
    other = Connection(line.shared)
    other.connection_made(wire := Wire())
    other.get_buffer(-1)[: len(HEAD)] = HEAD
    other.buffer_updated(len(HEAD))
    assert line.shared.bytes_awaited == MAX_AWAITED
    rest = b"Content-Length: 1\r\n\r\n"
    other.get_buffer(-1)[: len(rest)] = rest
    other.buffer_updated(len(rest))
    assert wire.sent[0].startswith(b"HTTP/1.1 503")
    assert line.shared.bytes_awaited == MAX_AWAITED


async def test_one_connection_too_many_is_closed_and_none_is_missed(line: Line) -> None:
    others = [Connection(line.shared) for _ in range(2)]
    wires = [Wire(), Wire()]
    for other, wire in zip(others, wires, strict=True):
        other.connection_made(wire)
    assert [each.done for each in wires] == [[], ["abort"]]
    others[1].buffer_updated(10)
    others[1].connection_lost(None)
    others[0].connection_lost(None)
    assert line.shared.connections == {line.connection}
    assert not line.shared.emptied.is_set()


async def test_a_peer_that_leaves_in_the_middle_leaves_nothing_behind(line: Line) -> None:
    line.arrives(posted(b"1", length=1000))
    assert line.shared.bytes_awaited == 1000
    line.connection.connection_lost(ConnectionResetError())
    assert line.shared.bytes_awaited == 0
    assert line.shared.connections == set()
    assert line.shared.emptied.is_set()
    await asyncio.sleep(PATIENCE.keepalive + 1)
    assert (line.wire.sent, line.wire.done) == ([], [])


async def test_who_is_refused_while_it_sends_can_hear_it(line: Line) -> None:
    line.arrives(posted(b"", length=MAX_BODY + 1))
    assert (line.statuses, line.wire.done) == ([413], [])
    line.arrives(posted(b"is not read"))
    await asyncio.sleep(PATIENCE.linger - 0.1)
    assert (line.statuses, line.wire.done) == ([413], [])
    await asyncio.sleep(0.2)
    assert (line.statuses, line.wire.done) == ([413], ["close"])


async def test_a_body_is_asked_for_where_the_peer_waits_to_be_asked(line: Line) -> None:
    line.arrives(posted(b"", b"Expect: 100-continue", length=2))
    assert line.wire.sent == [CONTINUE]
    line.arrives(b"{}")
    assert line.wire.sent[1:] == [answered(b"{}", is_last=False)]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(posted(b"", b"Expect: 100-continue", length=MAX_BODY + 1), 413, id="413"),
        pytest.param(
            posted(b"", b"Expect: 100-continue", length=2).replace(b"/json", b"/xml"), 415, id="415"
        ),
    ],
)
async def test_a_body_that_is_refused_is_not_asked_for(
    line: Line, sent: bytes, status: int
) -> None:
    line.arrives(sent)
    assert line.statuses == [status]


async def test_a_body_that_came_without_being_asked_for_is_taken(line: Line) -> None:
    line.arrives(posted(b"{}", b"Expect: 100-continue"))
    assert line.wire.sent == [answered(b"{}", is_last=False)]


async def test_nothing_is_read_from_a_peer_that_takes_no_answers(line: Line) -> None:
    assert line.wire.limit is not None
    line.connection.pause_writing()
    await asyncio.sleep(PATIENCE.stalled - 1)
    line.connection.resume_writing()
    assert line.wire.done == ["pause", "resume"]
    await asyncio.sleep(PATIENCE.keepalive - 1)
    assert line.wire.done == ["pause", "resume"]


async def test_a_peer_that_goes_on_taking_no_answers_is_cut_off(line: Line) -> None:
    line.connection.pause_writing()
    line.arrives(posted(b"1") + HEAD)
    await asyncio.sleep(PATIENCE.stalled + 0.1)
    assert line.wire.done == ["pause", "abort"]


async def test_once_it_closes_an_answer_is_the_last(line: Line) -> None:
    line.arrives(posted(b"1", length=2))
    line.shared.closing = True
    line.connection.finish()
    assert line.wire.done == []
    line.arrives(b"2" + posted(b"3"))
    assert line.wire.sent == [answered(b"12", is_last=True)]
    assert line.wire.done == ["close"]


async def test_an_idle_connection_is_finished_at_once(line: Line) -> None:
    line.connection.finish()
    line.connection.finish()
    assert line.wire.done == ["close"]


async def test_the_longest_deadline_is_that_of_a_body(line: Line) -> None:
    line.arrives(posted(b"", length=9).replace(b"?timeout=3s", b"?timeout=30s"))
    await asyncio.sleep(MAX_SECONDS - 0.1)
    assert line.statuses == []
    await asyncio.sleep(0.2)
    assert line.statuses == [408]


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
