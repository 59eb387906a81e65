"""The status of Queues: what it says, and how seldom it is written (spec 3.1, 3.9)."""

import asyncio
from typing import Any

import builders
import pytest
from api import Asked, Json, on
from builders import INSTALL_NAMESPACE, stamp
from shells import Ground

from kq.core import keys, views
from kq.core.kinds import QUEUE
from kq.core.model import Phase, Queue
from kq.kube.errors import Conflict, NotFound
from kq.reconcile import status as module
from kq.reconcile.controller import Request, Result
from kq.reconcile.status import StatusReconciler, interval_of

TEAM = f"{INSTALL_NAMESPACE}/team-a"
HIDE = "koord-queue/disable-show-queue-items"
INTERVAL = "koord-queue/queue-items-refresh-interval"


class Status(Ground):
    """A quota of one place, its Queue, and the reconciler."""

    def __init__(self, *quotas: Any, queue: Json | None = None, **options: Any) -> None:
        super().__init__(*(quotas or [builders.quota(cpu=1)]), **options)
        self.queue(**(queue or {}))
        self.reconciler = StatusReconciler(
            client=self.api,  # type: ignore[arg-type]
            hub=self.hub,
            teller=self.teller,
            queues=self.watches.queues.lister,
            namespace=INSTALL_NAMESPACE,
            policies=("Block", "Priority"),
            clock=self.clock,
            monotonic=self.clock.monotonic,
        )

    def waiting(self, name: str = "train", **fields: Any) -> None:
        self.job(name)
        self.unit(name, **fields)

    async def look(self, namespace: str = "", name: str = "team-a") -> float | None:
        return (await self.reconciler.reconcile(Request(namespace, name))).requeue_after

    async def written(self) -> Json:
        """The status once it has settled, and shown."""
        while left := await self.look():
            self.clock.move(left)
        self.show_queue()
        return self.status(TEAM, QUEUE)

    def writes(self) -> list[Asked]:
        return self.api.writes


@pytest.fixture
def ground() -> Status:
    return Status()


def condition_of(status: Json, type_: str) -> tuple[str, str, str]:
    (found,) = [each for each in status["conditions"] if each["type"] == type_]
    return found["status"], found["reason"], found["message"]


# -- what it says


async def test_a_quiet_queue_is_ready(ground: Status) -> None:
    status = await ground.written()
    assert status == {
        "usage": {"cpu": "0"},
        "conditions": [
            {
                "type": type_,
                "status": value,
                "reason": reason,
                "message": "",
                "lastTransitionTime": stamp(0),
            }
            for type_, value, reason in (
                ("Active", "True", "Ready"),
                ("Blocked", "False", "NotBlocked"),
            )
        ],
    }
    (write,) = ground.writes()
    assert (write.subresource, write.resource_version is not None) == ("status", True)


async def test_counts_usage_and_line(ground: Status) -> None:
    ground.waiting("runs", phase=Phase.RUNNING)
    ground.waiting("goes", phase=Phase.DEQUEUED, cpu=0)
    ground.waiting("reserves", phase=Phase.RESERVED, cpu=0)
    ground.waiting("low", priority=1, minute=1)
    ground.waiting("high", priority=9, minute=2)
    ground.waiting("over", phase=Phase.SUCCEED)
    status = await ground.written()
    counts = [status[f"{each}Units"] for each in ("pending", "reserving", "admitted")]
    assert counts == [2, 1, 2]
    assert status["usage"] == {"cpu": "1"}
    assert status["queueItemDetails"]["active"] == [
        {"name": "high", "namespace": "team-a", "priority": 9, "position": 1},
        {"name": "low", "namespace": "team-a", "priority": 1, "position": 2},
    ]


async def test_usage_names_only_what_the_quota_limits() -> None:
    ground = Status(builders.quota(limit=builders.amounts(cpu=4, memory="1Gi")))
    ground.waiting(phase=Phase.RUNNING, pod_sets=(builders.pod_set("main", 1, cpu=1, gpu=3),))
    assert (await ground.written())["usage"] == {"cpu": "1", "memory": "0"}


async def test_a_resource_that_is_no_longer_limited_goes_from_the_usage() -> None:
    ground = Status(builders.quota(limit=builders.amounts(cpu=4, memory="1Gi")))
    await ground.written()
    ground.book.set_quotas(builders.quotas(builders.quota(cpu=4)), structure_changed=False)
    ground.clock.move(60)
    assert (await ground.written())["usage"] == {"cpu": "0"}


async def test_only_the_first_thousand_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.MOST_ITEMS == 1000
    monkeypatch.setattr(module, "MOST_ITEMS", 3)
    ground = Status()
    for number in range(5):
        ground.waiting(f"train-{number}", minute=number)
    status = await ground.written()
    listed = status["queueItemDetails"]["active"]
    assert [each["name"] for each in listed] == ["train-0", "train-1", "train-2"]
    assert status["pendingUnits"] == 5


