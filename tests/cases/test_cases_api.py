"""The API server fails, forgets, and is written by others: cases J1, J2, J5 and J6."""

import asyncio
from typing import Any

import pytest
from api import Asked, Happened, Weather, on
from case_stage import Stage

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, JOB, NAMESPACE, POD, QUEUE, QUEUE_UNIT, ResourceKind
from kq.kube.errors import Gone, Indeterminate, ServerError, TooManyRequests

pytestmark = [pytest.mark.looptime(noop_cycles=2), pytest.mark.usefixtures("same_jitter")]

A, B, C, D = (f"team-a/{name}" for name in ("a", "b", "c", "d"))
WATCHED = (JOB, POD, QUEUE_UNIT, QUEUE, ELASTIC_QUOTA, NAMESPACE)


def three() -> Stage:
    """Two of three fit."""
    stage = Stage(cpu=4)
    for name in ("a", "b", "c"):
        stage.submit(name, cpu=2)
    return stage


def bad(logs: list[Any]) -> list[Any]:
    return [each for each in logs if each["log_level"] in ("error", "critical")]


def end_of(stage: Stage) -> dict[str, Any]:
    """What must be the same however one came to know it."""
    return {
        "phases": stage.phases(),
        "held": {key: stage.is_held(key) for key in sorted(stage.api.all(JOB))},
        "owners": {
            key: unit["spec"]["consumerRef"]["uid"]
            for key, unit in stage.api.all(QUEUE_UNIT).items()
        },
        "usage": stage.usage(),
        "counts": stage.unit_counts(),
    }


# -- J1


@pytest.mark.parametrize("kind", WATCHED, ids=lambda each: each.plural)
async def test_j1_expired_in_the_stream_leads_to_a_fresh_list_and_nothing_is_missed(
    kind: ResourceKind, logs: list[Any]
) -> None:
    stage = three()
    async with stage.runs():
        stage.api.asked.clear()
        stage.api.expire(kind)
        stage.submit("d", cpu=2)
        stage.finish(A)
        stage.finish(B)
        await stage.settled(60)
        assert [each.short for each in stage.api.asked if each.verb == "list"] == [
            f"list {kind.plural} "
        ]
        assert [each.short for each in stage.api.asked if each.verb == "watch"] == [
            f"watch {kind.plural} "
        ]
        assert stage.phases() == {A: "Succeed", B: "Succeed", C: "Running", D: "Running"}
        assert stage.is_ready()
    assert [each for each in logs if "dropped" in each["event"]] == []
    assert bad(logs) == []


@pytest.mark.parametrize("kind", [JOB, QUEUE_UNIT, POD], ids=lambda each: each.plural)
async def test_j1_expired_over_and_over_is_met_with_pauses(kind: ResourceKind) -> None:
    """A server that forgets every second is not asked for its whole list every second."""
    stage = three()
    async with stage.runs():
        stage.api.asked.clear()
        for _ in range(120):
            stage.api.expire(kind)
            await stage.settled(1)
        assert sum(each.verb == "list" for each in stage.api.asked) <= 20
        await stage.settled(420)  # a watch that came to its end in peace
        assert stage.is_ready()


# -- J2


class Cut(Weather):
    """The connection of all watches is lost for so many seconds; what they missed is forgotten."""

    def __init__(self, stage: Stage, seconds: float, error: Exception) -> None:
        self._stage, self._seconds, self._error = stage, seconds, error
        self._until: float | None = None

    async def on_watch(self, kind: ResourceKind, happened: Happened) -> int:
        if self._is_cut():
            await asyncio.sleep(0.01)
            self._stage.api.forget_history(kind)
            raise self._error
        return 1

    async def before(self, asked: Asked) -> None:
        if asked.verb in ("list", "watch") and self._until and self._is_cut():
            raise Indeterminate("the connection broke")

    def _is_cut(self) -> bool:
        now = asyncio.get_running_loop().time()
        self._until = self._until or now + self._seconds
        return now < self._until


BREAKS = pytest.mark.parametrize(
    "error",
    [Indeterminate("the connection broke"), Gone("too old", code=410), ServerError("x", code=500)],
    ids=["broken", "410", "500"],
)


