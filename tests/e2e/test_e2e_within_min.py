"""Jobs that nobody may preempt start within the min of their quotas alone (spec 11.13)."""

from collections.abc import Iterator

import pytest
from controlplane.cluster import Cluster
from controlplane.kq import Kq
from objects import amounts
from world import World
from worlds import new_world

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA

PREEMPTIBLE = keys.PREEMPTIBLE_LABELS[0]
KEPT = {PREEMPTIBLE: "false"}
PREEMPTS = {keys.ENABLE_PREEMPTION[0]: "true"}
IS_PARENT = {keys.IS_PARENT_LABEL: "true"}


@pytest.fixture(scope="module")
def bounding_kq(
    audited_control_plane: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kq]:
    """kq that was told to bound them."""
    started = Kq(
        cluster=audited_control_plane,
        folder=tmp_path_factory.mktemp("bounding-kq"),
        as_accounts=True,
        settings={"quota": {"nonPreemptibleWithinMin": True}},
    )
    with started:
        yield started
    assert started.errors() == []


@pytest.fixture
def world(audited_control_plane: Cluster, bounding_kq: Kq) -> World:
    return new_world(audited_control_plane)


def kept(world: World, name: str, quota: str, cpu: int, priority: int | None = None) -> None:
    """Submits a job that nobody may preempt."""
    world.submit(world.manifest(name, quota, labels=KEPT, cpu=cpu, priority=priority))


def lent(world: World, name: str, quota: str, cpu: int) -> None:
    """Submits a job that others may preempt."""
    world.submit(world.manifest(name, quota, cpu=cpu))


def set_min(world: World, quota: str, cpu: int) -> None:
    world.change(ELASTIC_QUOTA, quota, {"spec": {"min": amounts({"cpu": cpu})}})


def relabel(world: World, name: str, text: str) -> None:
    """Says of a job whether others may preempt it."""
    world.change_job(name, {"metadata": {"labels": {PREEMPTIBLE: text}}})


def waits(cpu: int, minimum: int) -> str:
    asked = f"{cpu} cpu requested, not enough free of min {minimum}"
    return f"{asked} for jobs that are not preemptible"


def test_within_min_they_start_and_above_it_only_who_may_be_preempted(world: World) -> None:
    """A raised min lets them go on; a lowered one takes nothing from anybody (11.10)."""
    a = world.quota("a", cpu=6, minimum={"cpu": 2})
    kept(world, "first", a, cpu=2)
    world.wait_phase("first", "Running")
    kept(world, "second", a, cpu=1)
    world.wait_message("second", f"waiting for quota {a}: {waits(1, 2)}")
    kept(world, "huge", a, cpu=3)
    text = f"3 cpu requested, but min of quota {a} is 2 for jobs that are not preemptible"
    world.wait_message("huge", f"cannot start: {text}")
    assert world.wait_event("huge", "CanNeverFit")["message"] == f"cannot start: {text}"
    lent(world, "third", a, cpu=2)
    world.wait_phase("third", "Running")
    assert world.phase("second") == "Enqueued"
    set_min(world, a, cpu=3)
    world.wait_phase("second", "Running")
    set_min(world, a, cpu=1)
    kept(world, "fourth", a, cpu=1)
    world.wait_message("fourth", f"waiting for quota {a}: {waits(1, 1)}")
    assert (world.phase("first"), world.phase("second")) == ("Running", "Running")
    shown = world.wait_queue(a, lambda each: each["status"].get("admittedUnits") == 3)
    assert shown["status"]["usage"] == {"cpu": "5"}


def test_the_min_of_a_parent_bounds_its_children_together(world: World) -> None:
    root = world.quota("root", cpu=8, minimum={"cpu": 3}, labels=IS_PARENT)
    a, b = (world.quota(each, cpu=8, minimum={"cpu": 2}, parent=root) for each in "ab")
    kept(world, "first", a, cpu=2)
    world.wait_granted("first")
    kept(world, "second", b, cpu=2)
    world.wait_message("second", f"waiting for quota {root}, ancestor of {b}: {waits(2, 3)}")
    kept(world, "third", b, cpu=1)
    world.wait_granted("third")
    world.delete_job("third")
    world.delete_job("first")
    world.wait_granted("second")


def test_a_label_on_a_job_that_runs_counts_at_once(world: World) -> None:
    a = world.quota("a", cpu=6, minimum={"cpu": 2})
    lent(world, "first", a, cpu=2)
    world.wait_phase("first", "Running")
    relabel(world, "first", "false")
    world.wait_unit("first", lambda unit: unit["metadata"]["labels"].get(PREEMPTIBLE) == "false")
    kept(world, "second", a, cpu=1)
    world.wait_message("second", f"waiting for quota {a}: {waits(1, 2)}")
    assert world.phase("first") == "Running"
    relabel(world, "first", "true")
    world.wait_phase("second", "Running")
    relabel(world, "second", "true")
    kept(world, "third", a, cpu=2)
    world.wait_phase("third", "Running")


def test_what_is_due_to_one_that_may_not_be_preempted_is_taken_from_those_that_may(
    world: World,
) -> None:
    """Spec 13.1-13.4: of one that may not nothing is taken, and for min nothing at all."""
    a = world.quota("a", cpu=4, minimum={"cpu": 3}, annotations=PREEMPTS)
    kept(world, "own", a, cpu=1)
    world.wait_phase("own", "Running")
    lent(world, "lent", a, cpu=3)
    world.wait_phase("lent", "Running")
    kept(world, "above", a, cpu=3, priority=9)
    text = f"waiting for quota {a}: 3 cpu requested, not enough free of 4; {waits(3, 3)}"
    world.wait_message("above", text)
    kept(world, "due", a, cpu=2, priority=5)
    world.wait_phase("due", "Running")
    assert world.wait_event("lent", "Preempted")["message"] == (
        f"Preempted by {world.namespace}/due for cpu of quota {a}"
    )
    assert (world.phase("own"), world.phase("above")) == ("Running", "Enqueued")
