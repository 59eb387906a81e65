"""Who is managed, and what odd objects do to the queue: A7's second half, I8, O3 and neighbours."""

import json
from typing import Any

import pytest
from builders import job
from case_stage import Stage

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, JOB, NAMESPACE, QUEUE_UNIT
from kq.settings import JobSettings

pytestmark = [pytest.mark.looptime(noop_cycles=2), pytest.mark.usefixtures("same_jitter", "logs")]

TRAIN = "team-a/train"
FREE = "batch-free/train"


# -- A7: the manager's half


def with_namespace(name: str, labels: dict[str, str], **settings: Any) -> Stage:
    stage = Stage(cpu=4, **settings)
    stage.api.put(NAMESPACE, {"metadata": {"name": name, "labels": labels}})
    return stage


def submit_raw(stage: Stage, namespace: str, labels: dict[str, str], suspend: bool) -> str:
    """A Job that no webhook has touched."""
    body = job("train", cpu=1, suspend=suspend)
    meta = body["metadata"] | {"namespace": namespace, "labels": labels}
    stage.api.put(JOB, {**body, "metadata": meta, "status": {}})
    return f"{namespace}/train"


QUOTA_LABELS = pytest.mark.parametrize(
    "labels", [{}, {keys.QUOTA_LABEL: "team-a"}], ids=["without a label", "with a quota label"]
)
SUSPEND = pytest.mark.parametrize("suspend", [True, False], ids=["suspended", "plain"])
LEFT_ALONE: list[Any] = [
    pytest.param("batch-free", {keys.MANAGED_LABEL: "false"}, {}, id="labelled false"),
    pytest.param("batch-free", {}, {"namespaces": "labelled"}, id="not opted in"),
    pytest.param("batch-free", {}, {"excludedNamespaces": ("batch-free",)}, id="configured"),
    pytest.param("kube-system", {}, {}, id="kube-system"),
    pytest.param("koord-queue", {keys.MANAGED_LABEL: "true"}, {}, id="the own namespace"),
]


@SUSPEND
@QUOTA_LABELS
@pytest.mark.parametrize(("name", "namespace", "jobs"), LEFT_ALONE)
async def test_a7_jobs_of_an_excluded_namespace_have_no_unit_and_no_write(
    name: str, namespace: dict[str, str], jobs: Any, labels: dict[str, str], suspend: bool
) -> None:
    settings = JobSettings(defaultQuota="team-a", **jobs)
    stage = with_namespace(name, namespace, jobs=settings)
    async with stage.runs():
        key = submit_raw(stage, name, labels, suspend)
        await stage.settled(60)
        assert stage.api.all(QUEUE_UNIT) == {}
        assert stage.api.writes_to(JOB) == []
        assert stage.is_held(key) is suspend


async def test_a7_a_namespace_taken_in_later_takes_in_its_held_jobs_and_lets_none_out() -> None:
    stage = with_namespace("batch-free", {keys.MANAGED_LABEL: "false"})
    async with stage.runs():
        submit_raw(stage, "batch-free", {keys.QUOTA_LABEL: "team-a"}, suspend=True)
        await stage.settled()
        stage.api.edit(
            NAMESPACE, "batch-free", {"metadata": {"labels": {keys.MANAGED_LABEL: None}}}
        )
        await stage.settled()
        assert stage.phase(FREE) == "Running"
        unmanaged = {"metadata": {"labels": {keys.MANAGED_LABEL: "false"}}}
        stage.api.edit(NAMESPACE, "batch-free", unmanaged)
        await stage.settled(60)
        assert stage.phase(FREE) == "Running"
        assert not stage.is_held(FREE)
        assert stage.usage() == {"cpu": "1"}


# -- I8: names that are taken


def by_hand(stage: Stage, name: str, consumer: str) -> None:
    """A unit that a person made for another job."""
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": consumer, "namespace": "team-a"}
    meta = {"namespace": "team-a", "name": name, "labels": {keys.QUOTA_LABEL: "team-a"}}
    stage.api.put(QUEUE_UNIT, {"metadata": meta, "spec": {"consumerRef": reference}})


@pytest.mark.parametrize("length", [5, 63, 244, 253], ids=str)
async def test_i8_a_job_whose_name_a_foreign_unit_has_gets_another_legal_one(length: int) -> None:
    name = "t" * length
    stage = Stage(cpu=4)
    by_hand(stage, name, "somebody-else")
    stage.submit(name, cpu=1)
    async with stage.runs():
        mine = [
            unit
            for unit in stage.api.all(QUEUE_UNIT).values()
            if unit["spec"]["consumerRef"]["name"] == name
        ]
        [unit] = mine
        assert unit["metadata"]["name"] != name
        assert len(unit["metadata"]["name"]) <= 253
        assert unit["status"]["phase"] == "Running"
        foreign = stage.unit(f"team-a/{name}")
        assert foreign["spec"]["consumerRef"]["name"] == "somebody-else"
        stage.delete(f"team-a/{name}")
        await stage.settled()
        assert stage.usage() == {"cpu": "0"}


