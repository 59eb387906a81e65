"""What is written to jobs of further kinds, and on which version of them."""

from typing import Any

import builders
import msgspec
import pytest
from api import Api
from builders import NOW

from kq.core import checks, keys
from kq.decide.actions import (
    AddToPods,
    FreeNodes,
    HoldJob,
    LetEnd,
    ReleaseJob,
    ShowWaiting,
    TakeFromPods,
)
from kq.jobs import INTEGRATIONS
from kq.jobs.options import JobOptions
from kq.kube.errors import Conflict
from kq.reconcile.jobwriter import JobWriter

TFJOBS = INTEGRATIONS["tfjob"](JobOptions())
WORKFLOWS = INTEGRATIONS["workflow"](JobOptions())
KEY = "team-a/train"
RELEASED = "2026-03-01T12:01:00.000Z"


class Desk:
    """A writer, and an API server with one job."""

    def __init__(self, integration: Any, **parts: Any) -> None:
        self.integration = integration
        (kind,) = integration.kinds
        self.kind = kind
        self.api = Api(clock=lambda: NOW)
        meta = {"namespace": "team-a", "name": "train", **parts.pop("metadata", {})}
        self.api.put(
            kind,
            {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, **parts},
        )
        self.api.asked.clear()
        self.writer = JobWriter(
            client=self.api,  # type: ignore[arg-type]
            integrations={kind.kind: integration},
            clock=lambda: NOW,
        )

    @property
    def raw(self) -> Any:
        return self.api.all(self.kind)[KEY]

    def job(self) -> Any:
        return self.integration.view(self.raw)

    @property
    def writes(self) -> list[str]:
        return [f"{each.verb} {each.subresource or 'job'}" for each in self.api.writes]


def tf_job(suspend: bool, *conditions: Any) -> Desk:
    worker = {"replicas": 1, "template": {"spec": {"containers": [{"name": "tensorflow"}]}}}
    return Desk(
        TFJOBS,
        spec={"runPolicy": {"suspend": suspend}, "tfReplicaSpecs": {"Worker": worker}},
        status={"conditions": list(conditions)},
    )


def workflow(**spec: Any) -> Desk:
    work = {"name": "main", "container": {"image": "none"}}
    return Desk(WORKFLOWS, spec={"entrypoint": "main", "templates": [work], **spec})


def types(desk: Desk) -> list[tuple[str, str]]:
    return [(each["type"], each["status"]) for each in desk.raw["status"]["conditions"]]


async def test_a_job_that_waits_says_so_last() -> None:
    desk = tf_job(True, {"type": "Created", "status": "True"})
    assert await desk.writer.write(ShowWaiting(desk.job()))
    assert types(desk) == [("Created", "True"), ("Queuing", "True")]
    assert desk.writes == ["patch status"]
    assert not await desk.writer.write(ShowWaiting(desk.job()))


async def test_a_release_takes_it_back_first_and_then_lets_the_job_go() -> None:
    desk = tf_job(True, {"type": "Queuing", "status": "True"})
    unit = builders.unit()
    assert await desk.writer.write(ReleaseJob(desk.job(), unit, RELEASED))
    assert types(desk)[0] == ("Queuing", "False")
    assert desk.writes == ["patch status", "patch job"]
    assert desk.raw["spec"]["runPolicy"]["suspend"] is False
    annotations = desk.raw["metadata"]["annotations"]
    assert annotations[keys.DEQUEUE_TIMESTAMP] == RELEASED
    assert annotations[keys.SUSPEND] == "false"


async def test_a_job_that_shows_nothing_is_released_without_being_read() -> None:
    desk = tf_job(True, {"type": "Created", "status": "True"})
    await desk.writer.write(ReleaseJob(desk.job(), builders.unit(), RELEASED))
    assert [each.verb for each in desk.api.asked] == ["patch"]


async def test_a_workflow_is_let_go_as_it_was_written() -> None:
    desk = workflow()
    before = msgspec.json.encode(desk.raw["spec"], order="sorted")
    marks = {"metadata": {"annotations": {keys.INJECTED: "suspend,template"}}}
    desk.api.edit(desk.kind, KEY, {**WORKFLOWS.hold(desk.raw).body, **marks})
    assert desk.job().suspended
    await desk.writer.write(ReleaseJob(desk.job(), builders.unit(), RELEASED))
    assert msgspec.json.encode(desk.raw["spec"], order="sorted") == before


