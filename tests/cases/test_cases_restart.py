"""Crashes, slow starts, and a cluster at rest: cases L1, L2, L5 and O2."""

import asyncio
from typing import Any

import pytest
from api import Asked, Weather, on
from case_stage import Stage

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, EVENT, JOB, NAMESPACE, POD, QUEUE, QUEUE_UNIT
from kq.kube.errors import ServerError

pytestmark = [pytest.mark.looptime(noop_cycles=2), pytest.mark.usefixtures("same_jitter", "logs")]

A, B, C = (f"team-a/{name}" for name in ("a", "b", "c"))


class Dying(Weather):
    """The process dies at its n-th write: just before it is done, or just after."""

    def __init__(self, at_write: int, *, done: bool) -> None:
        self._left, self._done = at_write, done
        self.dead = asyncio.Event()

    async def before(self, asked: Asked) -> None:
        if asked.is_write and asked.kind is not EVENT and not self.dead.is_set():
            self._left -= 1
            if self._left == 0 and not self._done:
                self.dead.set()
        await self._unless_dead()

    async def after(self, asked: Asked) -> None:
        if asked.is_write and self._left == 0:
            self.dead.set()
        await self._unless_dead()

    async def _unless_dead(self) -> None:
        if self.dead.is_set():
            await asyncio.Event().wait()


# -- L1


WRITES = 12
"""More than the whole way of two jobs takes."""


@pytest.mark.parametrize("done", [True, False], ids=["done", "not done"])
@pytest.mark.parametrize("at_write", range(1, WRITES + 1))
async def test_l1_killed_at_any_write_the_end_is_the_same(at_write: int, done: bool) -> None:
    stage = Stage(cpu=4)
    stage.submit("a", cpu=4)
    stage.submit("b", cpu=4)
    dying = Dying(at_write, done=done)
    stage.api.weather = dying
    stage.start()
    await stage.settled()
    await stage.kill()
    pods = stage.pods(A)
    stage.api.weather = Weather()
    stage.start()
    await stage.settled(60)
    assert stage.phases() == {A: "Running", B: "Enqueued"}
    assert stage.is_held(B)
    assert stage.usage() == {"cpu": "4"}
    assert stage.onlooker.most == 4
    assert stage.onlooker.released == [A]
    assert stage.onlooker.held == []
    assert set(pods) <= set(stage.pods(A))
    assert stage.unit(A)["status"]["attempts"] == 1
    stage.finish(A)
    await stage.settled()
    assert stage.phases() == {A: "Succeed", B: "Running"}
    await stage.stop()


async def test_l1_released_but_not_yet_told_running_it_is_counted_once() -> None:
    """Between "resume" and "status": the job runs, its unit still says Dequeued."""
    stage = Stage(cpu=4)
    stage.submit("a", cpu=4)
    stage.submit("b", cpu=4)
    async with stage.runs():
        await stage.kill()
        stage.api.edit(QUEUE_UNIT, A, {"status": {"phase": "Dequeued"}})
        stage.start()
        await stage.settled()
        assert stage.phases() == {A: "Running", B: "Enqueued"}
        assert stage.usage() == {"cpu": "4"}


@pytest.mark.parametrize("phase", ["Enqueued", ""], ids=["Enqueued", "no phase yet"])
async def test_l1_released_though_its_unit_says_that_it_waits(phase: str) -> None:
    """The grant was lost, the release was not: it is not let go, charged or suspended again."""
    stage = Stage(cpu=4)
    stage.submit("a", cpu=4)
    stage.submit("b", cpu=4)
    async with stage.runs():
        await stage.kill()
        lost = {"phase": phase, "admissions": [], "conditions": [], "attempts": 0}
        stage.api.edit(QUEUE_UNIT, A, {"status": lost})
        writes = len(stage.api.writes_to(JOB))
        stage.start()
        await stage.settled()
        assert stage.phases() == {A: "Running", B: "Enqueued"}
        assert stage.usage() == {"cpu": "4"}
        assert len(stage.api.writes_to(JOB)) == writes
        assert stage.onlooker.most == 4


async def test_l1_units_lost_altogether_are_made_again_and_nothing_starts_beside() -> None:
    stage = Stage(cpu=4)
    stage.submit("a", cpu=4)
    stage.submit("b", cpu=4)
    async with stage.runs():
        await stage.kill()
        stage.api.remove(QUEUE_UNIT, A)
        stage.api.remove(QUEUE_UNIT, B)
        stage.start()
        await stage.settled()
        assert stage.phases() == {A: "Running", B: "Enqueued"}
        assert stage.onlooker.released == [A]
        assert stage.onlooker.held == []


