"""Which change puts which keys on which work queues: the table of spec 10.15, row by row."""

import asyncio
from collections.abc import Callable
from typing import Any

import builders
import pytest
from builders import INSTALL_NAMESPACE, changed, job_view, pod
from builders import namespace as namespace_view
from shells import Ground

from kq.core import keys
from kq.core.model import Phase, QueueUnit, Quota
from kq.core.options import QuotaOptions
from kq.core.podviews import PriorityClass, Raw
from kq.core.priority import PriorityClassView
from kq.quota.elasticquota import ElasticQuotas
from kq.reconcile.wiring import Wiring

pytestmark = pytest.mark.looptime


class Wired(Ground):
    """Two quotas below one parent with their Queues, and a third apart; all is settled."""

    def __init__(self) -> None:
        super().__init__()
        self.pictures = 0
        self.forgotten: list[str] = []
        self.shown: Any = self.watches
        self.wiring = Wiring(
            watches=self.watches,
            hub=self.hub,
            make_quotas=self.make_quotas,
            namespace=INSTALL_NAMESPACE,
            forget_queue=self.forgotten.append,
        )
        self.wiring.connect()
        for quota in QUOTAS.values():
            self.shown.quotas.show(quota, initial=True)
        for name in ("team-a", "team-b", "apart"):
            self.shown.queues.show(builders.queue(name), initial=True)
        for name in ("team-a", "team-b"):
            self.shown.namespaces.show(namespace_view(name), initial=True)

    def make_quotas(self, quotas: Any) -> ElasticQuotas:
        self.pictures += 1
        return ElasticQuotas.build(QuotaOptions(), quotas)

    async def settled(self, *views: Any) -> "Wired":
        """All these are there, and nothing is due."""
        for view in views:
            self.see(view)
        self.wiring.settle()
        await self.woken()
        self.pictures = 0
        return self

    def see(self, view: Any) -> None:
        self._of(view).show(view)

    def lose(self, view: Any) -> None:
        self._of(view).drop(view)

    def _of(self, view: Any) -> Any:
        return {
            "QueueUnit": self.shown.units,
            "Queue": self.shown.queues,
            "Quota": self.shown.quotas,
            "NamespaceView": self.shown.namespaces,
            "PodView": self.shown.pods,
            "JobView": self.shown.jobs["Job"],
            "PriorityClass": self.shown.priority_classes,
        }[type(view).__name__]

    async def woken(self) -> dict[str, list[str]]:
        """What has come up, in the second that status is gathered too."""
        await asyncio.sleep(1.5)
        return await self.due()


QUOTAS = {
    "root": builders.quota("root", cpu=2, is_parent=True),
    "team-a": builders.quota("team-a", cpu=2, parent="root"),
    "team-b": builders.quota("team-b", cpu=2, parent="root"),
    "apart": builders.quota("apart", cpu=2),
}
WAITS = builders.unit("waits", told=builders.Problem("WaitingForQuota", "full"))
IN_B = builders.unit("in-b", quota="team-b", told=builders.Problem("WaitingForQuota", "full"))
APART = builders.unit("apart", quota="apart", told=builders.Problem("WaitingForQuota", "full"))
RUNS = builders.unit("runs", phase=Phase.RUNNING)
UNITS = (WAITS, IN_B, APART, RUNS)
JOBS = tuple(
    job_view(each.name, labels=dict(each.labels), suspended=each is not RUNS) for each in UNITS
)
WORLD = (*JOBS, *UNITS)


def job_of(unit: QueueUnit) -> str:
    return f"team-a/{unit.name}"


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
    ground = await Wired().settled(old)
    ground.lose(old)
    assert (await ground.woken())["quotas"] == ["gone"]


# -- pods


PODS: list[Any] = [
    pytest.param(None, pod("runs-0", job="runs", phase="Pending"), ["runs"], id="made"),
    pytest.param("Pending", pod("runs-0", job="runs"), ["runs"], id="runs now"),
    pytest.param("Running", pod("runs-0", job="runs", phase="Succeeded"), ["runs"], id="ended"),
    pytest.param("Running", None, ["runs"], id="gone"),
    pytest.param("Running", pod("runs-0", job="runs"), [], id="nothing that counts"),
]


@pytest.mark.parametrize(("before", "after", "jobs"), PODS)
async def test_a_pod_wakes_its_job_when_it_counts_otherwise(
    before: str | None, after: Any, jobs: list[str]
) -> None:
    known = pod("runs-0", job="runs", phase=before or "")
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


async def test_live_pods_that_vanish_wake_all_who_share_a_level() -> None:
    """The job and its unit are gone already, its pod ends last."""
    left = pod("left-0", job="left")
    ground = await Wired().settled(*WORLD, left)
    ground.lose(left)
    assert (await ground.woken())["queue"] == ["team-a", "team-b"]


async def test_a_foreign_pod_wakes_nobody() -> None:
    ground = await Wired().settled(*WORLD)
    ground.see(pod("foreign", owner=None))
    assert await ground.woken() == {}


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
    ground.wiring.settle()
    woken = await ground.woken()
    assert woken["quotas"] == ["apart", "root", "team-a", "team-b"]
    assert woken["queue"] == ["apart", "team-a", "team-b"]
    assert woken["job"] == sorted(job_of(each) for each in UNITS)
