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
from kq.kube.errors import Conflict, Forbidden, Invalid, ServerError
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


def train_job(**spec: Any) -> Desk:
    runtime = {"runtimeRef": {"name": "torch"}}
    return Desk(INTEGRATIONS["trainjob"](JobOptions()), spec={"suspend": True, **runtime, **spec})


def labelled(desk: Desk, pod_set: str = "node") -> ReleaseJob:
    """The release of a job whose pods do not name their quota."""
    job = desk.job()
    sets = job.pod_sets or (msgspec.structs.replace(builders.pod_set(pod_set), path=()),)
    job = msgspec.structs.replace(job, pod_sets=sets)
    return ReleaseJob(job, builders.unit(), RELEASED, "team-a")


async def test_pods_that_name_no_quota_are_labelled_before_their_job_is_let_go() -> None:
    desk = batch_job()
    await desk.writer.write(labelled(desk))
    assert desk.writes == ["patch job", "patch job"]
    assert desk.raw["spec"]["template"]["metadata"]["labels"] == {keys.QUOTA_LABEL: "team-a"}
    assert desk.raw["spec"]["suspend"] is False


async def test_pods_that_turn_out_to_be_labelled_cost_no_write() -> None:
    """Of a Workflow only the whole object tells."""
    desk = workflow(suspend=True, podMetadata={"labels": {keys.QUOTA_LABEL: "team-a"}})
    await desk.writer.write(labelled(desk))
    assert desk.writes == ["patch job"]


async def test_a_job_that_has_a_start_loses_it_before_its_pods_are_labelled() -> None:
    desk = batch_job(status={"startTime": "2026-03-01T12:00:00Z"})
    await desk.writer.write(labelled(desk))
    assert desk.writes == ["patch status", "patch job", "patch job"]


async def test_a_trainjob_is_patched_while_it_is_held_and_then_let_go() -> None:
    desk = train_job()
    await desk.writer.write(labelled(desk))
    first, last = (each.body["spec"] for each in desk.api.writes)
    assert list(first) == ["runtimePatches"]
    assert last == {"suspend": False}
    (patch,) = desk.raw["spec"]["runtimePatches"]
    assert patch["manager"] == "koord-queue/manager"


async def test_a_trainjob_is_let_go_as_soon_as_trainer_takes_the_label() -> None:
    """It takes none before the JobSet has said that it stopped."""
    desk = train_job()
    desk.api.edit(desk.kind, KEY, {"status": {"jobsStatus": [{"name": "node", "active": 1}]}})
    with pytest.raises(Conflict):
        await desk.writer.write(labelled(desk))
    desk.api.edit(desk.kind, KEY, {"status": {"jobsStatus": [{"name": "node", "active": 0}]}})
    await desk.writer.write(labelled(desk))
    assert desk.raw["spec"]["runtimePatches"]


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(Invalid("no", code=422), id="for what it says"),
        pytest.param(
            Forbidden('admission webhook "x" denied the request: no', code=403), id="by a webhook"
        ),
    ],
)
async def test_a_job_whose_pods_may_not_be_labelled_is_let_go_all_the_same(
    refusal: Exception,
) -> None:
    desk = train_job()
    desk.api.fail(refusal)
    await desk.writer.write(labelled(desk))
    assert desk.raw["spec"] == {"suspend": False, "runtimeRef": {"name": "torch"}}


async def test_a_server_that_has_trouble_is_asked_again_before_the_job_is_let_go() -> None:
    desk = train_job()
    desk.api.fail(ServerError("trouble", code=500))
    with pytest.raises(ServerError):
        await desk.writer.write(labelled(desk))
    assert desk.raw["spec"]["suspend"] is True


async def test_what_checks_want_comes_beside_the_label() -> None:
    """Both are in a list that a patch replaces as a whole."""
    sets = INTEGRATIONS["jobset"](JobOptions())
    job = {"template": {"spec": {"template": builders.job()["spec"]["template"]}}}
    desk = Desk(sets, spec={"suspend": True, "replicatedJobs": [{"name": "train", **job}]})
    await desk.writer.write(ReleaseJob(desk.job(), wants("train"), RELEASED, "team-a"))
    (one,) = desk.raw["spec"]["replicatedJobs"]
    labels = one["template"]["spec"]["template"]["metadata"]["labels"]
    assert labels == {keys.QUOTA_LABEL: "team-a", "rack": "r1"}


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
