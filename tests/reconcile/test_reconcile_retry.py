"""The end of a back-off wakes its Queue, by a timer and by nothing else (spec 10.15, 10.19)."""

import asyncio
from datetime import timedelta

import builders
import pytest
from builders import NOW
from prometheus_client import CollectorRegistry
from shells import Ground

from kq.core.model import Phase
from kq.core.options import RetryOptions
from kq.metrics import Metrics
from kq.reconcile.controller import Controller, Request
from kq.reconcile.queue import QueueReconciler

QUEUE = Request("", "team-a")


@pytest.mark.looptime
async def test_the_end_of_a_back_off_wakes_its_queue() -> None:
    """It fails at 0, 1 and 3 s; what is freed meanwhile without a wake is its own at 7 s."""
    views = (
        builders.queue(),
        builders.running_job("holds"),
        builders.unit("holds", cpu=2, phase=Phase.RUNNING),
        builders.job_view("waits"),
        builders.unit("waits", cpu=2),
    )
    ground = Ground(builders.quota(cpu=2), views=views, retry=RetryOptions(backs_off=True))
    loop, tries = asyncio.get_running_loop(), []
    controller = Controller(
        name="queue",
        reconciler=QueueReconciler(
            hub=ground.hub,
            metrics=ground.metrics,
            clock=lambda: NOW + timedelta(seconds=loop.time()),
            modest=lambda: tries.append(round(loop.time(), 1)) or (),
        ),
        queue=ground.queues.queue,
        metrics=Metrics(CollectorRegistry(), version="test"),
    )
    ground.queues.queue.add(QUEUE)
    loop.call_later(5, ground.book.lost, ground.book.units["team-a/holds"])
    loop.call_later(100, ground.queues.queue.shut_down)
    await controller.run()
    assert sorted(set(tries)) == [0, 1, 3, 7]
    assert len(ground.queues.grants) == 1
    assert ground.book.units["team-a/waits"].phase is Phase.DEQUEUED
