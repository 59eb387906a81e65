"""The manager dies, is stopped, is away, or starts slowly on the simulated cluster: L1, L2, L5.

Restart at any point changes nothing but time (spec 24.8): the end is that of a manager that lived.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
from case_stories import STORIES, Story, full
from sim_case import ALWAYS, WATCHED, Case, Object, on_stage, sort_of

from kq.core import keys
from kq.core.kinds import CONFIG_MAP, EVENT
from kq.sim.faults import Asked, Fault, Trouble, any_write, on

SETTLED = 90.0
EACH_STORY = pytest.mark.parametrize("story", STORIES, ids=lambda each: each.name)


@contextmanager
def looked_after(case: Case) -> Iterator[None]:
    """Somebody starts a new manager a second after the old one is dead."""

    async def look() -> None:
        while True:
            await asyncio.sleep(1.0)
            manager = case.simulation.manager
            if manager is not None and manager.is_over:
                await case.simulation.kill_manager()
                await case.simulation.start_manager()

    task = case.ground.loop.create_task(look())
    try:
        yield
        assert not task.done()
    finally:
        task.cancel()


def end_of(case: Case) -> Object:
    return {**case.outcome(), "releases": dict(case.onlooker.releases)}


def of_jobs(asked: Asked) -> bool:
    """Writes of jobs and units: when the status of a Queue is written is a matter of seconds."""
    return any_write(asked) and asked.plural != "queues"


def forgive(case: Case, story: Story) -> None:
    """A job that came unsuspended was released by nobody, and counts from that moment."""
    if story.name == "slipped":
        case.onlooker.wrongs.clear()


@cache
def lived(name: str) -> tuple[Object, int]:
    """The end of a story whose manager lived, and how many writes it took."""
    story = next(each for each in STORIES if each.name == name)
    with on_stage() as case:
        story.before(case)
        case.heard.clear()
        story.act(case)
        case.passes(SETTLED)
        forgive(case, story)
        return end_of(case), sum(map(of_jobs, case.heard))


# -- L1


@EACH_STORY
def test_l1_killed_at_any_write_the_end_is_the_same(story: Story) -> None:
    """Just after the write took effect, or just before, in turns."""
    expected, writes = lived(story.name)
    deaths = 0
    for number in range(max(1, writes)):
        with on_stage() as case, looked_after(case):
            story.before(case)
            death = plan_death(case, number, done=number % 2 == len(story.name) % 2)
            story.act(case)
            case.passes(SETTLED)
            forgive(case, story)
            assert (number, end_of(case)) == (number, expected)
            deaths += death.struck
    # Nobody dies just after a write that was refused.
    assert deaths >= writes - 1


def plan_death(case: Case, number: int, *, done: bool) -> Fault:
    if done:
        return case.faults.plan(Trouble.DEATH, of_jobs, spared=number)

    def kills(asked: Asked) -> bool:
        manager = case.simulation.manager
        if not of_jobs(asked) or manager is None:
            return False
        nonlocal number
        number -= 1
        if number == -1:
            manager.kill()
        return number == -1

    return case.faults.plan(Trouble.UNSENT, kills)


@pytest.mark.parametrize("story", STORIES[:4], ids=lambda each: each.name)
def test_l1_a_manager_that_gets_to_do_one_write_a_life_comes_to_the_same_end(story: Story) -> None:
    expected, writes = lived(story.name)
    with on_stage() as case, looked_after(case):
        story.before(case)
        case.plan(Trouble.DEATH, times=2 * writes)
        story.act(case)
        case.passes(2 * SETTLED + 4 * writes)
        forgive(case, story)
        assert end_of(case) == expected


@pytest.mark.parametrize("spared", [0, 1, 2, 4])
def test_l1_killed_at_an_event_nothing_is_lost(spared: int) -> None:
    expected, _ = lived("submitted")
    with on_stage() as case, looked_after(case):
        STORIES[0].before(case)
        case.plan(Trouble.DEATH, on("create", "events"), spared=spared)
        STORIES[0].act(case)
        case.passes(SETTLED)
        assert end_of(case) == expected


@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.003, 0.006, 0.01, 0.05, 1.0, 2.2], ids=str)
def test_l1_a_manager_that_is_asked_to_stop_finishes_what_it_has_in_hand(seconds: float) -> None:
    expected, _ = lived("submitted")
    with on_stage() as case:
        STORIES[0].before(case)
        STORIES[0].act(case)
        case.passes(seconds)
        begin = case.now
        case.ground.run(case.simulation.stop_manager())
        assert case.now - begin < 10.0
        case.heard.clear()
        case.passes(5)
        assert case.heard == []
        case.ground.run(case.simulation.start_manager())
        case.passes(SETTLED)
        assert end_of(case) == expected


@EACH_STORY
@pytest.mark.parametrize("seconds", [0.0, 3600.0], ids=["for a moment", "for an hour"])
def test_l1_what_happens_while_no_manager_runs_has_the_same_end(
    story: Story, seconds: float
) -> None:
    expected, _ = lived(story.name)
    with on_stage() as case:
        story.before(case)
        case.ground.run(case.simulation.kill_manager())
        story.act(case)
        case.passes(seconds)
        case.ground.run(case.simulation.start_manager())
        case.passes(SETTLED)
        forgive(case, story)
        assert end_of(case) == expected


# -- L2


SLOW_STARTS: list[Any] = [
    (Trouble.SLOW, 0, 1),
    (Trouble.FAILED, 403, 3),
    (Trouble.FAILED, 500, 2),
    (Trouble.FAILED, 503, 3),
    (Trouble.GARBLED, 0, 2),
    (Trouble.LOST, 0, 2),
    (Trouble.BUSY, 429, 2),
]


@pytest.mark.parametrize("plural", WATCHED)
@pytest.mark.parametrize("far", [0, 3])
def test_l2_nothing_is_let_in_before_all_lists_are_whole(case: Case, plural: str, far: int) -> None:
    number = (WATCHED.index(plural) + far) % len(SLOW_STARTS)
    trouble, code, times = SLOW_STARTS[number]
    full(case)
    case.ground.run(case.simulation.kill_manager())
    # Whoever knew neither units nor pods nor limits would let this one in.
    case.world.job("third", case.world.name_of("a"), cpu=1)
    before = dict(case.onlooker.grants)
    case.plan(trouble, on("list", plural), times=times, code=code, seconds=10.0)
    case.heard.clear()
    case.ground.run(case.simulation.start_manager())
    listed = [number for number, each in enumerate(case.heard) if each.verb == "list"]
    wrote = [number for number, each in enumerate(case.heard) if any_write(each)]
    assert not wrote or max(listed) < min(wrote)
    case.passes(60)
    assert dict(case.onlooker.grants) == before
    case.world.delete_job("first")
    case.until(lambda: case.phases().get("second") == "Running", "the second runs", 20.0)


@pytest.mark.parametrize("verb", ["get", "create", "patch"])
@pytest.mark.parametrize("code", [403, 500, 503])
def test_l2_a_manager_that_cannot_keep_its_first_run_waits_until_it_can(
    case: Case, verb: str, code: int
) -> None:
    full(case)
    case.ground.run(case.simulation.kill_manager())
    empty_state(case)
    case.plan(Trouble.FAILED, on(verb, "configmaps"), times=4, code=code)
    before = case.outcome()
    case.ground.run(case.simulation.start_manager())
    case.passes(30)
    assert case.outcome() == before
    case.world.delete_job("first")
    case.until(lambda: case.phases().get("second") == "Running", "the second runs", 20.0)


def empty_state(case: Case) -> None:
    """What the manager keeps of its first run is deleted by somebody."""
    case.ground.delete(CONFIG_MAP, "koord-queue", "koord-queue-state")


# -- L5, O2, I3: what is at rest stays at rest


def at_rest(case: Case) -> None:
    """Jobs in all states in which nothing is to be done."""
    world = case.world
    a, b = world.quota("a", cpu=3), world.quota("b", cpu=1)
    world.job("ended", a, cpu=1, run_for="1s")
    world.job("failed", a, cpu=1, played={"fail-after": "1s"}, spec={"backoffLimit": 0})
    world.job("paused", a, cpu=1)
    world.wait_phase("paused", "Running")
    world.change_job("paused", {"spec": {"suspend": True}})
    world.job("inactive", a, cpu=1, annotations={keys.ACTIVE: "false"})
    world.job("runs", b, cpu=1)
    world.job("waits", b, cpu=1)
    world.job("too-large", b, cpu=9)
    world.job("lost", world.name_of("nowhere"), cpu=1)
    world.job("negative", a, cpu=1, priority=-9)
    case.passes(30)


def test_l5_a_restart_on_a_cluster_at_rest_writes_nothing_and_tells_nothing(case: Case) -> None:
    at_rest(case)
    before, events = case.outcome(), len(case.ground.items(EVENT, ""))
    phases = case.phases()
    assert (phases["ended"], phases["failed"]) == ("Succeed", "Failed")
    assert {phases[name] for name in ("paused", "inactive", "too-large", "lost")} == {"Enqueued"}
    for _ in range(3):
        case.ground.run(case.simulation.kill_manager())
        case.heard.clear()
        case.ground.run(case.simulation.start_manager())
        case.passes(120)
        assert [sort_of(each) for each in case.heard if each.is_write] == []
    assert case.outcome() == before
    assert len(case.ground.items(EVENT, "")) == events


@pytest.mark.parametrize("name", ["ended", "failed"])
def test_i3_a_job_that_is_over_gets_no_new_unit_after_a_restart(case: Case, name: str) -> None:
    at_rest(case)
    case.world.delete_unit(name)
    case.passes(30)
    case.ground.run(case.simulation.kill_manager())
    case.heard.clear()
    case.ground.run(case.simulation.start_manager())
    case.passes(60)
    assert name not in case.phases()
    assert case.writes() == []


def test_o2_a_stable_cluster_is_not_written_to_in_an_hour_whatever_its_watches_do(
    case: Case,
) -> None:
    at_rest(case)
    case.passes(60)
    case.heard.clear()
    for trouble in (Trouble.EXPIRED, Trouble.DROPPED, Trouble.STALLED, Trouble.GARBLED):
        case.plan(trouble, lambda asked: asked.verb == "watch", times=11)
        case.passes(900)
    assert [sort_of(each) for each in case.heard if each.is_write] == []


def test_l2_a_manager_started_while_the_api_server_is_down_starts_when_that_is_up(
    case: Case,
) -> None:
    full(case)
    case.ground.run(case.simulation.kill_manager())
    ends = case.now + 45.0
    case.plan(Trouble.UNREACHABLE, lambda asked: case.now < ends, times=ALWAYS)
    before = case.outcome()
    case.ground.run(case.simulation.start_manager())
    assert case.now > ends
    case.passes(30)
    assert case.outcome() == before
    submits_more(case)
    case.passes(30)
    assert case.phases()["fourth"] == "Enqueued"


def submits_more(case: Case) -> None:
    case.world.job("fourth", case.world.name_of("a"), cpu=1)
