"""Which change of quotas and Queues puts which keys on which work queues (spec 10.15)."""

from typing import Any

import builders
import pytest
from builders import changed, job_view
from wired import APART, IN_B, QUOTAS, WAITS, WORLD, Wired, job_of

from kq.core import keys
from kq.core.model import Quota

pytestmark = pytest.mark.looptime


# -- quotas


def more(name: str, **fields: Any) -> Quota:
    return changed(QUOTAS[name], **{"limit": builders.amounts(cpu=9)} | fields)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("quota", "queues"),
    [
        pytest.param(more("team-a"), ["team-a"], id="a leaf's max"),
        pytest.param(more("root"), ["team-a", "team-b"], id="the parent's max"),
        pytest.param(more("team-b", limit=builders.amounts(cpu=1)), ["team-b"], id="less"),
        pytest.param(more("apart", limit=QUOTAS["apart"].limit), [], id="nothing of account"),
    ],
)
async def test_a_quota_wakes_those_below_the_change(quota: Quota, queues: list[str]) -> None:
    ground = await Wired().settled(*WORLD)
    ground.see(quota)
    woken = await ground.woken()
    assert woken.get("queue", []) == queues
    assert woken["quotas"] == sorted({quota.name, quota.parent} - {""})


async def test_a_quota_that_comes_wakes_those_who_waited_for_it() -> None:
    late = builders.unit("late", quota="late")
    ground = await Wired().settled(*WORLD, job_view("late"), late, builders.queue("late"))
    ground.see(builders.quota("late", cpu=1))
    woken = await ground.woken()
    assert woken["queue"] == ["late"]
    assert woken["quotas"] == ["late"]


async def test_a_quota_that_goes_wakes_its_queue_and_tells_its_units() -> None:
    ground = await Wired().settled(*WORLD)
    ground.lose(QUOTAS["team-a"])
    woken = await ground.woken()
    assert "team-a" in woken["queue"]
    assert woken["units"] == ["team-a/waits"]
    assert woken["quotas"] == ["root", "team-a"]


async def test_queues_say_whether_their_quota_is_there_whoever_waits_in_them() -> None:
    """Spec 3.8: nobody does, so none is woken."""
    ground = await Wired().settled()
    ground.lose(QUOTAS["root"])
    assert (await ground.woken())["status"] == ["apart", "team-a", "team-b"]
    ground.see(QUOTAS["root"])
    assert (await ground.woken())["status"] == ["apart", "team-a", "team-b"]


@pytest.mark.parametrize(
    ("quota", "queues"),
    [
        pytest.param(more("root"), ["team-a", "team-b"], id="of the one above"),
        pytest.param(more("team-a"), ["team-a", "team-b"], id="of one beside, both share"),
        pytest.param(more("apart"), ["apart"], id="its own"),
    ],
)
async def test_11_6_queues_look_at_what_is_wrong_with_limits_above(
    quota: Quota, queues: list[str]
) -> None:
    """Nobody waits in them, so none is woken."""
    ground = await Wired().settled()
    ground.see(quota)
    assert (await ground.woken())["status"] == queues


async def test_a_quota_that_moves_wakes_those_below_both_parents() -> None:
    ground = await Wired().settled(*WORLD)
    ground.see(changed(QUOTAS["team-a"], parent=""))
    assert (await ground.woken())["queue"] == ["team-a", "team-b"]


async def test_allowed_namespaces_move_units() -> None:
    ground = await Wired().settled(*WORLD)
    ground.see(changed(QUOTAS["team-a"], annotations={keys.ALLOWED_NAMESPACES: "other"}))
    woken = await ground.woken()
    assert "team-a" in woken["queue"]
    assert woken["units"] == ["team-a/waits"]


async def test_many_quotas_that_change_at_once_are_counted_once() -> None:
    ground = await Wired().settled(*WORLD)
    for name in QUOTAS:
        ground.see(more(name))
    assert ground.pictures == 0
    woken = await ground.woken()
    assert ground.pictures == 1
    assert woken["quotas"] == ["apart", "root", "team-a", "team-b"]
    assert woken["queue"] == ["apart", "team-a", "team-b"]
    assert await ground.woken() == {}


async def test_a_changed_structure_looks_at_jobs_that_hold_nothing() -> None:
    """A namespace may be mapped to another quota now."""
    ground = await Wired().settled(*WORLD)
    ground.see(changed(QUOTAS["apart"], annotations={keys.QUOTA_NAMESPACES: '["team-a"]'}))
    jobs = (await ground.woken())["job"]
    assert jobs == sorted(job_of(each) for each in (WAITS, IN_B, APART))


# -- Queues


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"policy": "Block"}, id="policy"),
        pytest.param({"priority": 7}, id="priority"),
        pytest.param({"stop_policy": "Hold"}, id="stopped"),
        pytest.param({"annotations": {"koord-queue/skip-impossible": "true"}}, id="annotation"),
    ],
)
async def test_a_changed_queue_is_woken(fields: dict[str, Any]) -> None:
    ground = await Wired().settled(*WORLD)
    ground.see(changed(builders.queue(), **fields))
    woken = await ground.woken()
    assert woken["queue"] == ["team-a"]
    assert woken["quotas"] == ["team-a"]
    assert woken["status"] == ["team-a"]


async def test_our_own_status_of_a_queue_wakes_no_cycle() -> None:
    ground = await Wired().settled(*WORLD)
    ground.see(changed(builders.queue(), counts=(1, 0, 0)))
    assert await ground.woken() == {"quotas": ["team-a"], "status": ["team-a"]}


async def test_a_new_queue_is_woken() -> None:
    late = builders.unit("late", annotations={keys.QUEUE_NAME[0]: "late"})
    ground = await Wired().settled(*WORLD, job_view("late"), late)
    ground.see(builders.queue("late"))
    assert (await ground.woken())["queue"] == ["late"]


async def test_a_queue_that_goes_takes_its_series_along_and_is_made_again() -> None:
    ground = await Wired().settled(*WORLD)
    ground.lose(builders.queue())
    woken = await ground.woken()
    assert "queue" not in woken
    assert woken["quotas"] == ["team-a"]
    assert ground.forgotten == ["team-a"]


async def test_a_queue_in_another_namespace_is_only_told_so() -> None:
    ground = await Wired().settled(*WORLD)
    ground.see(builders.queue(namespace="team-a"))
    assert await ground.woken() == {"status": ["team-a/team-a"]}