@pytest.mark.parametrize("done", [True, False], ids=["done", "not done"])
@pytest.mark.parametrize("at_write", range(1, 9))
async def test_l1_killed_at_any_write_of_a_pause_it_is_a_pause(at_write: int, done: bool) -> None:
    stage = Stage(cpu=4)
    stage.submit("a", cpu=4)
    stage.submit("b", cpu=4)
    async with stage.runs():
        stage.api.weather = Dying(at_write, done=done)
        stage.suspend(A, True)
        await stage.settled()
        await stage.kill()
        stage.api.weather = Weather()
        stage.start()
        await stage.settled(60)
        assert stage.phases() == {A: "Enqueued", B: "Running"}
        assert stage.unit(A)["spec"]["active"] is False
        assert stage.message(A).startswith("Paused because the job was suspended by someone else")
        assert stage.is_held(A)
        assert stage.onlooker.released == [A, B]
        assert stage.onlooker.most == 4


@pytest.mark.parametrize("done", [True, False], ids=["done", "not done"])
@pytest.mark.parametrize("at_write", range(1, 9))
async def test_l1_killed_at_any_write_of_a_deactivation_the_quota_comes_back(
    at_write: int, done: bool
) -> None:
    stage = Stage(cpu=4)
    stage.submit("a", cpu=4)
    stage.submit("b", cpu=4)
    async with stage.runs():
        stage.api.weather = Dying(at_write, done=done)
        stage.api.edit(QUEUE_UNIT, A, {"spec": {"active": False}})
        await stage.settled()
        await stage.kill()
        stage.api.weather = Weather()
        stage.start()
        await stage.settled(60)
        assert stage.phases() == {A: "Enqueued", B: "Running"}
        assert stage.message(A) == "Evicted because the queue unit is deactivated"
        assert stage.is_held(A)
        assert stage.onlooker.most == 4
        stage.api.edit(QUEUE_UNIT, A, {"spec": {"active": True}})
        stage.finish(B)
        await stage.settled()
        assert stage.phase(A) == "Running"


@pytest.mark.parametrize("done", [True, False], ids=["done", "not done"])
@pytest.mark.parametrize("at_write", range(1, 6))
async def test_l1_killed_while_a_slipped_job_is_held_again_it_is_held(
    at_write: int, done: bool
) -> None:
    stage = Stage(cpu=4)
    stage.submit("a", cpu=4)
    async with stage.runs():
        stage.api.weather = Dying(at_write, done=done)
        stage.submit("b", cpu=4, suspend=False)
        await stage.settled()
        await stage.kill()
        stage.api.weather = Weather()
        stage.start()
        await stage.settled(60)
        assert stage.phases() == {A: "Running", B: "Enqueued"}
        assert stage.is_held(B)
        assert stage.pods(B) == []
        assert stage.usage() == {"cpu": "4"}


# -- L2


class Slow(Weather):
    """Lists of one kind take so long, or fail so often."""

    def __init__(self, kind: Any, *, seconds: float = 0.0, failures: int = 0) -> None:
        self._kind, self._seconds, self._failures = kind, seconds, failures

    async def before(self, asked: Asked) -> None:
        if asked.verb != "list" or asked.kind is not self._kind:
            return
        await asyncio.sleep(self._seconds)
        if self._failures > 0:
            self._failures -= 1
            raise ServerError("etcdserver: request timed out", code=500)


@pytest.mark.parametrize("trouble", [{"seconds": 10.0}, {"failures": 2}, {"failures": 6}], ids=str)
@pytest.mark.parametrize(
    "kind",
    [POD, QUEUE_UNIT, JOB, QUEUE, ELASTIC_QUOTA, NAMESPACE],
    ids=lambda each: each.plural,
)
async def test_l2_nothing_is_let_in_before_all_lists_are_whole(
    kind: Any, trouble: dict[str, Any]
) -> None:
    """The running jobs fill the quota; one waits."""
    stage = Stage(cpu=4)
    stage.submit("a", cpu=2)
    stage.submit("b", cpu=2)
    async with stage.runs():
        await stage.kill()
        stage.submit("c", cpu=1)
        stage.onlooker.granted.clear()
        stage.api.weather = Slow(kind, **trouble)
        stage.start()
        assert not stage.is_synced()
        await stage.settled(120)
        assert stage.is_synced()
        assert stage.onlooker.granted == []
        assert stage.phases() == {A: "Running", B: "Running", C: "Enqueued"}
        assert stage.onlooker.most == 4
        stage.finish(A)
        await stage.settled()
        assert stage.phase(C) == "Running"


