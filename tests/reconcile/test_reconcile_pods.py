"""Pods that do not end in time count no more (spec 11.9a)."""

import builders
import pytest
from builders import NOW
from shells import Ground

from kq.core import keys, kinds
from kq.core.model import Phase, PodView
from kq.reconcile.controller import Request, Result
from kq.reconcile.pods import GONE, PodsReconciler

POD = Request("team-a", "train-0")


class Pods(Ground):
    """A unit that waits for a pod of its job's last run, and the reconciler."""

    def __init__(self, limit: int = 300, phase: Phase = Phase.ENQUEUED) -> None:
        super().__init__(builders.quota(cpu=1))
        self.queue()
        self.job()
        self.unit(phase=phase)
        self.reconciler = PodsReconciler(
            client=self.api,  # type: ignore[arg-type]
            pods=self.watches.pods.lister,
            hub=self.hub,
            teller=self.teller,
            limit_seconds=limit,
            clock=self.clock,
        )

    def pod(self, **fields: object) -> PodView:
        view = builders.pod(**{"deleted_at": NOW} | fields)  # type: ignore[arg-type]
        self.watches.pods.show(view)  # type: ignore[attr-defined]
        self.book.saw(view)
        return view

    async def look(self) -> Result:
        return await self.reconciler.reconcile(POD)

    def used(self) -> float:
        return dict(self.book.usage.of("team-a")).get("cpu", 0)


@pytest.mark.parametrize("seconds", [0, 100, 299])
async def test_a_pod_that_ends_has_its_time(seconds: int) -> None:
    ground = Pods()
    ground.pod()
    ground.clock.move(seconds)
    assert await ground.look() == Result(requeue_after=300 - seconds)
    assert ground.used() == 1000
    assert ground.notes.told == []


async def test_after_its_time_its_usage_is_free_and_its_unit_told() -> None:
    ground = Pods()
    ground.pod()
    ground.hub.pump()
    await ground.due()
    ground.clock.move(300)
    assert await ground.look() == Result()
    assert ground.used() == 0
    assert ground.notes.told == [
        "Warning StuckTerminating QueueUnit/train: "
        "pod team-a/train-0 does not end: it counts no more"
    ]
    due = await ground.due()
    assert due["job"] == ["team-a/train"]


async def test_what_it_freed_wakes_those_who_wait_for_it() -> None:
    ground = Pods()
    ground.pod()
    ground.job("next")
    ground.unit("next")
    assert ground.grant() == []
    ground.hub.pump()
    await ground.due()
    ground.clock.move(300)
    await ground.look()
    assert (await ground.due())["queue"] == ["team-a"]
    assert [each.name for each in ground.grant()] == ["next"]


async def test_its_own_job_does_not_start_beside_it() -> None:
    ground = Pods()
    ground.pod()
    ground.clock.move(300)
    await ground.look()
    assert ground.grant() == []


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"deleted_at": None}, id="that does not end"),
        pytest.param({"phase": "Succeeded"}, id="that has ended"),
    ],
)
async def test_nothing_is_said_of_a_pod(fields: dict[str, object]) -> None:
    ground = Pods()
    ground.pod(**fields)
    ground.clock.move(1000)
    assert await ground.look() == Result()
    assert ground.notes.told == []


async def test_nothing_is_said_of_a_pod_that_is_gone() -> None:
    ground = Pods()
    ground.clock.move(1000)
    assert await ground.look() == Result()


async def test_without_a_limit_pods_count_for_ever() -> None:
    ground = Pods(limit=0)
    ground.pod()
    ground.clock.move(10**6)
    assert await ground.look() == Result()
    assert ground.used() == 1000


async def test_the_event_is_sent_once() -> None:
    ground = Pods()
    ground.pod()
    ground.clock.move(300)
    for _ in range(3):
        assert await ground.look() == Result()
    assert len(ground.notes.told) == 1


# -- pods of jobs that are gone (spec 24.3, 24.5)

RELEASED = {
    "suspended": False,
    "released_at": NOW,
    "labels": {keys.QUOTA_LABEL: "team-a"},
    "counts_pods": True,
}


def gone(ground: Pods) -> str:
    """A job that was let go, and went with its unit before anybody saw a pod of it."""
    job = builders.job_view("gone", **RELEASED)
    unit = builders.unit("gone", phase=Phase.DEQUEUED)
    ground.book.saw(job)
    ground.book.saw(unit)
    ground.book.lost(job, version=40)
    ground.book.lost(unit)
    assert ground.used() == 1000
    return job.uid


async def test_a_gone_job_without_a_pod_gives_its_quota_back_at_once() -> None:
    ground = Pods()
    uid = gone(ground)
    await ground.reconciler.reconcile(Request("team-a", uid, GONE))
    assert ground.used() == 0


async def test_pods_of_a_gone_job_count_on_until_their_watch_shows_them() -> None:
    ground = Pods()
    uid = gone(ground)
    labels = {"batch.kubernetes.io/controller-uid": uid}
    ground.api.put(kinds.POD, {"metadata": {"namespace": "team-a", "name": "p", "labels": labels}})
    await ground.reconciler.reconcile(Request("team-a", uid, GONE))
    assert ground.used() == 1000


async def test_a_job_that_left_nothing_is_not_asked_about() -> None:
    ground = Pods()
    ground.api.asked.clear()
    await ground.reconciler.reconcile(Request("team-a", "no-such-uid", GONE))
    assert ground.api.asked == []
