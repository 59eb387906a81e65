"""Jobs and quotas that move, of several kinds and in the tree mode, simulated: E3, E5 and E8."""

from collections.abc import Iterator

import kind_cases_kubeflow as kubeflow
import pytest
from case_plays import KINDS
from ground import Object
from kind_cases import KindCase
from kind_world import KindWorld
from mode_objects import grow, node, plant
from reading import message_of
from sim_case import Case
from simulated_ground import manifests, simulated_ground
from test_sim_case_kinds import SERVICE_ACCOUNT, stage_of
from world import INSTALLED_IN, World

from kq.core import keys
from kq.core.kinds import NAMESPACE, QUEUE, QUEUE_UNIT
from kq.settings import parse
from kq.sim.operators import extensions
from kq.sim.world import Terms

EVICTABLE = tuple(each for each in KINDS if each.evictable)
AT_ONCE, IN_TWO = "in one update", "removed, then added"


def relabel(jobs: KindWorld, quota: str, how: str) -> None:
    if how == IN_TWO:
        jobs.change("first", {"metadata": {"labels": {keys.QUOTA_LABEL: None}}})
    jobs.change("first", {"metadata": {"labels": {keys.QUOTA_LABEL: quota}}})


def used(case: Case, *quotas: str) -> list[int]:
    """Whole cpus in use of each."""
    return [int(case.world.queue(each)["status"]["usage"].get("cpu", "0")) for each in quotas]


def named_by(pods: list[Object]) -> set[str]:
    """The quotas that pods name; a RayJob's submitter is KubeRay's own, and names none."""
    named = (each["metadata"].get("labels", {}).get(keys.QUOTA_LABEL) for each in pods)
    return {each for each in named if each}


@pytest.mark.parametrize("how", [AT_ONCE, IN_TWO])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
def test_e8_a_waiting_job_of_any_kind_changes_its_line_and_its_pods_follow(
    kind: KindCase, how: str
) -> None:
    """Case E8: before those that came after it, out of the old line at once."""
    with stage_of(kind) as case:
        world, jobs = case.world, KindWorld.of(case.world, kind)
        a, b = world.quota("a", cpu=kind.cpu), world.quota("b", cpu=kind.cpu)
        for name, quota in (("ha", a), ("hb", b)):
            world.job(name, quota, cpu=kind.cpu)
            world.wait_phase(name, "Running")
        jobs.submit("first", a)
        unit = jobs.unit("first")
        world.wait_phase(unit, "Enqueued")
        case.passes(3)
        world.job("later", b, cpu=kind.cpu)
        case.passes(2)
        relabel(jobs, b, how)
        case.passes(3)
        moved = world.unit(unit)
        assert (moved["metadata"]["labels"][keys.QUOTA_LABEL], moved["spec"]["queue"]) == (b, b)
        assert message_of(moved).startswith(f"waiting for quota {b}: ")
        case.until(lambda: not world.queue(a)["status"].get("pendingUnits"), "out of the line", 20)
        world.delete_job("ha")
        case.passes(5)
        assert case.phases() == {"hb": "Running", unit: "Enqueued", "later": "Enqueued"}
        world.delete_job("hb")
        jobs.wait_running("first")
        case.passes(2)
        assert named_by(jobs.pods("first")) == {b}
        case.until(lambda: used(case, a, b) == [0, kind.cpu], "it counts there", 20)
        assert case.phases()["later"] == "Enqueued"


@pytest.mark.parametrize("how", [AT_ONCE, IN_TWO])
@pytest.mark.parametrize("kind", EVICTABLE, ids=lambda kind: kind.id)
def test_e8_a_running_job_of_any_kind_stays_where_it_is_until_its_next_run(
    kind: KindCase, how: str
) -> None:
    """Case E8, spec 2.8: its usage is neither moved nor lost; stopped, it waits in the new line."""
    with stage_of(kind) as case:
        world, jobs = case.world, KindWorld.of(case.world, kind)
        a, b = world.quota("a", cpu=kind.cpu), world.quota("b", cpu=kind.cpu)
        jobs.submit("first", a)
        unit = jobs.unit("first")
        world.wait_phase(unit, "Running")
        relabel(jobs, b, how)
        case.passes(20)
        assert world.unit(unit)["metadata"]["labels"][keys.QUOTA_LABEL] == a
        assert used(case, a, b) == [kind.cpu, 0]
        assert case.phases()[unit] == "Running"
        jobs.activate("first", False)
        case.until(lambda: used(case, a, b) == [0, 0], "it has stopped", 30)
        jobs.activate("first", True)
        jobs.wait_running("first")
        case.until(lambda: used(case, a, b) == [0, kind.cpu], "it counts there", 20)
        assert named_by(jobs.pods("first")) == {b}


