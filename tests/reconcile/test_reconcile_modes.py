"""Trees and ResourceQuotas: what wakes whom, Queues made on demand, faults (3.3, 10.15, 11.6)."""

import asyncio
from datetime import timedelta
from typing import Any

import builders
import pytest
from api import Json
from builders import INSTALL_NAMESPACE, amounts, changed, pod
from modes import Moded, node, resource_quota, tree

from kq.core import keys
from kq.core.classviews import PriorityClass
from kq.core.kinds import QUEUE
from kq.core.model import Phase, QueueUnit
from kq.core.priority import PriorityClassView
from kq.core.quotaviews import Scope
from kq.decide.quotafaults import Fault, QuotaRemarks
from kq.quota.treeview import quota_tree
from kq.reconcile.controller import Request
from kq.reconcile.quotas import QuotasReconciler
from kq.reconcile.shown import samples
from kq.reconcile.status import StatusReconciler

pytestmark = pytest.mark.looptime

TREE = tree(node("root", cpu=4, is_parent=True), node("root/a", cpu=2), node("root/b", cpu=2))
TOLD = builders.Problem("WaitingForQuota", "full")


async def settled(ground: Moded, *views: Any) -> Moded:
    for view in views:
        see(ground, view)
    await ground.wiring.settle()
    await woken(ground)
    return ground


def see(ground: Moded, view: Any) -> None:
    informers = {
        "QueueUnit": ground.shown.units,
        "Queue": ground.shown.queues,
        "PodView": ground.shown.pods,
        "JobView": ground.shown.jobs["Job"],
        "PriorityClass": ground.shown.priority_classes,
    }
    informers.get(type(view).__name__, ground.shown.quotas).show(view)


async def woken(ground: Moded) -> dict[str, list[str]]:
    """What has come up, in the second that status is gathered too."""
    await asyncio.sleep(1.5)
    return await ground.due()


def waits(name: str, quota: str | None, queue: str, **fields: Any) -> QueueUnit:
    return builders.unit(name, quota=quota, queue=queue, told=TOLD, **fields)


def keeper(ground: Moded, *faults: Fault, default_policy: str = "Priority") -> QuotasReconciler:
    return QuotasReconciler(
        client=ground.api,  # type: ignore[arg-type]
        hub=ground.hub,
        teller=ground.teller,
        queues=ground.watches.queues.lister,
        faults=lambda queue: faults,
        namespace=INSTALL_NAMESPACE,
        default_policy=default_policy,
    )


def made(ground: Moded) -> dict[str, Json]:
    return {key.partition("/")[2]: body for key, body in ground.api.all(QUEUE).items()}


async def look(ground: Moded, *queues: str) -> None:
    for name in queues:
        await keeper(ground).reconcile(Request("", name))


# -- trees


async def test_10_15_a_changed_node_wakes_those_at_it_and_below() -> None:
    lines = [builders.queue("root-a"), builders.queue("root-b")]
    jobs = [builders.job_view(each) for each in ("a", "b")]
    units = [waits("a", "a", "root-a"), waits("b", "b", "root-b")]
    ground = await settled(Moded("ElasticQuota", TREE), *lines, *jobs, *units)
    root, a, b = TREE.nodes
    see(ground, changed(TREE, nodes=(root, node("root/a", cpu=3), b)))
    found = await woken(ground)
    assert found["queue"] == ["root-a"]
    assert found["quotas"] == ["root", "root-a", "root-b"]
    see(ground, changed(TREE, nodes=(node("root", cpu=9, is_parent=True), a, b)))
    assert (await woken(ground))["queue"] == ["root-a", "root-b"]


async def test_3_3_leaves_get_queues_and_an_inner_node_gets_one_for_its_unit() -> None:
    ground = await settled(Moded("ElasticQuota", TREE))
    await look(ground, "root", "root-a", "root-b", "nothing")
    assert sorted(made(ground)) == ["root-a", "root-b"]
    see(ground, builders.job_view("r"))
    see(ground, waits("r", "root", ""))
    assert "root" in (await woken(ground))["quotas"]
    await look(ground, "root")
    assert sorted(made(ground)) == ["root", "root-a", "root-b"]


async def test_10_5_a_queue_follows_the_attributes_of_its_node() -> None:
    labels, annotations = {keys.POLICY_LABELS[0]: "Block"}, {"koord-queue/max-depth": "3"}
    leaf = node("root", annotations=annotations)
    leaf = changed(leaf, labels=labels)
    ground = await settled(Moded("ElasticQuota", tree(leaf)))
    await look(ground, "root")
    queue = made(ground)["root"]
    assert queue["spec"]["queuePolicy"] == "Block"
    assert queue["metadata"]["annotations"]["koord-queue/max-depth"] == "3"


