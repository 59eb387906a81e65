"""Who goes first: priorities and policies."""

import pytest
from ground import Object
from reading import phase_of
from world import World

from kq.core import keys
from kq.core.kinds import PRIORITY_CLASS


def fill(world: World, quota: str, cpu: int) -> None:
    """A job that runs until it is deleted."""
    world.job("first", quota, cpu=cpu)
    world.wait_granted("first")


def waiting_for(quota: str, cpu: int, limit: int) -> str:
    return f"waiting for quota {quota}: {cpu} cpu requested, not enough free of {limit}"


def test_a_higher_priority_overtakes(world: World) -> None:
    a = world.quota("a", cpu=2)
    fill(world, a, cpu=2)
    world.submit(world.manifest("low", a, cpu=2, priority=1))
    world.submit(world.manifest("high", a, cpu=2, priority=10))
    world.wait_message("low", waiting_for(a, 2, 2))
    world.wait_message("high", waiting_for(a, 2, 2))
    world.delete_job("first")
    world.wait_granted("high")
    world.wait_pods("high")
    assert world.phase("low") == "Enqueued"


def test_of_equal_priority_the_older_job_goes_first(world: World) -> None:
    a = world.quota("a", cpu=2)
    fill(world, a, cpu=2)
    world.job("older", a, cpu=2)
    world.next_second("older")
    world.job("newer", a, cpu=2)
    world.wait_phase("newer", "Enqueued")
    world.delete_job("first")
    world.wait_granted("older")
    assert world.phase("newer") == "Enqueued"


def test_of_equal_priority_and_age_the_names_decide(world: World) -> None:
    a = world.quota("a", cpu=2)
    fill(world, a, cpu=2)
    names = ("c", "b", "d")
    world.submit(*(world.manifest(name, a, cpu=2) for name in names))
    for name in names:
        world.wait_phase(name, "Enqueued")
    last = "first"
    for name in sorted(names, key=lambda each: (world.created(each), each)):
        world.delete_job(last)
        world.wait_granted(name)
        last = name


def test_of_jobs_submitted_together_the_first_starts(world: World) -> None:
    a = world.quota("a", cpu=1)
    names = [f"job-{number}" for number in range(8)]
    world.submit(*(world.manifest(name, a, cpu=1) for name in names))
    world.wait_granted(names[0])
    assert not any(world.pods(name) for name in names[1:])


def test_under_priority_a_smaller_job_passes_one_that_does_not_fit(world: World) -> None:
    a = world.quota("a", cpu=4)
    fill(world, a, cpu=2)
    world.submit(world.manifest("big", a, cpu=4, priority=10))
    world.wait_message("big", waiting_for(a, 4, 4))
    world.submit(world.manifest("small", a, cpu=1, run_for="0s"))
    world.wait_complete("small")
    assert world.phase("big") == "Enqueued"


def test_under_block_nobody_passes_one_that_does_not_fit(world: World) -> None:
    a = world.quota("a", cpu=4, policy="Block")
    fill(world, a, cpu=2)
    world.submit(world.manifest("big", a, cpu=4))
    world.wait_message("big", waiting_for(a, 4, 4))
    world.submit(world.manifest("small", a, cpu=1))
    world.wait_message(
        "small",
        f"queue {a} starts units of quota {a} strictly in order, an earlier one does not fit",
    )
    assert world.pods("small") == []
    world.delete_job("first")
    world.wait_granted("big")
    assert world.phase("small") == "Enqueued"
    world.delete_job("big")
    world.wait_granted("small")


def test_a_unit_whose_priority_is_edited_moves_at_once_and_stays_so(world: World) -> None:
    a = world.quota("a", cpu=2)
    fill(world, a, cpu=2)
    world.job("older", a, cpu=2)
    world.job("newer", a, cpu=2)
    world.wait_phase("newer", "Enqueued")
    world.change_unit("newer", {"spec": {"priority": 5}})
    world.delete_job("first")
    world.wait_granted("newer")
    assert world.phase("older") == "Enqueued"
    assert world.unit("newer")["spec"]["priority"] == 5


def test_an_edited_priority_goes_back_to_the_job_s_when_it_is_removed(world: World) -> None:
    a = world.quota("a", cpu=2)
    fill(world, a, cpu=2)
    world.job("second", a, cpu=2, priority=3)
    world.wait_phase("second", "Enqueued")
    world.change_unit("second", {"spec": {"priority": 5}})
    world.change_unit("second", {"spec": {"priority": None}})
    world.wait_unit("second", lambda unit: unit["spec"].get("priority") == 3)


@pytest.mark.parametrize(
    ("annotation", "wanted"),
    [
        pytest.param(None, 100, id="of its class"),
        pytest.param(7, 7, id="of its annotation, before the class"),
    ],
)
def test_the_priority_of_a_unit_is_its_job_s(
    world: World, annotation: int | None, wanted: int
) -> None:
    class_ = world.name_of("urgent")
    world.ground.create(PRIORITY_CLASS, {"metadata": {"name": class_}, "value": 100})
    a = world.quota("a", cpu=2)
    fill(world, a, cpu=2)
    world.job("second", a, cpu=2, priority=annotation, pod_spec={"priorityClassName": class_})
    seen = world.wait_phase("second", "Enqueued")
    world.ground.delete(PRIORITY_CLASS, "", class_)
    assert seen["spec"]["priority"] == wanted


def test_a_changed_annotation_moves_a_waiting_unit(world: World) -> None:
    a = world.quota("a", cpu=2)
    fill(world, a, cpu=2)
    world.job("older", a, cpu=2)
    world.job("newer", a, cpu=2)
    world.wait_phase("newer", "Enqueued")
    world.annotate_job("newer", {keys.PRIORITY: "8"})
    world.wait_unit("newer", has_priority_8)
    world.delete_job("first")
    world.wait_granted("newer")
    assert phase_of(world.unit("older")) == "Enqueued"


def has_priority_8(unit: Object) -> bool:
    return bool(unit["spec"].get("priority") == 8)