# -- trees


TREE = "ElasticQuota"


@pytest.fixture
def forest() -> Iterator[World]:
    """A namespace on a cluster whose quotas are those of one tree."""
    settings = parse(
        {
            "jobs": {"enabled": list(extensions(kubeflow.TF_JOB.operators))},
            "plugins": [{"name": TREE}],
        }
    )
    terms = Terms(objects=manifests(), settings=settings, operators=kubeflow.TF_JOB.operators)
    with simulated_ground(terms=terms) as ground:
        ground.create(NAMESPACE, {"metadata": {"name": "test-a"}})
        ground.wait(SERVICE_ACCOUNT, "test-a", "default", bool)
        yield World(ground=ground, namespace="test-a")


def told_in_use(world: World) -> dict[str, str]:
    """What the Queues of all nodes tell."""
    listed = world.ground.items(QUEUE, INSTALLED_IN)
    usage = {e["metadata"]["name"]: e.get("status", {}).get("usage", {}) for e in listed}
    return {name: amounts.get("cpu", "0") for name, amounts in usage.items()}


def trunk(*below_one: Object, two: tuple[Object, ...] = ()) -> Object:
    """Two groups of 4 and 2 cpus, and what hangs on them."""
    one = node("p1", *below_one, limits={"cpu": 4})
    return node("root", one, node("p2", *two, limits={"cpu": 2}), limits={"cpu": 10})


def leaf(name: str, *namespaces: str) -> Object:
    return node(name, limits={"cpu": 4}, namespaces=list(namespaces))


def test_e3_usage_of_a_node_goes_along_when_it_is_hung_below_another(forest: World) -> None:
    """Case E3 in a tree: at once, also above the new parent's max; at the end nobody has it."""
    mine = leaf("c1", forest.namespace)
    plant(forest, trunk(mine))
    jobs = KindWorld.of(forest, kubeflow.TF_JOB)
    forest.submit({**jobs.manifest("first")})
    forest.wait_phase("first-tf-qu", "Running")
    grow(forest, trunk(two=(mine, leaf("c2"))))
    forest.wait_queue("root-p2-c1", bool)
    forest.job("more", cpu=1)
    text = (
        "waiting for quota root/p2, ancestor of root/p2/c1: 1 cpu requested, not enough free of 2"
    )
    forest.wait_message("more", text)
    assert forest.phase("first-tf-qu") == "Running"
    moved = "its usage went along"
    forest.ground.until(lambda: told_in_use(forest).get("root-p2-c1") == "3", moved)
    jobs.delete("first")
    forest.wait_phase("more", "Running")
    forest.delete_job("more")
    forest.wait_unit_gone("more")
    forest.ground.until(lambda: set(told_in_use(forest).values()) == {"0"}, "nobody has anything")


def test_e5_a_namespace_that_another_node_lists_now_takes_new_jobs_along(forest: World) -> None:
    """Case E5 in a tree: who runs stays charged where it was."""
    plant(forest, trunk(leaf("c1", forest.namespace)))
    forest.job("old", cpu=3)
    forest.wait_phase("old", "Running")
    grow(forest, trunk(leaf("c1"), leaf("c3", forest.namespace)))
    forest.wait_queue("root-p1-c3", bool)
    forest.job("new", cpu=1)
    unit = forest.wait_phase("new", "Running")
    assert unit["metadata"]["labels"][keys.QUOTA_LABEL] == "c3"
    in_use = {"root-p1-c1": "3", "root-p1-c3": "1"}
    forest.ground.until(lambda: told_in_use(forest).items() >= in_use.items(), f"{in_use}")
    names = {each["metadata"]["name"] for each in forest.ground.items(QUEUE_UNIT, "test-a")}
    assert names == {"old", "new"}