@pytest.mark.parametrize("key", [keys.POLICY_LABELS[1], keys.THRESHOLD[1]])
async def test_10_14_attributes_are_read_in_the_old_spelling_too(key: str) -> None:
    raw = {"metadata": {"name": "t", "namespace": "kube-system", "uid": "t"}}
    root = {"name": "root", "attributes": {key: "Block", keys.MAX_DEPTH[1]: "3"}}
    found = quota_tree(builders.as_bytes({**raw, "spec": {"root": root}}))
    assert found is not None
    ground = await settled(Moded("ElasticQuota", found))
    await look(ground, "root")
    queue = made(ground)["root"]
    assert queue["metadata"]["annotations"][keys.MAX_DEPTH[1]] == "3"
    is_policy = key == keys.POLICY_LABELS[1]
    assert queue["spec"]["queuePolicy"] == ("Block" if is_policy else "Priority")
    assert (key in queue["metadata"]["annotations"]) is not is_policy


async def test_3_8_the_queue_of_a_node_goes_with_it() -> None:
    ground = await settled(Moded("ElasticQuota", TREE))
    await look(ground, "root-a", "root-b")
    for name in ("root-a", "root-b"):
        ground.show_queue(name)
    root, a, _ = TREE.nodes
    see(ground, changed(TREE, nodes=(root, a)))
    assert "root-b" in (await woken(ground))["quotas"]
    await look(ground, "root-a", "root-b")
    assert sorted(made(ground)) == ["root-a"]


async def test_11_6_a_fault_of_a_tree_is_told_once_while_it_stays() -> None:
    ground = Moded("ElasticQuota", TREE)
    fault = Fault(TREE, "InvalidQuota", ("something is wrong",))
    reconciler = keeper(ground, fault)
    for _ in range(2):
        await reconciler.reconcile(Request("", "root"))
    told = "Warning InvalidQuota ElasticQuotaTree/tree: something is wrong"
    assert ground.notes.take() == [told]


# -- ResourceQuotas


async def test_3_3_a_namespace_gets_its_queue_with_its_first_unit() -> None:
    ground = await settled(Moded("ResourceQuota", resource_quota()))
    await look(ground, "team-a")
    assert made(ground) == {}
    see(ground, builders.job_view("a"))
    see(ground, waits("a", None, ""))
    assert (await woken(ground))["quotas"] == ["team-a"]
    await look(ground, "team-a")
    assert sorted(made(ground)) == ["team-a"]


@pytest.mark.parametrize(
    ("edited", "policy"), [(None, "Block"), ("Intelligent", "Intelligent"), ("", "Block")]
)
async def test_10_5_a_namespaces_queue_follows_the_default_after_a_restart(
    edited: str | None, policy: str
) -> None:
    """StrictPriority is set on a manager whose Queues are there already."""
    ground = await settled(Moded("ResourceQuota", resource_quota()))
    see(ground, builders.job_view("a"))
    see(ground, waits("a", None, ""))
    await look(ground, "team-a")
    if edited is not None:
        ground.api.edit(QUEUE, f"{INSTALL_NAMESPACE}/team-a", {"spec": {"queuePolicy": edited}})
    for _ in range(2):
        ground.show_queue()
        await keeper(ground, default_policy="Block").reconcile(Request("", "team-a"))
    assert made(ground)["team-a"]["spec"]["queuePolicy"] == policy


async def test_the_queue_is_made_for_a_unit_that_kq_itself_has_just_made() -> None:
    """The watch shows it as an echo, which has woken all else already."""
    ground = await settled(Moded("ResourceQuota", resource_quota()))
    unit = waits("a", None, "")
    ground.book.saw(builders.job_view("a"))
    ground.book.saw(unit)
    await woken(ground)
    see(ground, unit)
    assert (await woken(ground))["quotas"] == ["team-a"]


async def test_what_is_in_use_of_a_quota_wakes_nobody() -> None:
    """Its controller writes it for every pod; what kq reads of it stays as it was."""
    rq = resource_quota()
    ground = await settled(Moded("ResourceQuota", rq), builders.queue(), waits("a", None, ""))
    see(ground, changed(rq))
    assert await woken(ground) == {}


