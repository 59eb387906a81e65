"""A cycle is the reconcile of a Queue: what it grants and takes is handed on (spec 10.8, 13)."""

from datetime import timedelta

import builders
from shells import Ground

from kq.core import keys
from kq.core.model import Phase
from kq.core.options import TakingOptions
from kq.reconcile.controller import Request, Result
from kq.reconcile.queue import QueueReconciler

QUEUE = Request("", "team-a")
MODEST = {"calm"}


class Lines(Ground):
    """A full quota, and one unit that would go first."""

    def __init__(self, **options: object) -> None:
        marks = {keys.ENABLE_PREEMPTION[0]: "true"}
        views = (
            builders.queue(annotations=marks),
            builders.running_job("low"),
            builders.unit("low", cpu=2, phase=Phase.RUNNING),
            builders.job_view("high"),
            builders.unit("high", cpu=2, priority=5, priority_class="calm"),
        )
        super().__init__(builders.quota(cpu=2), views=views, **options)
        self.modest: set[str] = set()
        self.reconciler = QueueReconciler(
            hub=self.hub, metrics=self.metrics, clock=self.clock, modest=lambda: self.modest
        )


async def test_victims_are_handed_to_the_job_reconciler() -> None:
    ground = Lines()
    assert await ground.reconciler.reconcile(QUEUE) == Result()
    assert (await ground.due())["job"] == ["team-a/low"]
    assert await ground.reconciler.reconcile(QUEUE) == Result()
    assert "job" not in await ground.due()


async def test_classes_whose_jobs_take_nothing_are_asked_for_at_each_cycle() -> None:
    ground = Lines()
    ground.modest = MODEST
    await ground.reconciler.reconcile(QUEUE)
    assert "job" not in await ground.due()
    ground.modest = set()
    await ground.reconciler.reconcile(QUEUE)
    assert (await ground.due())["job"] == ["team-a/low"]


async def test_the_queue_is_looked_at_again_when_a_grant_is_no_longer_safe() -> None:
    """Spec 10.15, 13.8."""
    ground = Lines(taking=TakingOptions(protection=timedelta(minutes=2)))
    ground.clock.move(30)
    assert await ground.reconciler.reconcile(QUEUE) == Result(requeue_after=90)
    ground.clock.move(90)
    assert await ground.reconciler.reconcile(QUEUE) == Result()
    assert (await ground.due())["job"] == ["team-a/low"]
