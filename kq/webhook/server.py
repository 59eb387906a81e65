"""`POST /mutate`: a body in, an answer out, within the deadline and whatever happens (spec 6.10).

The handler is lean: one decode, operations made by hand, no call to anybody.
"""

import asyncio
import re
import time
import traceback
from collections.abc import Callable, Collection
from functools import cache, partial

import structlog
from aiohttp import web

from kq.errors import KqError
from kq.metrics import AdmissionMetrics
from kq.webhook import review
from kq.webhook.review import Malformed, Request, Response, Unreadable

MAX_BODY = 7 * 1024 * 1024
MAX_AWAITED = 16 * MAX_BODY
"""Bytes of bodies under way at once, over all connections."""
MAX_SECONDS = 3.0
MARGIN_SECONDS = 0.5
LEAST_SECONDS = 0.1
JSON = "application/json"
WEBHOOK = "mutate"
OTHER_KIND = "other"
SWITCH_OFF = "kubectl delete mutatingwebhookconfiguration koord-queue"

_DURATION = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)(ms|s|m)?", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}

log = structlog.get_logger()


class Reviews:
    """Answers reviews of one path; its own failures never stop a submit unless it is told so."""

    def __init__(
        self,
        answer: Callable[[Request], Response],
        *,
        kinds: Collection[str],
        fail_closed: bool,
        metrics: AdmissionMetrics,
    ) -> None:
        self._answer = answer
        self._kinds = frozenset(kinds)
        self._fail_closed = fail_closed
        self._metrics = metrics
        self._requests = cache(partial(metrics.requests.labels, WEBHOOK))
        self._seconds = cache(partial(metrics.seconds.labels, WEBHOOK))
        self._bytes_awaited = 0
        self.closing = False
        """Set once answers are to be the last of their connections."""

    async def handle(self, request: web.Request) -> web.Response:
        """The HTTP answer to one HTTP request."""
        if request.content_type != JSON:
            return self._refused(415, f"content type is not {JSON}")
        if (request.content_length or 0) > MAX_BODY:
            return self._refused(413, f"body is larger than {MAX_BODY} bytes")
        try:
            body = await self._body(request)
        except TimeoutError:
            # A peer that stopped sending would keep the connection for ever.
            request.protocol.force_close()
            return self._refused(408, "body did not arrive in time")
        except web.HTTPRequestEntityTooLarge:
            return self._refused(413, f"body is larger than {MAX_BODY} bytes")
        if body is None:
            return self._refused(503, "too many bodies at once")
        asked = review.decode(body)
        if isinstance(asked, Malformed):
            return self._refused(400, asked.message)
        answer = web.Response(body=self._reviewed(asked), content_type=JSON)
        if self.closing:
            answer.force_close()
        return answer

    async def _body(self, request: web.Request) -> bytes | None:
        """The whole body; None if too much memory is waiting for the rest of others."""
        if request.content.is_eof():
            return await request.read()
        size = MAX_BODY if request.content_length is None else request.content_length
        if self._bytes_awaited + size > MAX_AWAITED:
            return None
        self._bytes_awaited += size
        try:
            async with asyncio.timeout(seconds_left(request.query.get("timeout"))):
                return await request.read()
        finally:
            self._bytes_awaited -= size

    def _reviewed(self, asked: Request | Unreadable) -> bytes:
        """The answer to one review, counted and logged."""
        if isinstance(asked, Unreadable):
            return review.encode(self._failure(asked.uid, OTHER_KIND, asked.message))
        started = time.monotonic()
        # Whoever reaches the port may name any kind, and labels are a closed set.
        kind = asked.kind.kind if asked.kind.kind in self._kinds else OTHER_KIND
        try:
            response = self._answer(asked)
            content = review.encode(response)
        except Exception as err:
            response = self._failure(asked.uid, kind, _cause(err))
            content = review.encode(response)
        self._requests(kind, response.result).inc()
        self._seconds(kind).observe(time.monotonic() - started)
        _log_decision(asked, response)
        return content

    def _failure(self, uid: str, kind: str, cause: str) -> Response:
        """What a failure of ours means for the object (spec 6.11)."""
        log.error("review failed", uid=uid, kind=kind, error=cause)
        self._metrics.errors.labels(WEBHOOK, kind).inc()
        if self._fail_closed:
            message = f"koord-queue failed: {cause}; to switch it off: {SWITCH_OFF}"
            return review.errored(uid, 500, message)
        return review.allowed(uid, [f"koord-queue failed, the job is not held yet: {cause}"])

    def _refused(self, status: int, message: str) -> web.Response:
        """No review was answered; what is left of the body is not worth waiting for."""
        answer = web.Response(status=status, text=message)
        answer.force_close()
        return answer


def mutate_app(reviews: Reviews) -> web.Application:
    """The application behind the TLS listener."""
    app = web.Application(client_max_size=MAX_BODY)
    app.router.add_post("/mutate", reviews.handle)
    return app


def _log_decision(asked: Request, response: Response) -> None:
    """One line a review, never the review itself (spec 6.12)."""
    log.debug(
        "review answered",
        uid=asked.uid,
        kind=asked.kind.kind,
        namespace=asked.namespace,
        name=asked.name,
        user=asked.username,
        decision=response.result,
    )


def _cause(err: Exception) -> str:
    """What may be told of a failure: of one that nobody foresaw where it was, not its text.

    That could hold parts of the object.
    """
    if isinstance(err, KqError):
        return str(err)
    frames = traceback.extract_tb(err.__traceback__)
    return f"{type(err).__name__} in {frames[-1].name}" if frames else type(err).__name__


def seconds_left(timeout: str | None) -> float:
    """The deadline: what the API server waits less a margin, at most 3 s (spec 6.10)."""
    match = _DURATION.fullmatch(timeout) if timeout else None
    if match is None:
        return MAX_SECONDS
    waits = float(match[1]) * _UNITS[match[2]]
    return max(LEAST_SECONDS, min(MAX_SECONDS, waits - MARGIN_SECONDS))
