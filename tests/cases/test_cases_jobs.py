"""Life of a Job: cases I1, I2, I3, I7, I8, E6 and G3."""

import asyncio
from typing import Any

import pytest
from api import Asked, Happened, Weather, on
from case_stage import Stage

from kq.core import keys
from kq.core.kinds import JOB, QUEUE_UNIT, ResourceKind
from kq.kube.errors import ServerError

pytestmark = [pytest.mark.looptime(noop_cycles=2), pytest.mark.usefixtures("same_jitter", "logs")]

TRAIN, NEXT = "team-a/train", "team-a/waits"
STATUS, RELEASE, CREATE = "patch queueunits/status", f"patch jobs {TRAIN}", "create queueunits"


class Meanwhile(Weather):
    """Something happens just before, or just after, the first request that matches."""

    def __init__(self, match: str, act: Any, *, late: bool = False) -> None:
        self._match, self._act, self._late = match, act, late
        self._done = False

    async def before(self, asked: Asked) -> None:
        if not self._late:
            self._happen(asked)

    async def after(self, asked: Asked) -> None:
        if self._late:
            self._happen(asked)

    def _happen(self, asked: Asked) -> None:
        if not self._done and self._match in asked.short:
            self._done = True
            self._act()


class Lagging(Weather):
    """Watches of Jobs show everything so many seconds late."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def on_watch(self, kind: ResourceKind, happened: Happened) -> int:
        if kind is JOB:
            await asyncio.sleep(self._seconds)
        return 1


# -- I1: release a Job with one PATCH


async def test_i1_one_patch_releases_with_marks_on_the_version_that_was_judged() -> None:
    stage = Stage()
    stage.submit("train", cpu=4)
    judged: list[str] = []
    note = Meanwhile(CREATE, lambda: judged.append(stage.job(TRAIN)["metadata"]["resourceVersion"]))
    stage.api.weather = note
    async with stage.runs():
        [release] = stage.api.writes_to(JOB)
        assert release.verb == "patch"
        assert release.subresource is None
        assert ([release.resource_version], release.uid) == (judged, "job-train")
        assert release.body == {
            "metadata": {"annotations": {keys.DEQUEUE_TIMESTAMP: "2026-03-01T12:00:00.000Z"}},
            "spec": {"suspend": False},
        }
        assert stage.phase(TRAIN) == "Running"


BETWEEN = [
    pytest.param({"metadata": {"annotations": {"someone/else": "x"}}}, id="an annotation"),
    pytest.param({"metadata": {"labels": {"tier": "gold"}}}, id="a label"),
    pytest.param({"status": {"uncountedTerminatedPods": {}}}, id="a status"),
    pytest.param({"metadata": {"finalizers": ["someone/else"]}}, id="a finalizer"),
]


def is_kept(change: Any, found: Any) -> bool:
    """Whether all that the change says is still there."""
    if not isinstance(change, dict):
        return bool(change == found)
    return all(is_kept(each, found.get(name)) for name, each in change.items())


@pytest.mark.parametrize("change", BETWEEN)
async def test_i1_after_a_conflict_the_release_is_judged_again_on_the_fresh_job(
    change: dict[str, Any], logs: list[Any]
) -> None:
    stage = Stage()
    stage.submit("train", cpu=4)
    stage.api.weather = Meanwhile(RELEASE, lambda: stage.api.edit(JOB, TRAIN, change))
    async with stage.runs():
        first, second = stage.api.writes_to(JOB)
        for each in (first, second):
            assert each.body
            assert each.body["spec"] == {"suspend": False}
            assert each.body["metadata"]["annotations"].keys() == {keys.DEQUEUE_TIMESTAMP}
        assert int(second.resource_version or 0) > int(first.resource_version or 0)
        assert stage.onlooker.released == [TRAIN]
        assert stage.phase(TRAIN) == "Running"
        assert is_kept(change, stage.job(TRAIN))
    assert [each for each in logs if each["log_level"] == "error"] == []


async def test_i1_a_job_that_ended_before_its_release_is_not_released_after_the_conflict() -> None:
    stage = Stage()
    stage.submit("train", cpu=4)
    stage.submit("waits", cpu=4)
    stage.api.weather = Meanwhile(RELEASE, lambda: stage.finish(TRAIN, "Failed"))
    async with stage.runs():
        assert len(stage.api.writes_to(JOB, TRAIN)) == 1
        assert stage.onlooker.released == [NEXT]
        assert stage.phases() == {TRAIN: "Failed", NEXT: "Running"}


async def test_i1_a_unit_paused_before_its_release_is_not_released_after_the_conflict() -> None:
    """Its job has changed too, so that the first PATCH fails; judged again it has no grant."""
    stage = Stage()
    stage.submit("train", cpu=4)

    def pause() -> None:
        stage.api.edit(JOB, TRAIN, {"metadata": {"annotations": {keys.ACTIVE: "false"}}})

    stage.api.weather = Meanwhile(RELEASE, pause)
    async with stage.runs():
        assert stage.onlooker.released == []
        assert (stage.phase(TRAIN), stage.unit(TRAIN)["spec"]["active"]) == ("Enqueued", False)
        assert stage.usage() == {"cpu": "0"}


# -- I2: deleted between reserve and release


DELETIONS = [
    pytest.param(STATUS, False, id="before the grant is written"),
    pytest.param(STATUS, True, id="when the grant was just written"),
    pytest.param(RELEASE, False, id="before the release, which meets 404"),
    pytest.param(RELEASE, True, id="when it was just released"),
    pytest.param(CREATE, False, id="before its unit is made"),
]
LAGS = pytest.mark.parametrize("lag", [0.0, 3.0], ids=["told at once", "told 3 s late"])


@LAGS
@pytest.mark.parametrize(("match", "late"), DELETIONS)
async def test_i2_a_job_deleted_in_between_gives_everything_back(
    match: str, late: bool, lag: float, logs: list[Any]
) -> None:
    stage = Stage()
    gone = Meanwhile(match, lambda: stage.delete(TRAIN), late=late)
    gone.on_watch = Lagging(lag).on_watch  # type: ignore[method-assign]
    stage.submit("train", cpu=4)
    stage.api.weather = gone
    async with stage.runs():
        stage.submit("waits", cpu=4)
        await stage.settled()
        assert TRAIN not in stage.api.all(JOB)
        await stage.settled(75)
        assert stage.phases() == {NEXT: "Running"}
        assert stage.usage() == {"cpu": "4"}
        writes = len(stage.api.writes)
        stage.finish(NEXT)
        await stage.settled()
        assert stage.usage() == {"cpu": "0"}
        assert len(stage.api.writes) - writes <= 3
    assert stage.onlooker.most <= 4
    assert [each for each in logs if each["log_level"] == "error"] == []


async def test_i2_where_no_garbage_collector_works_the_unit_goes_all_the_same() -> None:
    stage = Stage()
    stage.played.collects = None
    stage.submit("train", cpu=4)
    async with stage.runs():
        stage.submit("waits", cpu=4)
        stage.delete(TRAIN)
        await stage.settled()
        assert stage.phase(NEXT) == "Running"
        await stage.settled(75)
        assert stage.phases() == {NEXT: "Running"}


async def test_i2_pods_of_the_deleted_job_count_until_they_are_gone() -> None:
    stage = Stage()
    stage.played.lingers = 40.0
    stage.submit("train", cpu=4)
    async with stage.runs():
        stage.submit("waits", cpu=4)
        stage.delete(TRAIN)
        await stage.settled(30)
        assert stage.phases() == {NEXT: "Enqueued"}
        await stage.settled(20)
        assert stage.phases() == {NEXT: "Running"}
    assert stage.onlooker.most == 4


# -- I3: finished jobs stay finished after a restart


ENDS = [
    pytest.param([{"type": "Complete", "status": "True"}], id="Complete"),
    pytest.param([{"type": "Failed", "status": "True"}], id="Failed"),
    pytest.param(
        [{"type": "Suspended", "status": "False"}, {"type": "Failed", "status": "True"}],
        id="resumed once, then Failed",
    ),
    pytest.param(
        [{"type": "FailureTarget", "status": "True"}, {"type": "Failed", "status": "True"}],
        id="FailureTarget, then Failed",
    ),
]


@pytest.mark.parametrize("suspend", [False, True], ids=["released", "held"])
@pytest.mark.parametrize("conditions", ENDS)
async def test_i3_a_finished_job_without_a_unit_gets_none_and_is_not_written(
    conditions: list[Any], suspend: bool
) -> None:
    stage = Stage()
    stage.submit("runs", cpu=3)
    async with stage.runs():
        await stage.kill()
        status = {"conditions": conditions, "startTime": "2026-03-01T11:00:00Z"}
        stage.submit("over", cpu=4, suspend=suspend, status=status)
        stage.api.asked.clear()
        stage.start()
        await stage.settled()
        assert stage.phases() == {"team-a/runs": "Running"}
        assert stage.usage() == {"cpu": "3"}
        assert [each.short for each in stage.api.writes] == []


@pytest.mark.parametrize("type_", ["Complete", "Failed"])
async def test_i3_a_job_that_ended_while_nobody_looked_gives_its_quota_back(type_: str) -> None:
    stage = Stage()
    stage.submit("train", cpu=4)
    stage.submit("waits", cpu=4)
    async with stage.runs():
        await stage.kill()
        stage.finish(TRAIN, type_)
        stage.api.asked.clear()
        stage.start()
        await stage.settled()
        ended = "Succeed" if type_ == "Complete" else "Failed"
        assert stage.phases() == {TRAIN: ended, NEXT: "Running"}
        assert stage.api.writes_to(JOB, TRAIN) == []


# -- I7: terminal states nobody listed


OPEN = [
    pytest.param([{"type": "FailureTarget", "status": "True"}], id="FailureTarget"),
    pytest.param([{"type": "SuccessCriteriaMet", "status": "True"}], id="SuccessCriteriaMet"),
    pytest.param([{"type": "Complete", "status": "False"}], id="Complete is False"),
    pytest.param([{"type": "Failed", "status": "Unknown"}], id="Failed is Unknown"),
    pytest.param([{"type": "Paused", "status": "True"}], id="of a later Kubernetes"),
]


@pytest.mark.parametrize("end", ["Failed", "Complete"])
@pytest.mark.parametrize("conditions", OPEN)
async def test_i7_a_condition_that_is_not_final_keeps_the_quota(
    conditions: list[Any], end: str
) -> None:
    stage = Stage()
    stage.submit("train", cpu=4)
    stage.submit("waits", cpu=4)
    async with stage.runs():
        stage.api.edit(JOB, TRAIN, {"status": {"conditions": conditions}})
        await stage.settled(60)
        assert stage.phases() == {TRAIN: "Running", NEXT: "Enqueued"}
        assert stage.usage() == {"cpu": "4"}
        stage.finish(TRAIN, end)
        await stage.settled()
        assert stage.phase(NEXT) == "Running"


async def test_i7_pods_that_outlive_the_end_of_their_job_count_until_they_end() -> None:
    stage = Stage()
    stage.submit("train", cpu=4)
    stage.submit("waits", cpu=4)
    async with stage.runs():
        [pod] = stage.pods(TRAIN)
        failed = [{"type": "Failed", "status": "True"}]
        stage.api.edit(JOB, TRAIN, {"status": {"conditions": failed}})
        await stage.settled()
        assert stage.phases() == {TRAIN: "Failed", NEXT: "Enqueued"}
        stage.api.remove(ResourceKind("", "v1", "Pod", "pods"), pod)
        await stage.settled()
        assert stage.phase(NEXT) == "Running"


# -- I8: long names


LONG = [
    pytest.param("j" * 63, id="63 characters"),
    pytest.param("a.b" + "c" * 57 + ".d1", id="63 with dots"),
    pytest.param("n" * 253, id="253, with a selector of its own"),
    pytest.param("0", id="one character"),
    pytest.param("1.2.3", id="digits and dots"),
]


@pytest.mark.parametrize("name", LONG)
async def test_i8_a_job_of_any_legal_name_has_a_unit_and_runs(name: str) -> None:
    stage = Stage()
    key = stage.submit(name, cpu=4)
    async with stage.runs():
        [unit] = stage.api.all(QUEUE_UNIT).values()
        assert unit["spec"]["consumerRef"]["name"] == name
        assert len(unit["metadata"]["name"]) <= 253
        assert len(unit["spec"]["podSet"][0]["name"]) <= 63
        assert all(len(each) <= 63 for each in unit["metadata"]["labels"].values())
        assert unit["status"]["phase"] == "Running"
        assert stage.events("Resume", name)
        stage.finish(key)
        await stage.settled()
        assert unit["metadata"]["name"] in key
        assert stage.usage() == {"cpu": "0"}


@pytest.mark.parametrize("length", [61, 62, 63, 252])
async def test_i8_names_that_differ_only_at_their_end_have_a_unit_each(length: int) -> None:
    stage = Stage(cpu=2)
    keys_ = [stage.submit("x" * (length - 1) + end) for end in "ab"]
    async with stage.runs():
        owners = {
            unit["spec"]["consumerRef"]["uid"]: unit["status"]["phase"]
            for unit in stage.api.all(QUEUE_UNIT).values()
        }
        uids = [stage.job(key)["metadata"]["uid"] for key in keys_]
        assert owners == dict.fromkeys(uids, "Running")


# -- E6: from the grant to pods without double or missing counts


@pytest.mark.parametrize(
    ("parallelism", "cpu"), [(4, 1), (1, 4), (2, "2000m")], ids=["4 pods", "1 pod", "2 pods"]
)
async def test_e6_reservation_and_pods_are_counted_once(parallelism: int, cpu: Any) -> None:
    stage = Stage(cpu=4)
    stage.played.reacts = 5.0
    stage.played.starts = 5.0
    counts = {"parallelism": parallelism, "completions": parallelism}
    stage.submit("train", cpu=cpu, runs=10, **counts)
    seen: list[tuple[str, Any]] = []
    async with stage.runs():
        stage.submit("waits", cpu=4)
        while stage.phase(TRAIN) != "Succeed":
            await stage.settled(0.5)
            seen.append((stage.phases().get(NEXT, ""), stage.onlooker.used))
        await stage.settled()
        assert stage.phase(NEXT) in ("Dequeued", "Running")
    first = stage.onlooker.samples.index(4.0)
    assert set(stage.onlooker.samples[first:]) <= {4.0, 0.0}
    assert {used for _, used in seen[:-1]} == {4.0}
    assert stage.onlooker.most == 4.0


# -- G3: finished or deleted while its attempt is under way


@pytest.mark.parametrize("is_lost", [False, True], ids=["the attempt is written", "it fails"])
@pytest.mark.parametrize("end", ["Complete", "Failed", "deleted"])
async def test_g3_a_job_that_ended_during_its_attempt_is_not_queued_again(
    end: str, is_lost: bool
) -> None:
    stage = Stage()
    stage.submit("train", cpu=4)
    act = (lambda: stage.delete(TRAIN)) if end == "deleted" else (lambda: stage.finish(TRAIN, end))
    stage.api.weather = Meanwhile(STATUS, act)
    if is_lost:
        stage.api.fail(ServerError("etcdserver: request timed out", code=500), on(STATUS))
    async with stage.runs():
        await stage.settled()
        ended = {"Complete": {TRAIN: "Succeed"}, "Failed": {TRAIN: "Failed"}, "deleted": {}}
        assert stage.phases() == ended[end]
        assert stage.onlooker.released == []
        assert stage.usage() == {"cpu": "0"}
        assert stage.unit_counts() == {"pending": 0, "admitted": 0}