async def test_l2_pods_of_jobs_without_a_unit_keep_new_ones_out_after_a_restart() -> None:
    """The job is gone, its pods are still ending, when the new leader looks around."""
    stage = Stage(cpu=4)
    stage.submit("a", cpu=4)
    async with stage.runs():
        await stage.kill()
        stage.played.lingers = 120.0
        stage.delete(A)
        stage.submit("b", cpu=4)
        await stage.settled(2)
        stage.start()
        await stage.settled(60)
        assert stage.phase(B) == "Enqueued"
        assert stage.onlooker.most_pods == 4
        await stage.settled(120)
        assert stage.phase(B) == "Running"


async def test_l2_a_kind_that_is_not_there_for_good_does_not_keep_the_rest_from_starting() -> None:
    stage = Stage(cpu=4)
    stage.submit("a", cpu=1)
    stage.api.absent.add(ELASTIC_QUOTA.plural)
    stage.start()
    await stage.settled(30)
    assert stage.is_ready()
    assert stage.phase(A) == "Enqueued"
    assert stage.message(A) == "quota team-a does not exist"
    stage.api.absent.clear()
    await stage.settled(75)
    assert stage.phase(A) == "Running"
    await stage.stop()


# -- L5


@pytest.mark.parametrize("is_running", [False, True], ids=["never ran", "ran before"])
async def test_l5_an_inactive_unit_is_not_let_in_for_a_moment_at_start(is_running: bool) -> None:
    stage = Stage(cpu=4)
    stage.submit("a", cpu=1)
    if not is_running:
        stage.api.edit(JOB, A, {"metadata": {"annotations": {keys.ACTIVE: "false"}}})
    async with stage.runs():
        if is_running:
            stage.suspend(A, True)
            await stage.settled()
        assert stage.unit(A)["spec"]["active"] is False
        await stage.kill()
        stage.api.asked.clear()
        before = dict(stage.api.all(EVENT))
        stage.start()
        await stage.settled(60)
        assert [each.short for each in stage.api.writes] == []
        assert stage.api.all(EVENT) == before


# -- O2


def crowd(stage: Stage, jobs: int) -> None:
    """Jobs in all states: running, waiting, inactive, impossible, without quota, ended, paused."""
    for number in range(jobs):
        match number % 6:
            case 0:
                stage.submit(f"runs-{number}", cpu=1)
            case 1:
                stage.submit(f"ends-{number}", cpu=1, quota="team-b", runs=3)
            case 2:
                stage.submit(f"waits-{number}", cpu=1, quota="none-left")
            case 3:
                stage.submit(f"never-{number}", cpu=9999)
            case 4:
                stage.submit(f"lost-{number}", quota="nowhere")
            case _:
                inactive = {"annotations": {keys.ACTIVE: "false"}}
                stage.submit(f"rests-{number}", metadata=inactive)


@pytest.mark.parametrize(
    ("jobs", "resyncs"), [(60, 12), (60, 0), (500, 2)], ids=["60", "no resync", "500"]
)
async def test_o2_a_stable_cluster_is_not_written_to_in_60_minutes(jobs: int, resyncs: int) -> None:
    stage = Stage(cpu=jobs)
    stage.quota("team-b", cpu=jobs)
    stage.quota("none-left", cpu=0.5)
    crowd(stage, jobs)
    async with stage.runs():
        stage.suspend("team-a/runs-0", True)
        await stage.settled(120)
        phases = set(stage.phases().values())
        assert phases == {"Running", "Succeed", "Enqueued"}
        versions = {key: each["metadata"] for key, each in stage.api.all(QUEUE_UNIT).items()}
        stage.api.asked.clear()
        for number in range(12):
            await stage.settled(300)
            for kind in (JOB, POD, QUEUE_UNIT, QUEUE, ELASTIC_QUOTA) if number < resyncs else ():
                stage.api.expire(kind)
        await stage.settled(60)
        assert [each.short for each in stage.api.asked if each.is_write] == []
        assert versions == {
            key: each["metadata"] for key, each in stage.api.all(QUEUE_UNIT).items()
        }


async def test_o2_after_a_failed_write_it_is_done_once_and_not_again_and_again() -> None:
    stage = Stage(cpu=4)
    stage.submit("a", cpu=4)
    stage.submit("b", cpu=4)
    stage.api.fail(ServerError("x", code=500), on("patch queues/status"), times=3)
    async with stage.runs():
        await stage.settled(300)
        tries = [each for each in stage.api.writes if each.kind is QUEUE and each.verb == "patch"]
        assert 4 <= len(tries) <= 6
        stage.api.asked.clear()
        await stage.settled(600)
        assert [each.short for each in stage.api.writes] == []