@BREAKS
@pytest.mark.parametrize("seconds", [0.5, 20.0], ids=["short", "long"])
async def test_j2_what_vanished_while_disconnected_ends_and_what_came_is_queued(
    error: Exception, seconds: float
) -> None:
    stage = three()
    async with stage.runs():
        kept = {key: stage.unit(key)["metadata"]["uid"] for key in (A, C)}
        writes = len(stage.api.writes_to(JOB, A))
        stage.api.weather = Cut(stage, seconds, error)
        stage.delete(B)
        stage.submit("d", cpu=2)
        await stage.settled(120)
        assert stage.phases() == {A: "Running", C: "Running", D: "Enqueued"}
        assert {key: stage.unit(key)["metadata"]["uid"] for key in (A, C)} == kept
        assert len(stage.api.writes_to(JOB, A)) == writes
        assert stage.usage() == {"cpu": "4"}
        after = end_of(stage)
        await stage.kill()
        stage.api.asked.clear()
        stage.start()
        await stage.settled(60)
        assert end_of(stage) == after
        assert [each.short for each in stage.api.writes] == []


@BREAKS
async def test_j2_a_job_that_changed_and_one_that_ended_meanwhile_are_seen(
    error: Exception,
) -> None:
    stage = three()
    async with stage.runs():
        stage.api.weather = Cut(stage, 20.0, error)
        stage.finish(A)
        stage.api.edit(JOB, C, {"metadata": {"annotations": {keys.ACTIVE: "false"}}})
        stage.submit("d", cpu=2)
        await stage.settled(120)
        assert stage.phases() == {A: "Succeed", B: "Running", C: "Enqueued", D: "Running"}
        assert stage.message(C) == "deactivated"


async def test_j2_a_quota_that_went_while_disconnected_lets_nobody_in() -> None:
    stage = three()
    async with stage.runs():
        stage.api.weather = Cut(stage, 20.0, Indeterminate("the connection broke"))
        stage.api.remove(ELASTIC_QUOTA, "quotas/team-a")
        await stage.settled(120)
        stage.finish(A)
        await stage.settled()
        assert stage.phases() == {A: "Succeed", B: "Running", C: "Enqueued"}
        assert stage.message(C) == "quota team-a does not exist"


# -- J5


class Interfering(Weather):
    """Another controller writes each object just before we do, so many times."""

    def __init__(self, stage: Stage, match: str, times: int) -> None:
        self._stage, self._match, self._times = stage, match, times
        self.done = 0

    async def before(self, asked: Asked) -> None:
        found = self._stage.api.all(asked.kind).get(asked.key)
        if found is None or self._match not in asked.short or self.done >= self._times:
            return
        self.done += 1
        meta = {"annotations": {"example.com/x": str(self.done)}, "finalizers": ["example.com/f"]}
        change: dict[str, Any] = {"metadata": meta}
        if asked.kind in (JOB, QUEUE_UNIT):
            change["status"] = {"foreign": self.done}
        self._stage.api.edit(asked.kind, asked.key, change)


WRITES = [
    pytest.param("patch queueunits/status", QUEUE_UNIT, id="grant"),
    pytest.param("patch jobs", JOB, id="release"),
    pytest.param("patch queues/status", QUEUE, id="status of the Queue"),
]


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize(("match", "kind"), WRITES)
async def test_j5_what_others_wrote_in_between_survives_and_we_judge_again(
    match: str, kind: ResourceKind, times: int, logs: list[Any]
) -> None:
    stage = Stage(cpu=4)
    stage.submit("a", cpu=2)
    interfering = Interfering(stage, match, times)
    stage.api.weather = interfering
    async with stage.runs():
        await stage.settled(30)
        assert interfering.done == times
        assert stage.phase(A) == "Running"
        [touched] = stage.api.all(kind).values()
        assert touched["metadata"]["annotations"]["example.com/x"] == str(times)
        assert touched["metadata"]["finalizers"] == ["example.com/f"]
        if kind is not QUEUE:
            assert touched["status"]["foreign"] == times
        assert len(stage.api.writes_to(kind)) <= 4 + 2 * times
    assert bad(logs) == []


async def test_j5_a_conflict_while_suspending_changes_nothing_of_others(logs: list[Any]) -> None:
    stage = Stage(cpu=4)
    stage.submit("full", cpu=4)
    async with stage.runs():
        stage.api.weather = Interfering(stage, "patch jobs", 2)
        stage.submit("a", cpu=2, suspend=False)
        await stage.settled(60)
        assert stage.is_held(A)
        assert stage.job(A)["metadata"]["annotations"]["example.com/x"] == "2"
        assert stage.job(A)["metadata"]["finalizers"] == ["example.com/f"]
        assert len(stage.api.writes_to(JOB, A)) == 3
    assert bad(logs) == []


