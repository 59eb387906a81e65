"""`POST /mutate`: a body in, an answer out, whatever happens (spec 6.11).

It is lean: one decode, operations made by hand, no call to anybody.
"""

import logging
import time
import traceback
from collections.abc import Callable, Collection
from functools import cache, partial

import structlog

from kq.errors import KqError
from kq.metrics import AdmissionMetrics
from kq.webhook import review
from kq.webhook.http import Refusal
from kq.webhook.review import Malformed, Request, Response, Unreadable

WEBHOOK = "mutate"
OTHER_KIND = "other"
SWITCH_OFF = "kubectl delete mutatingwebhookconfiguration koord-queue"

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
        # A line that nobody reads would cost as much as the rest of the answer's writing.
        self._explains = bool(log.is_enabled_for(logging.DEBUG))

    def answer(self, body: bytes | bytearray) -> bytes | Refusal:
        """The answer to one body that was posted."""
        asked = review.decode(body)
        if isinstance(asked, Malformed):
            return Refusal(400, asked.message)
        return self._reviewed(asked)

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
        if self._explains:
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