@pytest.mark.parametrize("key", module.HIDE_KEYS)
async def test_the_line_is_hidden_on_demand_and_cleared_once(key: str) -> None:
    ground = Status()
    ground.waiting()
    assert (await ground.written())["queueItemDetails"]["active"] != []
    ground.api.edit(QUEUE, TEAM, {"metadata": {"annotations": {key: ""}}})
    ground.show_queue()
    ground.clock.move(60)
    assert (await ground.written())["queueItemDetails"]["active"] == []
    ground.clock.move(60)
    writes = len(ground.writes())
    await ground.written()
    assert len(ground.writes()) == writes


# -- conditions


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"stopPolicy": "Hold"}, ("False", "Stopped", "queue team-a is stopped"), id="stopped"
        ),
        pytest.param(
            {"stopPolicy": "HoldAndDrain"},
            ("False", "Stopped", "queue team-a is stopped"),
            id="drained",
        ),
        pytest.param(
            {"queuePolicy": "block"},
            (
                "True",
                "UnknownPolicy",
                "queuePolicy block is not one of Block, Priority: treated as Priority; "
                "it is written Block",
            ),
            id="wrong case",
        ),
        pytest.param(
            {"queuePolicy": "FIFO"},
            (
                "True",
                "UnknownPolicy",
                "queuePolicy FIFO is not one of Block, Priority: treated as Priority",
            ),
            id="unknown policy",
        ),
        pytest.param({"queuePolicy": ""}, ("True", "Ready", ""), id="no policy"),
    ],
)
async def test_what_active_says(spec: dict[str, str], expected: tuple[str, ...]) -> None:
    ground = Status(queue={"spec": spec})
    assert condition_of(await ground.written(), "Active") == expected


async def test_an_unknown_policy_is_told_once() -> None:
    ground = Status(queue={"spec": {"queuePolicy": "FIFO"}})
    for _ in range(3):
        await ground.written()
        ground.clock.move(60)
    assert ground.notes.told == [
        "Warning AddQueueFail Queue/team-a: "
        "queuePolicy FIFO is not one of Block, Priority: treated as Priority"
    ]


@pytest.mark.parametrize(
    ("quota", "reason", "text"),
    [
        pytest.param(
            builders.quota("other"), "QuotaNotFound", "quota team-a does not exist", id="gone"
        ),
        pytest.param(
            builders.quota(parent="team-a"),
            "QuotaInvalid",
            "quota team-a is in a cycle: team-a -> team-a",
            id="its own parent",
        ),
    ],
)
async def test_a_queue_of_a_quota_that_cannot_be_used(quota: Any, reason: str, text: str) -> None:
    ground = Status(quota)
    assert condition_of(await ground.written(), "Active") == ("False", reason, text)


FULL = "1 cpu requested, not enough free of 1"
TOO_MUCH = "cannot start: 2 cpu requested, but max of quota team-a is 1"


@pytest.mark.parametrize(
    ("policy", "cpu", "annotations", "expected"),
    [
        pytest.param(
            "Block",
            1,
            {},
            ("True", "HeadDoesNotFit", f"team-a/head: waiting for quota team-a: {FULL}"),
            id="the head waits",
        ),
        pytest.param(
            "Block",
            2,
            {},
            ("True", "HeadCanNeverFit", f"team-a/head: {TOO_MUCH}"),
            id="it can never fit",
        ),
        pytest.param("Priority", 1, {}, ("False", "NotBlocked", ""), id="nobody blocks"),
        pytest.param(
            "Block",
            2,
            {keys.SKIP_IMPOSSIBLE[0]: "true"},
            ("False", "NotBlocked", ""),
            id="passed over",
        ),
    ],
)
async def test_what_blocked_says(
    policy: str, cpu: int, annotations: dict[str, str], expected: tuple[str, ...]
) -> None:
    ground = Status(
        queue={"spec": {"queuePolicy": policy}, "metadata": {"annotations": annotations}}
    )
    ground.waiting("runs", phase=Phase.RUNNING)
    ground.waiting("head", cpu=cpu)
    ground.grant()
    assert condition_of(await ground.written(), "Blocked") == expected


async def test_a_condition_keeps_its_time_while_its_status_does(ground: Status) -> None:
    await ground.written()
    ground.clock.move(60)
    ground.api.edit(QUEUE, TEAM, {"spec": {"queuePolicy": "FIFO"}})
    ground.show_queue()
    status = await ground.written()
    times = {each["type"]: each["lastTransitionTime"] for each in status["conditions"]}
    assert condition_of(status, "Active")[1] == "UnknownPolicy"
    assert times["Active"] == times["Blocked"] < stamp(1)