async def test_a_workflow_that_changed_meanwhile_is_not_written() -> None:
    desk = workflow(suspend=True)
    old = desk.job()
    desk.api.edit(desk.kind, KEY, {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(Conflict, match="Workflow team-a/train has changed"):
        await desk.writer.write(ReleaseJob(old, builders.unit(), RELEASED))
    assert desk.writes == []


async def test_a_workflow_that_ends_is_let_go_without_the_mark_of_a_release() -> None:
    desk = workflow(suspend=True, shutdown="Terminate")
    assert await desk.writer.write(LetEnd(desk.job()))
    assert "suspend" not in desk.raw["spec"]
    assert keys.DEQUEUE_TIMESTAMP not in desk.raw["metadata"].get("annotations", {})


async def test_a_node_at_our_template_is_let_go_on_and_no_other() -> None:
    nodes = {
        name: {"id": name, "type": "Suspend", "phase": "Running", "templateName": template}
        for name, template in {"ours": "koord-queue-suspend", "theirs": "wait"}.items()
    }
    desk = workflow()
    desk.api.edit(desk.kind, KEY, {"status": {"phase": "Running", "nodes": nodes}})
    assert await desk.writer.write(FreeNodes(desk.job()))
    phases = {key: node["phase"] for key, node in desk.raw["status"]["nodes"].items()}
    assert phases == {"ours": "Succeeded", "theirs": "Running"}
    assert not await desk.writer.write(FreeNodes(desk.job()))


def wants(pod_set: str, attempt: int = 1) -> Any:
    """A unit one check of which wants a label added."""
    update = {"name": pod_set, "labels": {"rack": "r1"}}
    entry = {"name": "quota", "state": "Ready", "podSetUpdates": [update]}
    return builders.unit(checks=checks.answers([entry]), attempts=attempt)


def batch_job(**status: Any) -> Desk:
    return Desk(
        INTEGRATIONS["job"](JobOptions()), spec=builders.job(suspend=True)["spec"], **status
    )


async def test_what_checks_want_is_in_the_one_patch_that_releases() -> None:
    """Spec 8.9, 24.9."""
    desk = batch_job()
    await desk.writer.write(ReleaseJob(desk.job(), wants("train"), RELEASED))
    assert desk.writes == ["patch job"]
    assert desk.raw["spec"]["suspend"] is False
    assert desk.raw["spec"]["template"]["metadata"]["labels"] == {"rack": "r1"}
    note = checks.added_of(desk.job().annotations)
    assert note == checks.Added(1, {"train": {"labels": {"rack": "r1"}}})


async def test_a_job_that_has_a_start_loses_it_before_its_pods_change() -> None:
    """Spec 8.10: when they are given something, and when it is taken again."""
    desk = batch_job(status={"startTime": "2026-03-01T12:00:00Z"})
    await desk.writer.write(ReleaseJob(desk.job(), wants("train"), RELEASED))
    assert desk.writes == ["patch status", "patch job"]
    assert "startTime" not in desk.raw["status"]
    desk.api.edit(desk.kind, KEY, {"status": {"startTime": "2026-03-01T12:00:00Z"}})
    desk.api.asked.clear()
    await desk.writer.write(TakeFromPods(desk.job()))
    assert desk.writes == ["patch status", "patch job"]
    assert not desk.raw["spec"]["template"]["metadata"].get("labels")
    assert keys.POD_SET_UPDATES not in desk.raw["metadata"]["annotations"]


async def test_an_application_is_changed_before_it_is_let_go() -> None:
    """Spec 8.9, 8.19: a change beside the release would start it anew."""
    spark = INTEGRATIONS["sparkapp"](JobOptions())
    desk = Desk(spark, spec={"suspend": True, "driver": {"cores": 1}, "executor": {"instances": 2}})
    unit = wants("executor", attempt=2)
    await desk.writer.write(AddToPods(desk.job(), unit))
    assert desk.raw["spec"]["executor"] == {"instances": 2, "labels": {"rack": "r1"}}
    assert desk.raw["spec"]["suspend"] is True
    changed = desk.raw["spec"]["executor"]
    await desk.writer.write(ReleaseJob(desk.job(), unit, RELEASED))
    assert (desk.raw["spec"]["suspend"], desk.raw["spec"]["executor"]) == (False, changed)


async def test_what_cannot_be_added_is_told_of_the_job_as_it_is() -> None:
    desk = batch_job()
    assert await desk.writer.clash_of(desk.job(), wants("train")) == ""
    text = "admission check quota names unknown pod set workers"
    assert await desk.writer.clash_of(desk.job(), wants("workers")) == text


async def test_a_job_is_stopped_with_the_marks_of_that() -> None:
    desk = tf_job(False)
    action = HoldJob(desk.job(), "cause", {keys.DEQUEUE_TIMESTAMP: ""}, {"a": "b"})
    assert await desk.writer.write(action)
    assert desk.raw["spec"]["runPolicy"]["suspend"] is True
    assert desk.raw["metadata"]["annotations"][keys.DEQUEUE_TIMESTAMP] == ""
    assert desk.raw["metadata"]["labels"] == {"a": "b"}
