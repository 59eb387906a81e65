"""What the status of a Queue says (spec 3.1, 3.9)."""

from typing import Any

import builders
import pytest
from api import Json
from builders import stamp
from queue_status import TEAM, Status

from kq.core import keys, views
from kq.core.kinds import QUEUE
from kq.core.model import Phase, Queue
from kq.reconcile import status as module

IS_PARENT = keys.IS_PARENT_LABEL
AUTO_MADE: Json = {"metadata": {"labels": {keys.AUTO_MADE_LABEL: "true"}}}
WRONG_CASE = (
    "queuePolicy block is not one of Block, Priority: treated as Priority; it is written Block"
)


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
        "pendingUnits": 0,
        "reservingUnits": 0,
        "admittedUnits": 0,
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


@pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
async def test_a_stopped_queue_shows_who_waits_for_it_to_go_on(policy: str) -> None:
    """Spec 3.9: in the order in which they will be tried, without those who wait for themselves."""
    ground = Status(queue={"spec": {"stopPolicy": policy}})
    ground.waiting("low", priority=1)
    ground.waiting("high", priority=9, minute=1)
    ground.waiting("off", active=False)
    ground.waiting("runs", phase=Phase.RUNNING)
    status = await ground.written()
    listed = status["queueItemDetails"]["active"]
    assert [(each["name"], each["position"]) for each in listed] == [("high", 1), ("low", 2)]
    assert (status["pendingUnits"], status["admittedUnits"]) == (3, 1)


async def test_a_parent_quota_shows_what_is_used_below_it() -> None:
    """Spec 3.1: counts are those of its own line, usage that of its quota."""
    parent = builders.quota("team-a", is_parent=True, cpu=4)
    ground = Status(parent, builders.quota("child", parent="team-a", cpu=2))
    ground.queue("child")
    ground.waiting("runs", phase=Phase.RUNNING, quota="child")
    status = await ground.written()
    assert [status[f"{each}Units"] for each in ("pending", "admitted")] == [0, 0]
    assert status["usage"] == {"cpu": "1"}
    assert condition_of(status, "Active") == ("True", "Ready", "")


async def test_the_status_says_of_which_spec_it_is() -> None:
    """Spec 3.1: observedGeneration."""
    ground = Status(queue={"metadata": {"generation": 3}})
    assert (await ground.written())["observedGeneration"] == 3
    ground.api.edit(QUEUE, TEAM, {"metadata": {"generation": 4}, "spec": {"priority": 7}})
    ground.show_queue()
    ground.clock.move(60)
    assert (await ground.written())["observedGeneration"] == 4


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


@pytest.mark.parametrize("domain", ["koord-queue", "kube-queue"])
async def test_the_line_is_hidden_on_demand_and_cleared_once(domain: str) -> None:
    key = f"{domain}/disable-show-queue-items"
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
    ("queue", "quota", "expected"),
    [
        pytest.param(
            {"spec": {"queuePolicy": "block", "stopPolicy": "Hold"}},
            builders.quota(cpu=1),
            ("False", "Stopped", f"queue team-a is stopped; {WRONG_CASE}"),
            id="stopped too",
        ),
        pytest.param(
            {"spec": {"queuePolicy": "block"}, **AUTO_MADE},
            builders.quota("other"),
            ("False", "QuotaNotFound", f"quota team-a does not exist; {WRONG_CASE}"),
            id="without its quota",
        ),
    ],
)
async def test_a_mistyped_policy_is_named_whatever_else_is_wrong(
    queue: Json, quota: Any, expected: tuple[str, ...]
) -> None:
    """Spec 10.6: with the right spelling if only the case is wrong."""
    ground = Status(quota, queue=queue)
    assert condition_of(await ground.written(), "Active") == expected
    assert ground.notes.told == [f"Warning AddQueueFail Queue/team-a: {WRONG_CASE}"]


