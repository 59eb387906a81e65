"""Which change of units, pods and jobs puts which keys on which work queues (spec 10.15)."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import builders
import msgspec
import pytest
from builders import changed, job_view, pod
from builders import namespace as namespace_view
from wired import APART, IN_B, JOBS, RUNS, UNITS, WAITS, WORLD, Wired, job_of

from kq.core import keys
from kq.core.classviews import PriorityClass, Raw
from kq.core.model import Owner, Phase
from kq.core.priority import PriorityClassView
from kq.jobs.ray import RAY_CLUSTERS

pytestmark = pytest.mark.looptime


# -- units


async def test_a_new_unit_wakes_its_queue_and_its_job() -> None:
    ground = await Wired().settled(*WORLD, job_view("new"))
    ground.see(builders.unit("new"))
    assert await ground.woken() == {
        "job": ["team-a/new"],
        "queue": ["team-a"],
        "status": ["team-a"],
    }


async def test_a_unit_that_goes_wakes_its_queue_and_its_job() -> None:
    ground = await Wired().settled(*WORLD)
    ground.lose(WAITS)
    assert await ground.woken() == {
        "job": [job_of(WAITS)],
        "queue": ["team-a"],
        "status": ["team-a"],
    }


MOVES: list[Any] = [
    pytest.param({"priority": 9}, ["team-a"], id="priority"),
    pytest.param(
        {"pod_sets": (builders.pod_set(cpu=2),), "resource": builders.amounts(cpu=2)},
        ["team-a"],
        id="request",
    ),
    pytest.param(
        {"labels": {keys.QUOTA_LABEL: "team-b"}}, ["team-a", "team-b"], id="quota, and so Queue"
    ),
    pytest.param(
        {"annotations": WAITS.annotations | {keys.QUEUE_NAME[0]: "apart"}},
        ["apart", "team-a"],
        id="Queue by name",
    ),
    pytest.param({"active": False}, ["team-a"], id="deactivated"),
]


@pytest.mark.parametrize(("fields", "queues"), MOVES)
async def test_a_unit_that_changes_its_place_wakes_old_and_new_queue(
    fields: dict[str, Any], queues: list[str]
) -> None:
    ground = await Wired().settled(*WORLD)
    ground.see(changed(WAITS, **fields))
    woken = await ground.woken()
    assert woken["queue"] == queues
    assert woken["job"] == [job_of(WAITS)]
    assert set(woken["status"]) == {"team-a", *queues}


async def test_a_unit_that_is_activated_again_wakes_its_queue() -> None:
    parked = builders.unit("parked", active=False)
    ground = await Wired().settled(*WORLD, job_view("parked"), parked)
    ground.see(changed(parked, active=True))
    assert (await ground.woken())["queue"] == ["team-a"]


async def test_a_change_that_decides_nothing_wakes_no_queue() -> None:
    ground = await Wired().settled(*WORLD)
    ground.see(changed(WAITS, labels=WAITS.labels | {"color": "red"}))
    assert await ground.woken() == {"job": [job_of(WAITS)], "status": ["team-a"]}


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda ground: ground.lose(RUNS), id="unit deleted"),
        pytest.param(
            lambda ground: ground.see(changed(RUNS, phase=Phase.SUCCEED, grants=())),
            id="grants dropped",
        ),
        pytest.param(
            lambda ground: ground.see(
                changed(RUNS, grants=(builders.grant("main", replicas=0, cpu=1),))
            ),
            id="grants lowered",
        ),
    ],
)
async def test_freed_quota_wakes_all_who_share_a_level(end: Callable[[Wired], None]) -> None:
    ground = await Wired().settled(*WORLD)
    end(ground)
    woken = await ground.woken()
    assert woken["queue"] == ["team-a", "team-b"]
    assert "team-b" in woken["status"]


async def test_the_echo_of_our_own_write_wakes_nobody() -> None:
    ground = await Wired().settled(*WORLD)
    echo = changed(WAITS, message="told by us")
    sending = ground.book.ledger.sending(WAITS.key)
    ground.hub.wrote(echo, sending)
    await ground.woken()
    ground.see(echo)
    assert await ground.woken() == {}


async def test_a_grant_that_rests_on_an_older_version_is_looked_at() -> None:
    ground = await Wired().settled(*WORLD)
    assert [each.name for each in ground.grant()] == ["waits"]
    ground.see(changed(WAITS, labels=WAITS.labels | {"color": "red"}))
    assert (await ground.woken())["grants"] == ["team-a/waits"]


async def test_with_its_last_unit_the_queue_of_a_quota_that_is_gone_is_looked_at() -> None:
    old = builders.unit("old", quota="gone")
    ground = await Wired().settled(old, builders.queue("gone"))
    ground.lose(old)
    assert (await ground.woken())["quotas"] == ["gone"]


# -- pods


PODS: list[Any] = [
    pytest.param(None, pod("waits-0", job="waits", phase="Pending"), ["waits"], id="made"),
    pytest.param("Pending", pod("waits-0", job="waits"), ["waits"], id="runs now"),
    pytest.param("Running", pod("waits-0", job="waits", phase="Succeeded"), ["waits"], id="ended"),
    pytest.param("Running", None, ["waits"], id="gone"),
    pytest.param("Running", pod("waits-0", job="waits"), [], id="nothing that counts"),
]


@pytest.mark.parametrize(("before", "after", "jobs"), PODS)
async def test_a_pod_wakes_its_job_when_it_counts_otherwise(
    before: str | None, after: Any, jobs: list[str]
) -> None:
    known = pod("waits-0", job="waits", phase=before or "")
    ground = await Wired().settled(*WORLD, *([known] if before else []))
    if after is None:
        ground.lose(known)
    else:
        ground.see(changed(after))
    woken = await ground.woken()
    assert woken.get("job", []) == [f"team-a/{name}" for name in jobs]
    assert "pods" not in woken


async def test_a_pod_on_its_way_out_is_looked_at() -> None:
    running = pod("runs-0", job="runs")
    ground = await Wired().settled(*WORLD, running)
    ground.see(changed(running, deleted_at=builders.NOW))
    assert await ground.woken() == {"pods": ["team-a/runs-0"]}


async def test_the_last_live_pod_of_an_earlier_run_wakes_its_queue() -> None:
    left = pod("waits-0", job="waits")
    ground = await Wired().settled(*WORLD, left)
    ground.lose(left)
    assert "team-a" in (await ground.woken())["queue"]


async def test_the_last_pod_of_a_child_that_is_gone_wakes_its_job() -> None:
    """A RayJob's cluster goes before its pods do (spec 8.23)."""
    left = pod("waits-0", owner=Owner("ray.io/v1", "RayCluster", "x", "child", controller=True))
    ground = await Wired().settled(*WORLD)
    ground.hub.book.jobs.put_child("child", "job-waits")
    ground.see(left)
    ground.hub.book.jobs.drop_child("child")
    await ground.woken()
    ground.lose(left)
    assert (await ground.woken())["job"] == ["team-a/waits"]


