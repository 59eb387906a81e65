"""Quotas that are nodes of an ElasticQuotaTree: limits, names, Queues (spec 11.4, 5.5, 3.3)."""

from collections.abc import Iterator

import pytest
from controlplane.cluster import Cluster
from controlplane.kq import Kq
from ground import Object
from mode_objects import SYSTEM, grow, node, plant, uproot, wait_told
from reading import condition_of, reason_of
from world import INSTALLED_IN, World
from worlds import new_world

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA_TREE, QUEUE

LIMITS = {"cpu": 4, "memory": "4Gi"}
THREE_PODS = {"parallelism": 3, "completions": 3}
QUOTA = keys.QUOTA_LABEL


@pytest.fixture(scope="module")
def tree_kq(
    audited_control_plane: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kq]:
    """kq as a deployment of the product before it was set up."""
    environment = {"QueueGroupPlugin": "elasticquota"}
    folder = tmp_path_factory.mktemp("tree-kq")
    started = Kq(
        cluster=audited_control_plane,
        folder=folder,
        as_accounts=True,
        settings={"scheduling": {"retry": "event"}},
        environment=environment,
    )
    with started:
        yield started
    assert started.errors() == []


@pytest.fixture
def world(audited_control_plane: Cluster, tree_kq: Kq) -> World:
    return new_world(audited_control_plane)


def waiting_for(quota: str, cpu: int, limit: int) -> str:
    return f"waiting for quota {quota}: {cpu} cpu requested, not enough free of {limit}"


def test_the_example_of_the_tree_runs_one_job_after_the_other(world: World) -> None:
    """Spec 23.1: three pods of 1 cpu each, twice, in a leaf of 4 cpu that lists the namespace."""
    leaf = node("root.defaultQuotaGroup", limits=LIMITS, namespaces=[world.namespace])
    plant(world, node("root", leaf, limits=LIMITS, namespaces=[]))
    queue = world.queue("root-root.defaultquotagroup")
    assert queue["spec"]["priority"] == 1000
    for name in ("job1", "job2"):
        what = {"cpu": 1, "memory": "1Gi", "spec": THREE_PODS}
        world.submit(world.manifest(name, run_for="1h", **what))
    world.wait_pods("job1", 3)
    quota = "root/root.defaultQuotaGroup"
    text = "; 3Gi memory requested, not enough free of 4Gi"
    world.wait_message("job2", waiting_for(quota, 3, 4) + text)
    held = world.wait_job("job2", bool)
    assert held["metadata"]["labels"][QUOTA] == "root.defaultQuotaGroup"
    world.delete_job("job1")
    world.wait_pods("job2", 3)


def test_the_root_limits_its_children_together(world: World) -> None:
    plant(world, node("root", node("a"), node("b"), limits={"cpu": 4}))
    world.job("first", "a", cpu=3)
    world.wait_granted("first")
    world.submit(world.manifest("second", "b", cpu=2), world.manifest("third", "b", cpu=1))
    world.wait_granted("third")
    world.wait_message(
        "second",
        "waiting for quota root, ancestor of root/b: 2 cpu requested, not enough free of 4",
    )
    world.delete_job("first")
    world.wait_granted("second")


def test_a_name_that_two_nodes_have_is_said_by_that_of_the_queue(world: World) -> None:
    teams = (node(each, node("train", limits={"cpu": 1})) for each in ("a", "b"))
    plant(world, node("root", *teams))
    world.submit(world.manifest("unclear", "train", cpu=1))
    world.wait_message("unclear", "quota train does not exist")
    world.submit(world.manifest("clear", "root-b-train", cpu=1))
    world.wait_granted("clear")
    world.submit(world.manifest("next", "root-b-train", cpu=1))
    world.wait_message("next", waiting_for("root/b/train", 1, 1))


def test_the_queue_of_an_inner_node_is_made_for_its_first_unit(world: World) -> None:
    plant(world, node("root", node("team", node("leaf"), limits={"cpu": 1})))
    world.queue("root-team-leaf")
    assert world.ground.read(QUEUE, INSTALLED_IN, "root-team") is None
    world.job("first", "team", cpu=1)
    world.wait_granted("first")
    assert world.unit("first")["spec"]["queue"] == "root-team"