@pytest.mark.parametrize(
    ("more", "started"),
    [
        pytest.param(resource_quota(cpu=4), ["a"], id="more"),
        pytest.param(resource_quota(cpu=1), [], id="less"),
        pytest.param(resource_quota(scopes=["Terminating"]), ["a"], id="of other pods"),
    ],
)
async def test_10_15_a_changed_quota_wakes_its_namespace(more: Any, started: list[str]) -> None:
    views = (builders.queue(), builders.job_view("a"), waits("a", None, "", cpu=3))
    ground = await settled(Moded("ResourceQuota", resource_quota()), *views)
    assert ground.grant() == []
    see(ground, changed(more))
    assert "team-a" in (await woken(ground))["queue"]
    assert [each.name for each in ground.grant()] == started


async def test_11_15_another_default_class_counts_pods_anew() -> None:
    rq = resource_quota(scopes=[])
    high = changed(rq, scopes=(Scope("PriorityClass", "In", ("usual",)),))
    views = (builders.queue(), builders.job_view("a"), waits("a", None, "", cpu=3))
    ground = await settled(Moded("ResourceQuota", high), *views)
    usual = PriorityClass(
        namespace="",
        name="usual",
        uid="usual",
        resource_version="1",
        view=PriorityClassView(name="usual", value=1, global_default=True),
    )
    ground.default_class = "usual"
    see(ground, usual)
    await woken(ground)
    assert ground.grant() == []
    message = "cannot start: 3 cpu requested, but max of quota team-a/rq is 2"
    assert ground.book.verdict("team-a/a").message == message  # type: ignore[union-attr]


async def test_11_16_pods_of_others_count_until_they_end() -> None:
    own = pod("own", owner=None, request=amounts(cpu=2))
    views = (builders.queue(), builders.job_view("a"), own, waits("a", None, "", cpu=1))
    ground = await settled(Moded("ResourceQuota", resource_quota()), *views)
    assert ground.grant() == []
    see(ground, changed(own, phase="Succeeded"))
    assert (await woken(ground))["queue"] == ["team-a"]
    assert [each.name for each in ground.grant()] == ["a"]


async def test_3_1_the_status_of_a_queue_shows_what_is_in_use_by_the_keys_of_the_quotas() -> None:
    rqs = (
        resource_quota("a", limit=amounts(**{"requests.cpu": 4})),
        resource_quota("b", limit=amounts(cpu=9, pods=5)),
        resource_quota("c", limit=amounts(cpu=9), scopes=["Terminating"]),
    )
    runs = builders.unit("r", quota=None, cpu=2, phase=Phase.RUNNING)
    ground = await settled(Moded("ResourceQuota", *rqs), builders.job_view("r"), runs)
    ground.queue()
    status = StatusReconciler(
        client=ground.api,  # type: ignore[arg-type]
        hub=ground.hub,
        teller=ground.teller,
        queues=ground.watches.queues.lister,
        namespace=INSTALL_NAMESPACE,
        policies=("Priority",),
        remarks=QuotaRemarks(dict),
        clock=ground.clock,
        monotonic=lambda: 0.0,
    )
    await status.reconcile(Request("", "team-a"))
    written = ground.status(f"{INSTALL_NAMESPACE}/team-a", QUEUE)
    assert written["usage"] == {"cpu": "2", "pods": "1", "requests.cpu": "2"}


async def test_18_2_metrics_show_each_quota_by_its_own_keys() -> None:
    rqs = (resource_quota("a", limit=amounts(**{"requests.cpu": 4})), resource_quota("b", cpu=9))
    runs = builders.unit("r", quota=None, cpu=2, phase=Phase.RUNNING)
    ground = await settled(Moded("ResourceQuota", *rqs), builders.job_view("r"), runs)
    shown = [each for each in samples(ground.book) if each[0].startswith("kq_quota")]
    assert sorted(shown) == [
        ("kq_quota_limit", ("team-a/a", "requests.cpu"), 4.0),
        ("kq_quota_limit", ("team-a/b", "cpu"), 9.0),
        ("kq_quota_usage", ("team-a/a", "requests.cpu"), 2.0),
        ("kq_quota_usage", ("team-a/b", "cpu"), 2.0),
    ]


async def test_11_9a_a_stuck_pod_of_others_counts_no_more() -> None:
    gone = builders.NOW - timedelta(minutes=6)
    own = pod("own", owner=None, request=amounts(cpu=2), deleted_at=gone)
    views = (builders.queue(), builders.job_view("a"), own)
    ground = await settled(Moded("ResourceQuota", resource_quota()), *views)
    see(ground, waits("a", None, "", cpu=1))
    assert ground.grant() == []
    ground.book.stuck(own)
    assert [each.name for each in ground.grant()] == ["a"]