async def test_a_child_that_is_seen_after_its_pods_wakes_its_job() -> None:
    owner = Owner("ray.io/v1", "RayJob", "waits", "job-waits", controller=True)
    child = job_view("child", kind=RAY_CLUSTERS[0], uid="child", owners=(owner,))
    ground = await Wired().settled(*WORLD)
    ground.see(pod("waits-0", owner=Owner("ray.io/v1", "RayCluster", "x", "child")))
    await ground.woken()
    ground.see(child)
    assert "team-a/waits" in (await ground.woken())["job"]


async def test_live_pods_that_vanish_wake_all_who_share_a_level() -> None:
    """The job and its unit are gone already, its pod ends last."""
    left = pod("left-0", job="left")
    ground = await Wired().settled(*WORLD, left)
    ground.hub.status_taken("team-a")
    ground.lose(left)
    woken = await ground.woken()
    assert woken["queue"] == ["team-a", "team-b"]
    assert "team-a" in woken["status"]


async def test_usage_that_falls_is_told_though_nobody_waits_for_it() -> None:
    """Spec 3.1: of the level and those above it; job and unit are gone already."""
    left = pod("left-0", job="left")
    ground = await Wired().settled(left)
    ground.hub.status_taken("team-a")
    ground.hub.status_taken("root")
    ground.lose(left)
    assert await ground.woken() == {"status": ["root", "team-a"]}


