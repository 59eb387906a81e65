"""A scheduling cycle is the reconcile of a Queue; one at a time over all of them (spec 10.8)."""

import time
from collections.abc import Callable, Collection
from datetime import datetime

import structlog

from kq.metrics import SchedulingMetrics
from kq.reconcile.controller import Request, Result
from kq.reconcile.hub import Hub

log = structlog.get_logger()


class QueueReconciler:
    """Runs the cycle and hands the grants on to be written.

    `modest` are the PriorityClasses whose jobs take nothing from others.
    """

    def __init__(
        self,
        *,
        hub: Hub,
        metrics: SchedulingMetrics,
        clock: Callable[[], datetime],
        modest: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._modest = modest
        self._hub = hub
        self._metrics = metrics
        self._clock = clock

    async def reconcile(self, request: Request) -> Result:
        """One cycle; what it grants counts from this moment."""
        started = time.perf_counter()
        now = self._clock()
        self._hub.book.takings.set_modest(self._modest())
        granted = self._hub.book.cycle(request.name, now)
        seconds = time.perf_counter() - started
        for unit in granted:
            self._hub.queues.grants.add(Request(unit.namespace, unit.name))
        self._hub.pump()
        self._measure(request.name, seconds, len(granted))
        again = self._hub.book.next_look(request.name)
        return Result(requeue_after=(again - now).total_seconds() if again else None)

    def _measure(self, queue: str, seconds: float, granted: int) -> None:
        metrics, outcome = self._metrics, self._hub.book.lines.outcomes.get(queue)
        metrics.cycles.labels(queue).inc()
        metrics.cycle_seconds.observe(seconds)
        metrics.cycle_ms.observe(seconds * 1000)
        metrics.attempts.labels(queue, "scheduled").inc(granted)
        metrics.attempts.labels(queue, "unschedulable").inc(outcome.failed if outcome else 0)
        log.debug("cycle ended", queue=queue, granted=granted, duration_ms=seconds * 1000)
