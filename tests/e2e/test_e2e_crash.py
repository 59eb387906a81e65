"""The manager dies at any moment, the webhook is away at a submit: the end is the same."""

import random
from collections.abc import Iterator, Sequence

import pytest
from controlplane.cluster import Cluster
from controlplane.kq import Kq
from ground import Object
from reading import condition_of, is_suspended
from watcher import Watcher
from world import World

from kq.core import keys

JOBS = 6
PLACES = 2
STEPS_OF_A_JOB = 2
"""A unit is seen at least Dequeued and Succeed."""


@pytest.fixture
def watcher(world: World, control_plane: Cluster) -> Iterator[Watcher]:
    with Watcher(control_plane, world.namespace) as started:
        yield started


def submit_all(world: World) -> list[str]:
    a = world.quota("a", cpu=PLACES)
    names = [f"job-{number}" for number in range(JOBS)]
    world.submit(*(world.manifest(name, a, cpu=1, run_for="0s") for name in names))
    return names


def assert_all_ended_well(world: World, watcher: Watcher, names: Sequence[str]) -> None:
    world.wait_complete(*names)
    for name in names:
        unit = world.wait_phase(name, "Succeed")
        assert unit["status"]["attempts"] == 1
        assert unit["status"]["message"] == "Succeeded"
        assert not unit["status"].get("admissions")
        assert condition_of(unit, "Finished")
        assert len(world.pods(name)) == 1
    history = watcher.history()
    assert history.excesses == []
    assert history.peaks[world.name_of("a")] == PLACES * 1000


@pytest.mark.parametrize("steps", [0, 1, 2, 4, 7])
def test_a_manager_killed_after_some_steps_and_started_again_brings_all_to_their_end(
    mortal_kq: Kq, world: World, watcher: Watcher, steps: int
) -> None:
    names = submit_all(world)
    watcher.wait_steps(steps)
    mortal_kq.kill_manager()
    mortal_kq.start_manager()
    assert_all_ended_well(world, watcher, names)


def test_a_manager_killed_again_and_again_at_random_brings_all_to_their_end(
    mortal_kq: Kq, world: World, watcher: Watcher
) -> None:
    chance = random.Random(world.namespace)
    names = submit_all(world)
    done = 0
    while done < JOBS * STEPS_OF_A_JOB:
        target = done + chance.randint(2, 6)
        watcher.wait_steps(min(target, JOBS * STEPS_OF_A_JOB))
        mortal_kq.kill_manager()
        mortal_kq.start_manager(wait=chance.random() < 0.5)
        done = target
    assert_all_ended_well(world, watcher, names)


def test_what_happened_while_the_manager_was_away_is_made_up_for(
    mortal_kq: Kq, world: World
) -> None:
    a = world.quota("a", cpu=4)
    for name in ("ends", "deleted", "stays", "waits"):
        world.job(name, a, cpu=1, run_for="1s" if name == "ends" else "forever")
    world.wait_phase("stays", "Running")
    world.wait_granted("ends", "deleted", "waits")
    world.job("next", a, cpu=2)
    world.wait_phase("next", "Enqueued")
    mortal_kq.kill_manager()
    world.wait_complete("ends")
    world.delete_job("deleted")
    world.job("new", a, cpu=4)
    world.wait_held("new")
    mortal_kq.start_manager()
    world.wait_pods("next")
    world.wait_phase("ends", "Succeed")
    world.wait_unit_gone("deleted")
    world.wait_message("new", f"waiting for quota {a}: 4 cpu requested, not enough free of 4")
    assert world.unit("stays")["status"]["attempts"] == 1


def test_a_job_submitted_while_the_webhook_was_away_is_held_all_the_same(
    mortal_kq: Kq, world: World
) -> None:
    a = world.quota("a", cpu=2)
    world.submit(world.manifest("first", a, cpu=2))
    world.wait_granted("first")
    mortal_kq.kill_webhook()
    world.submit(world.manifest("slipped", a, cpu=2))
    told = world.wait_event("slipped", "SlippedThrough")
    assert told["type"] == "Warning"
    world.wait_held("slipped")
    world.wait_message("slipped", f"waiting for quota {a}: 2 cpu requested, not enough free of 2")
    world.ground.until(lambda: world.pods("slipped") == [], "its pods are gone")
    job = world.seen_job("slipped")
    assert job
    assert job["metadata"]["annotations"][keys.HAS_ENQUEUED] == "true"
    world.delete_job("first")
    world.wait_pods("slipped")
    world.wait_phase("slipped", "Running")


def test_jobs_submitted_while_the_manager_is_away_are_held(mortal_kq: Kq, world: World) -> None:
    a = world.quota("a", cpu=2)
    mortal_kq.kill_manager()
    world.submit(world.manifest("first", a, cpu=2), world.manifest("second", a, cpu=2))
    assert all(is_suspended(world.wait_job(name, exists)) for name in ("first", "second"))
    mortal_kq.start_manager()
    world.wait_pods("first")
    world.wait_message("second", f"waiting for quota {a}: 2 cpu requested, not enough free of 2")


def test_a_manager_that_starts_beside_held_jobs_starts_the_most_urgent_one(
    mortal_kq: Kq, world: World
) -> None:
    a = world.quota("a", cpu=1)
    mortal_kq.kill_manager()
    names = [f"job-{number}" for number in range(20)]
    world.submit(*(world.manifest(n, a, cpu=1, priority=i) for i, n in enumerate(names)))
    mortal_kq.start_manager()
    world.wait_granted(names[-1])
    assert not any(world.pods(name) for name in names[:-1])


def exists(job: Object) -> bool:
    return bool(job)