async def test_a_foreign_pod_wakes_nobody() -> None:
    ground = await Wired().settled(*WORLD)
    ground.see(pod("foreign", owner=None))
    assert await ground.woken() == {}


async def test_a_unit_that_was_deleted_unseen_is_made_again() -> None:
    """Spec 9.15: its watch was silent from before it was made until after its end."""
    held = job_view("new", suspended=True)
    made = builders.unit("new", resource_version="7")
    ground = await Wired().settled(*WORLD, held)
    ground.hub.wrote(made, ground.hub.book.ledger.sending(made.key))
    await ground.woken()
    ground.shown.units.reach(7)
    assert made.key not in ground.hub.book.units
    assert (await ground.woken())["job"] == [job_of(made)]


# -- jobs


async def test_a_new_job_is_looked_at() -> None:
    ground = await Wired().settled(*WORLD)
    ground.see(job_view("new"))
    assert await ground.woken() == {"job": ["team-a/new"]}


async def test_a_job_that_goes_is_looked_at_and_its_unit_leaves_the_line() -> None:
    ground = await Wired().settled(*WORLD)
    ground.lose(JOBS[0])
    woken = await ground.woken()
    assert woken["job"] == ["team-a/waits"]
    assert woken["queue"] == ["team-a"]
    assert woken["units"] == ["team-a/waits"]


async def test_a_job_of_which_nothing_counts_has_changed_is_left_alone() -> None:
    ground = await Wired().settled(*WORLD)
    ground.see(changed(JOBS[0]))
    assert await ground.woken() == {}
    ground.see(changed(changed(JOBS[0]), pods_active=1))
    assert await ground.woken() == {"job": ["team-a/waits"]}


# -- namespaces and what is added to pods


async def test_the_labels_of_a_namespace_wake_the_queues_and_jobs_in_it() -> None:
    unlabelled = builders.unit("unlabelled", quota=None, queue="team-a")
    job = job_view("unlabelled")
    ground = await Wired().settled(*WORLD, job, unlabelled)
    ground.see(changed(namespace_view(), labels={keys.QUOTA_LABEL: "team-b"}))
    woken = await ground.woken()
    assert "team-b" in woken["queue"]
    assert woken["job"] == sorted(f"team-a/{each.name}" for each in (*UNITS, unlabelled))


async def test_a_namespace_that_changes_otherwise_wakes_nobody() -> None:
    ground = await Wired().settled(*WORLD)
    ground.see(changed(namespace_view()))
    assert await ground.woken() == {}


HIGH = PriorityClass(
    namespace="",
    name="high",
    uid="1",
    resource_version="1",
    view=PriorityClassView(name="high", value=1000),
)
WAITING_JOBS = sorted(job_of(each) for each in (WAITS, IN_B, APART))


async def test_a_priority_class_looks_at_jobs_that_hold_nothing() -> None:
    ground = await Wired().settled(*WORLD)
    ground.see(HIGH)
    assert await ground.woken() == {"job": WAITING_JOBS}