async def test_j5_every_patch_names_only_what_is_ours() -> None:
    """Nothing that was read is written back: no whole spec, no metadata, no list of others."""
    stage = three()
    async with stage.runs():
        stage.finish(A)
        await stage.settled()
        stage.suspend(C, True)
        await stage.settled()
    ours = {
        (JOB.plural, None): {("metadata", "annotations"), ("spec", "suspend")},
        (QUEUE_UNIT.plural, None): {("spec", "active")},
    }
    for each in stage.api.writes:
        if each.verb == "patch" and each.kind in (JOB, QUEUE_UNIT):
            assert each.resource_version
            assert each.uid
            body = each.body or {}
            if each.subresource == "status":
                assert body.keys() == {"status"}
            else:
                named = {(part, name) for part, values in body.items() for name in values}
                assert named <= ours[each.kind.plural, each.subresource]


# -- J6


@pytest.mark.parametrize("match", ["patch jobs", "patch queueunits/status", "create queueunits"])
async def test_j6_a_patch_of_what_is_gone_ends_the_matter(match: str, logs: list[Any]) -> None:
    """The object goes just before the write, which meets 404 (or a unit made for nobody)."""
    stage = Stage(cpu=4)
    stage.submit("a", cpu=2)
    gone: list[str] = []

    class Going(Weather):
        async def before(self, asked: Asked) -> None:
            if match in asked.short and not gone:
                gone.append(asked.short)
                stage.delete(A)
                if asked.kind is QUEUE_UNIT and asked.verb == "patch":
                    stage.api.remove(QUEUE_UNIT, asked.key)

    stage.api.weather = Going()
    async with stage.runs():
        await stage.settled(75)
        tries = [each.short for each in stage.api.writes if each.short == gone[0]]
        assert len(tries) == 1
        assert stage.phases() == {}
        assert stage.usage() == {"cpu": "0"}
    assert bad(logs) == []


async def test_j6_a_delete_of_what_is_gone_ends_the_matter(logs: list[Any]) -> None:
    stage = Stage(cpu=4)
    stage.played.collects = None
    stage.submit("a", cpu=2)
    async with stage.runs():

        class Going(Weather):
            async def before(self, asked: Asked) -> None:
                if asked.verb == "delete":
                    stage.api.remove(QUEUE_UNIT, asked.key)

        stage.api.weather = Going()
        stage.delete(A)
        await stage.settled(120)
        deletes = [each for each in stage.api.writes if each.verb == "delete"]
        assert len(deletes) == 1
        assert deletes[0].uid
        assert stage.usage() == {"cpu": "0"}
    assert bad(logs) == []


async def test_j6_a_unit_of_a_new_job_is_left_where_the_old_ones_was_to_be_deleted(
    logs: list[Any],
) -> None:
    """DELETE with the old uid meets 409: the name belongs to somebody else by now."""
    stage = Stage(cpu=4)
    stage.played.collects = None
    stage.submit("a", cpu=2)
    async with stage.runs():
        replaced: list[str] = []

        class Replacing(Weather):
            async def before(self, asked: Asked) -> None:
                if asked.verb == "delete" and not replaced:
                    body = stage.unit(A)
                    stage.api.remove(QUEUE_UNIT, A)
                    meta = {**body["metadata"], "uid": "another", "ownerReferences": []}
                    stage.api.put(QUEUE_UNIT, {**body, "metadata": meta, "status": {}})
                    replaced.append(asked.uid or "")

        stage.api.weather = Replacing()
        stage.delete(A)
        await stage.settled(70)
        assert stage.unit(A)["metadata"]["uid"] == "another"
        assert replaced == [each.uid for each in stage.api.writes if each.verb == "delete"]
    assert bad(logs) == []


# -- neighbours: errors that pass


PASSING = [
    pytest.param(ServerError("etcdserver: request timed out", code=500), False, id="500"),
    pytest.param(TooManyRequests("slow down", code=429, retry_after=2.0), False, id="429"),
    pytest.param(Indeterminate("no answer"), False, id="no answer, not done"),
    pytest.param(Indeterminate("no answer"), True, id="no answer, done"),
]


@pytest.mark.parametrize("match", ["create queueunits", "patch queueunits/status", "patch jobs"])
@pytest.mark.parametrize(("error", "applied"), PASSING)
async def test_an_error_that_passes_delays_and_changes_nothing(
    error: Exception, applied: bool, match: str
) -> None:
    stage = three()
    stage.api.fail(error, on(match), applied=applied)
    async with stage.runs():
        await stage.settled(60)
        assert sorted(stage.phases().values()) == ["Enqueued", "Running", "Running"]
        assert len(stage.onlooker.granted) == len(set(stage.onlooker.granted)) == 2
        assert len(stage.onlooker.released) == 2
        assert stage.usage() == {"cpu": "4"}
    assert stage.onlooker.most == 4