# -- I6's neighbour: the old pods beside a new run


async def test_i6_a_new_job_may_start_beside_the_old_pods_if_there_is_room_for_both() -> None:
    stage = Stage(cpu=4)
    stage.submit("train", cpu=2)
    async with stage.runs():
        stage.played.lingers = 60.0
        stage.delete(TRAIN)
        stage.submit("train", cpu=2, metadata={"uid": "u2"})
        stage.submit("waits", cpu=2)
        await stage.settled(20)
        assert stage.usage() == {"cpu": "4"}
        assert sorted(stage.phases().values()) == ["Enqueued", "Running"]
        await stage.settled(60)
        assert sorted(stage.phases().values()) == ["Running", "Running"]
    assert stage.onlooker.most == 4


# -- O3: very large jobs


@pytest.mark.parametrize("size", [100_000, 1_200_000], ids=str)
async def test_o3_the_unit_of_a_large_job_stays_small_and_the_job_is_queued(size: int) -> None:
    env = [{"name": f"V{number}", "value": "x" * 1000} for number in range(size // 1000)]
    container = {"name": "main", "env": env, "resources": {"requests": {"cpu": "1"}}}
    annotations = {"example.com/blob": "y" * 100_000}
    stage = Stage(cpu=4)
    stage.submit(
        "train",
        template={"metadata": {"annotations": annotations}, "spec": {"containers": [container]}},
        metadata={"annotations": annotations},
    )
    async with stage.runs():
        assert len(json.dumps(stage.unit(TRAIN))) < 5_000
        assert stage.phase(TRAIN) == "Running"


# -- E9's neighbours: a job that grows after its release


@pytest.mark.parametrize("before", [0, 1, 4], ids=str)
async def test_e9_a_released_job_that_grows_above_the_quota_is_counted_in_full(before: int) -> None:
    stage = Stage(cpu=4)
    stage.submit("train", cpu=1, parallelism=before)
    async with stage.runs():
        stage.api.edit(JOB, TRAIN, {"spec": {"parallelism": 8}})
        await stage.settled()
        assert stage.usage() == {"cpu": "8"}
        stage.submit("waits", cpu=1)
        await stage.settled(60)
        assert stage.phases() == {TRAIN: "Running", "team-a/waits": "Enqueued"}
        assert stage.onlooker.held == []
        stage.finish(TRAIN)
        await stage.settled()
        assert stage.phase("team-a/waits") == "Running"


# -- E4's neighbour: the limit goes down and up under running jobs


@pytest.mark.parametrize("limit", [3, 0, "500m"], ids=str)
async def test_e4_a_limit_lowered_below_what_runs_kills_nobody_and_lets_nobody_in(
    limit: Any,
) -> None:
    stage = Stage(cpu=4)
    stage.submit("train", cpu=4)
    async with stage.runs():
        stage.submit("waits", cpu=1)
        stage.api.edit(ELASTIC_QUOTA, "quotas/team-a", {"spec": {"max": {"cpu": limit}}})
        await stage.settled(60)
        assert stage.phases() == {TRAIN: "Running", "team-a/waits": "Enqueued"}
        assert stage.onlooker.held == []
        stage.api.edit(ELASTIC_QUOTA, "quotas/team-a", {"spec": {"max": {"cpu": 5}}})
        await stage.settled()
        assert stage.phase("team-a/waits") == "Running"


# -- odd annotations are told once, and written nowhere over and over


ODD = [
    pytest.param({keys.PRIORITY: "high"}, "InvalidAnnotation", id="priority"),
    pytest.param({keys.PRIORITY: "99999999999"}, "InvalidAnnotation", id="priority too large"),
    pytest.param({keys.ACTIVE: "perhaps"}, "InvalidAnnotation", id="active"),
]


@pytest.mark.parametrize(("annotations", "reason"), ODD)
async def test_d6_a_value_that_cannot_be_read_is_told_once_and_the_job_is_queued(
    annotations: dict[str, str], reason: str
) -> None:
    stage = Stage(cpu=4)
    stage.submit("train", cpu=4)
    stage.submit("waits", cpu=4)
    async with stage.runs():
        stage.api.edit(JOB, "team-a/waits", {"metadata": {"annotations": annotations}})
        await stage.settled()
        stage.api.asked.clear()
        for _ in range(5):
            stage.api.expire(JOB)
            await stage.settled(300)
        assert [each.short for each in stage.api.asked if each.is_write] == []
        [told] = stage.events(reason, "waits")
        assert (told["type"], told["count"]) == ("Warning", 1)
        stage.finish(TRAIN)
        await stage.settled()
        assert stage.phase("team-a/waits") == "Running"