@pytest.mark.parametrize(
    ("then", "queues"),
    [("PreemptLowerPriority", ["team-a"]), ("Never", [])],
    ids=["lets them take", "as before"],
)
async def test_a_priority_class_that_is_made_again_wakes_those_who_may_take_by_it(
    then: str, queues: list[str]
) -> None:
    """Spec 12.8, 13.2."""
    first, second = (
        msgspec.structs.replace(
            HIGH,
            resource_version=version,
            view=PriorityClassView(name="high", value=0, preemption_policy=said),
        )
        for version, said in (("1", "Never"), ("2", then))
    )
    named = msgspec.structs.replace(WAITS, priority_class="high")
    ground = await Wired().settled(*JOBS, named, *UNITS[1:])
    ground.shown.priority_classes.show(first, initial=True)
    await ground.woken()
    ground.see(second)
    woken = await ground.woken()
    assert woken.get("queue", []) == queues
    assert woken["job"] == WAITING_JOBS


async def test_limits_look_at_jobs_of_their_namespace_that_hold_nothing() -> None:
    elsewhere = job_view("elsewhere", namespace="team-b")
    ground = await Wired().settled(*WORLD, elsewhere)
    limits = Raw(namespace="team-a", name="limits", uid="1", resource_version="1", body={})
    ground.shown.limit_ranges.show(limits)
    assert await ground.woken() == {"job": WAITING_JOBS}


async def test_a_runtime_class_looks_at_jobs_that_hold_nothing() -> None:
    ground = await Wired().settled(*WORLD, builders.finished_job("over"))
    kata = Raw(namespace="", name="kata", uid="1", resource_version="1", body={})
    ground.shown.runtime_classes.show(kata)
    assert "team-a/over" not in (woken := await ground.woken())["job"]
    assert woken["job"] == WAITING_JOBS


async def test_first_lists_of_what_is_added_to_pods_look_at_no_job() -> None:
    ground = await Wired().settled(*WORLD)
    ground.shown.priority_classes.show(HIGH, initial=True)
    assert await ground.woken() == {}


# -- the start


async def test_once_all_is_listed_every_quota_is_looked_at_and_every_queue_woken() -> None:
    ground = Wired()
    for view in WORLD:
        ground.see(view)
    await ground.wiring.settle()
    woken = await ground.woken()
    assert woken["quotas"] == ["apart", "root", "team-a", "team-b"]
    assert woken["queue"] == ["apart", "team-a", "team-b"]


async def test_at_a_start_jobs_that_only_wait_are_looked_at_after_all_else() -> None:
    ground = Wired()
    for view in (*WORLD, builders.finished_job("over"), job_view("slipped", suspended=False)):
        ground.see(view)
    await ground.wiring.settle()
    assert (await ground.woken())["job"] == [job_of(RUNS), "team-a/slipped"]
    assert await fed(ground) == sorted(["team-a/over", *map(job_of, (WAITS, IN_B, APART))])


async def test_at_a_start_units_of_jobs_that_are_gone_are_looked_at() -> None:
    ground = Wired()
    for view in (*WORLD, builders.unit("left")):
        ground.see(view)
    await ground.wiring.settle()
    assert (await ground.woken())["job"] == ["team-a/left", job_of(RUNS)]


async def test_one_that_has_got_its_grant_meanwhile_is_not_looked_at_as_one_that_waits() -> None:
    ground = Wired()
    for view in WORLD:
        ground.see(view)
    await ground.wiring.settle()
    ground.see(changed(WAITS, phase=Phase.DEQUEUED, raw_phase="Dequeued"))
    assert job_of(WAITS) in (await ground.woken())["job"]
    assert await fed(ground) == sorted(map(job_of, (IN_B, APART)))


async def test_nothing_follows_from_what_is_listed_before_all_is() -> None:
    ground = Wired()
    for view in (*WORLD, pod("runs-1", job="runs")):
        ground.see(view)
    assert ground.hub.book.queue_of(WAITS.key) is None
    assert set(await ground.woken()) <= {"quotas", "queue", "status"}


async def fed(ground: Wired) -> list[str]:
    """What comes of the jobs when nothing else is to be done."""
    found = []
    with suppress(TimeoutError):
        while True:
            async with asyncio.timeout(1):
                found.append(await ground.queues.job.get())
            ground.queues.job.done(found[-1])
    return sorted(map(str, found))