async def test_a_setting_that_cannot_be_read_is_told_once_and_named_by_the_condition() -> None:
    key = "koord-queue/queue-items-refresh-interval"
    ground = Status(queue={"metadata": {"annotations": {key: "soon"}}})
    text = f"{key} is soon, not a duration as 15s: treated as 15s"
    assert condition_of(await ground.written(), "Active") == ("True", "Ready", text)
    ground.clock.move(60)
    await ground.written()
    assert ground.notes.told == [f"Warning AddQueueFail Queue/team-a: {text}"]


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
    ground = Status(quota, queue=AUTO_MADE)
    assert condition_of(await ground.written(), "Active") == ("False", reason, text)


async def test_a_queue_made_by_hand_needs_no_quota_of_its_name() -> None:
    """Spec 10.3: units of any quota may name it."""
    ground = Status(builders.quota("other"))
    assert condition_of(await ground.written(), "Active") == ("True", "Ready", "")


async def test_11_6_a_queue_says_what_is_wrong_with_its_quota_and_those_above() -> None:
    """It takes units all the same."""
    bad = builders.quota(cpu=1, parent="top", defects=("cpu in min is x, not a quantity",))
    ground = Status(bad, builders.quota("top", defects=("gpu in max is y, not a quantity",)))
    unmarked = f'quota top is the parent of team-a, but is not marked by label {IS_PARENT}: "true"'
    told = f"{bad.defects[0]}; gpu in max is y, not a quantity; {unmarked}"
    assert condition_of(await ground.written(), "Active") == ("True", "Ready", told)
    ground.api.edit(QUEUE, TEAM, {"spec": {"queuePolicy": "block"}})
    ground.show_queue()
    found = condition_of(await ground.written(), "Active")
    assert found == ("True", "UnknownPolicy", f"{WRONG_CASE}; {told}")
    assert ground.notes.told == [f"Warning AddQueueFail Queue/team-a: {WRONG_CASE}"]


async def test_11_6_however_much_is_wrong_the_condition_can_be_written() -> None:
    bad = builders.quota(
        cpu=1, defects=tuple(f"{n} in min is x, not a quantity" for n in range(2000))
    )
    status, _, text = condition_of(await Status(bad).written(), "Active")
    assert (status, len(text), text[-3:]) == ("True", 32768, "...")


async def test_11_6_a_queue_that_is_of_no_quota_says_nothing_of_any() -> None:
    ground = Status(builders.quota("other", defects=("cpu in min is x, not a quantity",)))
    assert condition_of(await ground.written(), "Active") == ("True", "Ready", "")


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


def intelligent(priority: int, **fields: Any) -> Json:
    return {"policy": "Intelligent", "units": [("head", {"cpu": 1, "priority": priority})]} | fields


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(
            {"policy": "", "default": "Block", "units": [("head", {"cpu": 1})]},
            ("True", "HeadDoesNotFit", f"team-a/head: waiting for quota team-a: {FULL}"),
            id="10.6: no policy is the default one",
        ),
        pytest.param(
            {"policy": "block", "default": "Block", "units": [("head", {"cpu": 1})]},
            ("False", "NotBlocked", ""),
            id="10.6: an unknown one is Priority",
        ),
        pytest.param(
            intelligent(4),
            ("True", "HeadDoesNotFit", f"team-a/head: waiting for quota team-a: {FULL}"),
            id="10.11a: a high one",
        ),
        pytest.param(intelligent(3), ("False", "NotBlocked", ""), id="10.11b: a low one"),
        pytest.param(
            {
                "policy": "Block",
                "units": [("head", {"cpu": 1}), ("never", {"cpu": 3, "quota": "other"})],
            },
            (
                "True",
                "HeadCanNeverFit",
                "team-a/never: cannot start: 3 cpu requested, but max of quota other is 2",
            ),
            id="10.10: of several heads the one that can never fit",
        ),
    ],
)
async def test_10_10_who_blocks_is_said_whatever_names_the_policy(
    given: Json, expected: tuple[str, ...]
) -> None:
    ground = Status(
        builders.quota(cpu=1),
        builders.quota("other", cpu=2),
        queue={"spec": {"queuePolicy": given["policy"]}},
        default_policy=given.get("default", "Priority"),
    )
    ground.waiting("runs", phase=Phase.RUNNING)
    named = {**builders.unit().annotations, keys.QUEUE_NAME[0]: "team-a"}
    for name, fields in given["units"]:
        ground.waiting(name, annotations=named, **fields)
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
