"""HTTP/1.1 as bytes: requests read as they arrive, answers composed. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from urllib.parse import parse_qs

import httptools

PATH = b"/mutate"
METHOD = b"POST"
JSON = b"application/json"
NO_HTTP = "only HTTP/1.1 is spoken here"
MAX_BODY = 7 * 1024 * 1024
MAX_WIRE = 2 * MAX_BODY
"""Bytes of a message in which a body comes: chunks have heads of their own."""
MAX_HEAD = 64 * 1024
"""Bytes of a head, those of the piece left out that it begins in."""

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    413: "Request Entity Too Large",
    415: "Unsupported Media Type",
    417: "Expectation Failed",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}

_CONTENT_TYPE, _LENGTH, _EXPECT = b"content-type", b"content-length", b"expect"
_READ = frozenset({_CONTENT_TYPE, _LENGTH, _EXPECT})
_OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%b\r\n%b"
_LAST = b"Connection: close\r\n"


@dataclass(slots=True)
class Post:
    """One whole request; unless it `keeps` the connection its answer is the last there."""

    body: bytes | bytearray
    keeps: bool


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is answered where no review can be; nothing after it is read.

    `is_cut` if the peer may still be sending what is refused.
    """

    status: int
    message: str = ""
    is_cut: bool = False


_TOO_LARGE = Refusal(413, f"body is larger than {MAX_BODY} bytes")


class Stage(Enum):
    """What has arrived last."""

    NOTHING = "nothing"
    HEAD = "head"
    BODY = "body"


class Reader:
    """Finds the requests in what arrives on one connection, however it is cut."""

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._found: list[Post | Refusal] = []
        self._over = False
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._body: bytes | bytearray = b""
        self._refusal: Refusal | None = None
        self._size = 0
        self.stage = Stage.NOTHING

    def feed(self, data: bytes | memoryview) -> Sequence[Post | Refusal]:
        """The requests that end in this piece, in their order; a refusal is the last."""
        if self._over:
            return ()
        self._size += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            # What cannot be parsed may be part of a job: it is told to nobody.
            self._refuse(Refusal(400, NO_HTTP, is_cut=True))
        if self.stage is not Stage.NOTHING and not self._over:
            self._check_rest()
        found, self._found = self._found, []
        return found

    @property
    def expects_continue(self) -> bool:
        """Whether the peer sends the body only once it is told to."""
        return _EXPECT in self._headers

    @property
    def size(self) -> int:
        """The bytes of the body under way; the most that it may have if the peer does not say."""
        length = self._headers.get(_LENGTH)
        return MAX_BODY if length is None else int(length)

    @property
    def timeout(self) -> str | None:
        """How long the API server waits, in its words."""
        query = self._url.partition(b"?")[2].decode("latin-1")
        return parse_qs(query).get("timeout", [None])[0]

    def on_message_begin(self) -> None:
        """A request begins."""
        self.stage = Stage.HEAD
        self._url = b""
        self._headers = {}
        self._body = b""
        self._refusal = None
        self._size = 0

    def on_url(self, url: bytes) -> None:
        """The target, or a part of it."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header; those behind the body say nothing."""
        name = name.lower()
        if name in _READ and self.stage is Stage.HEAD:
            self._headers.setdefault(name, value)

    def on_headers_complete(self) -> None:
        """The head is there."""
        self.stage = Stage.BODY
        self._refusal = self._fault()

    def on_body(self, body: bytes) -> None:
        """The body, or a part of it."""
        if self._over or self._refusal:
            return
        if not self._body:
            self._body = body
            return
        if type(self._body) is bytes:
            self._body = bytearray(self._body)
        self._body += body
        if len(self._body) > MAX_BODY:
            self._refusal, self._body = _TOO_LARGE, b""

    def on_message_complete(self) -> None:
        """The request is whole."""
        self.stage = Stage.NOTHING
        if self._over:
            return
        if self._refusal is not None:
            self._refuse(self._refusal)
            return
        self._over = not (keeps := self._keeps())
        self._found.append(Post(self._body, keeps))

    def _keeps(self) -> bool:
        parser = self._parser
        # A peer that speaks 1.0 would have to be told that its connection stays.
        return parser.should_keep_alive() and parser.get_http_version() == "1.1"

    def _fault(self) -> Refusal | None:
        """What the head alone is refused for."""
        if self._url != PATH and _path(self._url) != PATH:
            return Refusal(404)
        if self._parser.get_method() != METHOD:
            return Refusal(405)
        kind = self._headers.get(_CONTENT_TYPE, b"")
        if kind != JSON and kind.partition(b";")[0].strip().lower() != JSON:
            return Refusal(415, "content type is not application/json")
        if self._headers.get(_EXPECT, b"100-continue").lower() != b"100-continue":
            return Refusal(417, "only 100-continue can be expected")
        if self._parser.should_upgrade():
            return Refusal(400, NO_HTTP)
        return None

    def _check_rest(self) -> None:
        """Refuses a request that need not come to its end."""
        refusal = self._refusal
        if self.stage is Stage.HEAD and self._size > MAX_HEAD:
            refusal = Refusal(431, f"head is larger than {MAX_HEAD} bytes")
        elif self.stage is Stage.BODY and (self.size > MAX_BODY or self._size > MAX_WIRE):
            refusal = refusal or _TOO_LARGE
        if refusal is not None:
            self._refuse(Refusal(refusal.status, refusal.message, is_cut=True))

    def _refuse(self, refusal: Refusal) -> None:
        if not self._over:
            self._over, self._body = True, b""
            self._found.append(refusal)


def answered(content: bytes, *, is_last: bool) -> bytes:
    """The answer to a review."""
    return _OK % (len(content), _LAST if is_last else b"", content)


def refused(refusal: Refusal) -> bytes:
    """The answer that is not one; it ends the connection."""
    content = refusal.message.encode()
    allow = f"Allow: {METHOD.decode()}\r\n" if refusal.status == 405 else ""
    head = (
        f"HTTP/1.1 {refusal.status} {REASONS[refusal.status]}\r\n{allow}"
        "Content-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(content)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + content


def _path(url: bytes) -> bytes | None:
    """The path of a target, with or without a host; None if it is neither."""
    if url.startswith(b"/"):
        return url.partition(b"?")[0]
    try:
        path: bytes | None = httptools.parse_url(url).path
    except httptools.HttpParserInvalidURLError:
        return None
    return path