def test_a_larger_max_starts_who_fits_now_and_a_lost_tree_nobody(world: World) -> None:
    plant(world, node("root", node("a", limits={"cpu": 1})))
    world.submit(world.manifest("first", "a", cpu=2))
    world.wait_message("first", "cannot start: 2 cpu requested, but max of quota root/a is 1")
    grow(world, node("root", node("a", limits={"cpu": 2})))
    world.wait_granted("first")
    world.submit(world.manifest("second", "a", cpu=1))
    world.wait_message("second", waiting_for("root/a", 1, 2))
    uproot(world)
    world.wait_message("second", "quota a does not exist")
    plant(world, node("root", node("a", limits={"cpu": 3})))
    world.wait_granted("second")


def test_attributes_set_the_policy_and_the_settings_of_the_queue(world: World) -> None:
    attributes = {keys.POLICY_LABELS[0]: "Block", "koord-queue/priority-threshold": "7"}
    plant(world, node("root", node("a", attributes=attributes)))
    queue = world.queue("root-a")
    assert queue["spec"]["queuePolicy"] == "Block"
    assert queue["metadata"]["annotations"]["koord-queue/priority-threshold"] == "7"
    grow(world, node("root", node("a", attributes={keys.POLICY_LABELS[0]: "Priority"})))
    world.wait_queue("root-a", lambda each: each["spec"]["queuePolicy"] == "Priority")
    kept = world.queue("root-a")["metadata"]["annotations"]
    assert "koord-queue/priority-threshold" not in kept


def test_a_node_may_say_which_namespaces_it_is_for(world: World) -> None:
    closed = node("a", attributes={keys.ALLOWED_NAMESPACES: "others-*"})
    plant(world, node("root", closed))
    world.submit(world.manifest("first", "a", cpu=1))
    world.wait_message("first", f"namespace {world.namespace} may not use quota root/a")
    grow(world, node("root", node("a", attributes={keys.ALLOWED_NAMESPACES: "test-*"})))
    world.wait_granted("first")


def test_a_node_that_no_label_can_name_is_named_by_its_path(world: World) -> None:
    long = "x" * 64
    plant(world, node("root", node(long, limits={"cpu": 1}, namespaces=[world.namespace])))
    world.submit(world.manifest("first", cpu=1))
    world.wait_granted("first")
    meta = world.unit("first")["metadata"]
    assert QUOTA not in meta.get("labels", {})
    assert meta["annotations"][keys.UNIT_QUOTA] == f"root/{long}"
    world.submit(world.manifest("second", cpu=1))
    world.wait_message("second", waiting_for(f"root/{long}", 1, 1))


def active_message(queue: Object) -> str | None:
    """What a Queue says that is active."""
    active = condition_of(queue, "Active")
    return None if active is None else str(active["message"])


def test_what_is_wrong_with_a_tree_is_told_on_it(world: World) -> None:
    both = ["elsewhere"]
    root = node(
        "root", node("a", namespaces=both), node("b", namespaces=both), node("c"), node("c")
    )
    plant(world, root)
    wait_told(world, "InvalidQuota", "namespace elsewhere is listed by root/a already")
    wait_told(world, "InvalidQuota", "quota root/c stands 2 times in the tree")
    world.wait_queue("root-c", lambda each: reason_of(each, "Active") == "QuotaInvalid")
    twice = "namespace elsewhere is listed by root/a already: it does not count for root/b"
    world.wait_queue("root-b", lambda each: active_message(each) == twice)
    world.wait_queue("root-a", lambda each: active_message(each) == "")
    world.submit(world.manifest("first", "c", cpu=1))
    world.wait_message("first", "quota root/c stands twice in its tree: rename one")


def test_a_younger_tree_is_ignored(world: World) -> None:
    plant(world, node("root", node("a")))
    world.queue("root-a")
    probe = world.job("probe", "a", cpu=1)
    world.next_second(probe)
    body = {
        "metadata": {"name": "younger", "namespace": SYSTEM},
        "spec": {"root": node("other", node("b"))},
    }
    world.ground.create(ELASTIC_QUOTA_TREE, body)
    wait_told(world, "DuplicateQuotaTree", "is older and counts: this one is ignored")
    assert world.ground.read(QUEUE, INSTALLED_IN, "other-b") is None