async def test_a_queue_in_a_wrong_namespace_is_told_so_and_no_more(ground: Status) -> None:
    meta = {"namespace": "team-a", "name": "team-a"}
    ground.api.put(QUEUE, {"metadata": meta, "spec": {}})
    wrong = view_of(ground, "team-a/team-a")
    ground.watches.queues.show(wrong)  # type: ignore[attr-defined]
    for _ in range(3):
        while left := await ground.look("team-a"):
            ground.clock.move(left)
        ground.watches.queues.show(view_of(ground, "team-a/team-a"))  # type: ignore[attr-defined]
    (write,) = ground.writes()
    assert write.short == "patch queues/status team-a/team-a"
    (condition,) = ground.status("team-a/team-a", QUEUE)["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "WrongNamespace")


def view_of(ground: Status, key: str) -> Queue:
    return views.queue(ground.api.raw(QUEUE, key))


# -- how often


@pytest.mark.looptime
async def test_one_look_tells_of_a_whole_burst(ground: Status) -> None:
    for number in range(5):
        ground.waiting(f"train-{number}")
        ground.hub.status_due("team-a")
        await asyncio.sleep(0.125)
    assert "status" not in await ground.due()
    assert await ground.queues.status.get() == Request("", "team-a")
    assert asyncio.get_running_loop().time() == pytest.approx(1.0, abs=0.01)
    await ground.look()
    assert ground.status(TEAM, QUEUE)["pendingUnits"] == 5
    assert len(ground.writes()) == 1


@pytest.mark.looptime
async def test_a_change_after_the_look_makes_another_one_due(ground: Status) -> None:
    ground.hub.status_due("team-a")
    request = await ground.queues.status.get()
    await ground.look()
    ground.queues.status.done(request)
    ground.hub.status_due("team-a")
    assert await asyncio.wait_for(ground.queues.status.get(), 1.5) == request


async def test_the_next_write_comes_five_seconds_later(ground: Status) -> None:
    await ground.written()
    ground.waiting()
    assert await ground.look() == 5.0
    ground.clock.move(1)
    assert await ground.look() == 4.0
    ground.clock.move(4)
    assert await ground.look() is None
    assert len(ground.writes()) == 2


async def test_nothing_is_written_where_nothing_differs(ground: Status) -> None:
    ground.waiting()
    await ground.written()
    for _ in range(5):
        ground.clock.move(60)
        assert await ground.look() is None
    assert len(ground.writes()) == 1


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("annotations", "seconds"), [({}, 15), ({INTERVAL: "1m"}, 60), ({INTERVAL: "2s"}, 5)]
)
async def test_the_line_has_its_own_interval(annotations: dict[str, str], seconds: int) -> None:
    ground = Status(queue={"metadata": {"annotations": annotations}})
    ground.waiting()
    await ground.written()
    started = ground.clock.seconds
    ground.waiting("next", minute=1)
    ground.clock.move(5)
    status = await ground.written()
    assert status["pendingUnits"] == 2
    while len(status["queueItemDetails"]["active"]) < 2:
        ground.clock.move(1)
        status = await ground.written()
    assert seconds <= ground.clock.seconds - started <= seconds + 2


@pytest.mark.looptime
async def test_a_line_that_must_wait_comes_by_itself(ground: Status) -> None:
    ground.waiting()
    await ground.written()
    ground.waiting("next", minute=1)
    ground.clock.move(5)
    await ground.written()
    request = await ground.queues.status.get()
    assert request == Request("", "team-a")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("2m", 120),
        ("1h1m1s", 3661),
        ("0s", 0),
        ("", 15),
        ("soon", 15),
        ("15", 15),
        ("1.5s", 15),
        ("-5s", 15),
        ("٣s", 15),
    ],
)
@pytest.mark.parametrize("key", module.INTERVAL_KEYS)
def test_intervals_are_go_durations(key: str, text: str, seconds: float) -> None:
    assert interval_of(builders.queue(annotations={key: text})) == seconds


# -- what may go wrong


async def test_a_conflict_is_raised_and_tried_again_in_its_time(ground: Status) -> None:
    ground.api.edit(QUEUE, TEAM, {"spec": {"priority": 3}})
    with pytest.raises(Conflict):
        await ground.look()
    ground.show_queue()
    assert await ground.look() == 5.0
    ground.clock.move(5)
    assert await ground.look() is None
    assert "conditions" in ground.status(TEAM, QUEUE)


async def test_a_queue_that_is_gone_is_a_success(ground: Status) -> None:
    ground.api.fail(NotFound("not found", code=404), on("patch"))
    assert await ground.look() is None


async def test_a_queue_that_is_not_known_is_left_alone(ground: Status) -> None:
    assert await ground.reconciler.reconcile(Request("", "nobody")) == Result()


async def test_a_queue_made_anew_is_not_kept_waiting_for_the_old_one(ground: Status) -> None:
    await ground.written()
    ground.api.remove(QUEUE, TEAM)
    ground.queue()
    assert await ground.look() is None
    assert len(ground.writes()) == 2
