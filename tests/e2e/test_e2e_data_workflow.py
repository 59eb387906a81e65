"""What is said of Argo Workflows alone: what a hold moves and puts back, and what it leaves."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from controlplane.operators import examples
from ground import Object
from kind_cases import of_kinds
from kind_cases_data import WORKFLOW, status_is
from kind_cases_kubeflow import TF_JOB
from kind_world import KindWorld, waiting_for
from reading import is_suspended
from workflows import (
    CRON_WORKFLOW,
    FAILING,
    ONCE,
    OURS,
    PAUSE,
    WORK,
    WORKFLOW_TEMPLATE,
    node_phases,
    one_after_another,
    workflow,
)
from world import World

from kq.core import keys
from kq.core.kinds import JOB, POD, ResourceKind

SEED_TEMPLATES = (
    OURS,
    {
        "name": "main",
        "container": {
            "image": "python:3.9",
            "command": ["python", "-c", "print('Hello from workflow')"],
        },
    },
)
succeeded = status_is("Succeeded", "phase")
HOURLY = "0 * * * *"
MUTEX = {"mutexes": [{"name": "only-one"}]}


def full(world: World) -> str:
    """A quota that a job has in use to the last."""
    quota = world.quota("a", cpu=2)
    world.submit(world.manifest("blocker", quota, cpu=2))
    world.wait_pods("blocker")
    return quota


def owned_by(owner: Object) -> list[Object]:
    """What a controller writes on what it makes."""
    known = {key: owner["metadata"][key] for key in ("name", "uid")}
    return [{"apiVersion": owner["apiVersion"], "kind": owner["kind"], **known, "controller": True}]


@of_kinds([WORKFLOW])
def test_a_workflow_with_a_suspend_template_of_its_own_is_queued_by_its_min_resources(
    world: World, jobs: KindWorld
) -> None:
    a = full(world)
    needs = {"koord-queue/min-resources": "", "kube-queue/min-resources": "cpu: 2\nmemory: 5G\n"}
    body = workflow(
        "seed", world.namespace, a, templates=SEED_TEMPLATES, annotations=needs, suspend=True
    )
    del body["metadata"]["annotations"]["koord-queue/min-resources"]
    world.submit(body)
    unit = world.wait_message("seed", waiting_for(a, 2))
    assert unit["spec"]["resource"] == {"cpu": "2", "memory": "5G"}
    world.delete_job("blocker")
    job = jobs.wait("seed", succeeded)
    assert names_of(job) == ["koord-queue-suspend", "main"]


@of_kinds([WORKFLOW])
def test_what_a_user_wrote_is_as_without_a_queue_once_the_workflow_has_run(
    world: World, jobs: KindWorld
) -> None:
    a = full(world)
    templates = (one_after_another("work", "work"), WORK, PAUSE)
    odd = {"mine": " kept  as\tit is\n", "koord-queue.example/x": "too"}
    for name, quota in (("queued", a), ("free", "")):
        world.submit(workflow(name, world.namespace, quota, templates=templates, annotations=odd))
    held = jobs.wait("queued", is_suspended)
    assert names_of(held) == ["main", "work", "pause", "koord-queue-suspend"]
    world.wait_message("queued", waiting_for(a, 2))
    world.delete_job("blocker")
    queued, free = (jobs.wait(name, succeeded) for name in ("queued", "free"))
    assert users_part(queued) == users_part(free)


@of_kinds([WORKFLOW])
def test_only_suspend_nodes_of_the_queue_s_own_template_are_let_go(
    world: World, jobs: KindWorld
) -> None:
    a = world.quota("a", cpu=2)
    flow = one_after_another("koord-queue-suspend", "work", "koord-queue-suspend", "pause", "work")
    templates = (flow, WORK, PAUSE, OURS)
    world.submit(workflow("first", world.namespace, a, templates=templates))
    job = jobs.wait("first", lambda job: "step-4" in node_phases(job))
    seen = node_phases(job)
    assert [seen[f"step-{n}"] for n in (1, 2, 3)] == ["Succeeded"] * 3
    # Nothing tells when the manager has seen it: what comes after proves that it left it alone.
    world.submit(workflow("second", world.namespace, templates=templates[1:], entrypoint="work"))
    jobs.wait("second", succeeded)
    seen_later = node_phases(jobs.wait("first", bool))
    assert (seen_later["step-4"], seen_later.get("step-5")) == ("Running", None)
    [pause] = [key for key, each in nodes_of(job).items() if each["displayName"] == "step-4"]
    jobs.change("first", {"status": {"nodes": {pause: {"phase": "Succeeded"}}}})
    jobs.wait("first", succeeded)


@of_kinds([WORKFLOW])
def test_a_workflow_that_waits_holds_no_lock_and_takes_it_when_it_is_let_go(
    world: World, jobs: KindWorld
) -> None:
    a = full(world)
    world.submit(workflow("first", world.namespace, a, synchronization=MUTEX))
    world.wait_message("first", waiting_for(a, 2))
    held = jobs.wait("first", bool)
    assert "synchronization" not in held["spec"]
    world.submit(workflow("other", world.namespace, run_for="2s", synchronization=MUTEX))
    jobs.wait("other", lambda job: "only" in node_phases(job))
    world.delete_job("blocker")
    waits = jobs.wait("first", lambda job: job["status"].get("message"))
    assert "lock" in waits["status"]["message"]
    assert waits["spec"]["synchronization"] == MUTEX
    assert keys.SYNCHRONIZATION not in waits["metadata"]["annotations"]
    ended = jobs.wait("first", succeeded)
    assert ended["status"]["startedAt"]
    jobs.wait("other", succeeded)


@of_kinds([WORKFLOW])
def test_a_workflow_that_is_shut_down_while_it_waits_needs_no_quota_to_end(
    world: World, jobs: KindWorld
) -> None:
    a = full(world)
    for name in ("first", "second"):
        world.submit(workflow(name, world.namespace, a))
        world.wait_message(name, waiting_for(a, 2))
    jobs.change("first", {"spec": {"shutdown": "Terminate"}})
    jobs.change("second", {"spec": {"shutdown": "Stop"}})
    for name in ("first", "second"):
        world.wait_phase(name, "Failed")
        assert jobs.pods(name) == []
    assert world.phase("blocker") == "Running"


@of_kinds([WORKFLOW])
def test_a_workflow_with_an_exit_handler_waits_its_turn_though_it_is_shut_down(
    world: World, jobs: KindWorld
) -> None:
    a = full(world)
    world.submit(workflow("first", world.namespace, a, onExit="work"))
    world.wait_message("first", waiting_for(a, 2))
    jobs.change("first", {"spec": {"shutdown": "Stop"}})
    world.submit(workflow("second", world.namespace, a))
    jobs.change("second", {"spec": {"shutdown": "Terminate"}})
    world.wait_phase("second", "Failed")
    assert is_suspended(jobs.wait("first", bool))
    world.delete_job("blocker")
    world.wait_phase("first", "Failed")
    assert len(jobs.pods("first")) == 1
    assert jobs.onlooker.faults(2) == []


@of_kinds([WORKFLOW])
def test_the_time_in_the_queue_does_not_count_against_a_deadline(
    world: World, jobs: KindWorld
) -> None:
    a = full(world)
    world.submit(workflow("first", world.namespace, a, activeDeadlineSeconds=30))
    world.wait_message("first", waiting_for(a, 2))
    world.next_second("blocker")
    world.delete_job("blocker")
    job = jobs.wait("first", succeeded)
    assert job["spec"]["activeDeadlineSeconds"] > 30


@of_kinds([WORKFLOW])
def test_a_workflow_that_a_cron_workflow_makes_is_queued(world: World, jobs: KindWorld) -> None:
    """By Argo's own controller, which makes up for a turn that it missed."""
    a = full(world)
    made = workflow("cron", world.namespace, a)
    labels = {"labels": made["metadata"]["labels"], "annotations": made["metadata"]["annotations"]}
    spec = {
        "schedules": [HOURLY],
        "startingDeadlineSeconds": 7200,
        "workflowMetadata": labels,
        "workflowSpec": made["spec"],
    }
    missed = datetime.fromisoformat(world.created("blocker")) - timedelta(minutes=90)
    cron = {
        "metadata": {
            "name": "cron",
            "namespace": world.namespace,
            "annotations": {"cronworkflows.argoproj.io/last-used-schedule": HOURLY},
        },
        "spec": spec,
        "status": {
            "active": [],
            "conditions": [],
            "failed": 0,
            "lastScheduledTime": f"{missed:%Y-%m-%dT%H:%M:%SZ}",
            "phase": "Active",
            "succeeded": 0,
        },
    }
    world.ground.create(CRON_WORKFLOW, cron)
    flow = world.ground.until(lambda: by_a_cron_workflow(world), "Argo has made a Workflow")
    name = flow["metadata"]["name"]
    world.wait_message(name, waiting_for(a, 2))
    assert jobs.pods(name) == []
    world.delete_job("blocker")
    jobs.wait(name, succeeded)


def by_a_cron_workflow(world: World) -> Object | None:
    """The Workflow that a CronWorkflow has made."""
    flows = world.ground.items(WORKFLOW.kind, world.namespace)
    owned = (each for each in flows if each["metadata"].get("ownerReferences"))
    return next(owned, None)


@pytest.mark.operators("training")
@of_kinds([WORKFLOW])
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        pytest.param(JOB, {}, id="Job"),
        pytest.param(
            TF_JOB.kind, examples.training_job("TFJob", "child", suspend=False), id="TFJob"
        ),
        pytest.param(WORKFLOW.kind, {}, id="Workflow"),
    ],
)
def test_what_a_step_of_a_workflow_makes_is_not_queued(
    world: World, jobs: KindWorld, kind: ResourceKind, body: Mapping[str, Any]
) -> None:
    a = world.quota("a", cpu=2)
    world.submit(workflow("parent", world.namespace, a, run_for="forever"))
    parent = jobs.wait("parent", lambda job: not is_suspended(job) and node_phases(job))
    made = {
        JOB: world.manifest("child", a, cpu=1),
        WORKFLOW.kind: workflow("child", world.namespace, a),
    }.get(kind, dict(body))
    labels = {keys.QUOTA_LABEL: a}
    meta = {"name": "child", "namespace": world.namespace, "labels": labels}
    child = world.ground.create(
        kind, {**made, "metadata": {**meta, "ownerReferences": owned_by(parent)}}
    )
    assert keys.HAS_ENQUEUED not in child["metadata"].get("annotations", {})
    world.ground.until(lambda: jobs.pods("child"), "the child runs")
    assert world.seen_unit("child") is None


@of_kinds([WORKFLOW])
def test_a_workflow_that_says_not_what_it_needs_is_counted_by_its_largest_pod(
    world: World, jobs: KindWorld
) -> None:
    a = full(world)
    large = {"requests": {"cpu": "2", "memory": "1Gi"}}
    templates = (
        WORK,
        {**WORK, "name": "large", "container": {**WORK["container"], "resources": large}},
        one_after_another("work", "large"),
    )
    body = workflow("first", world.namespace, a, templates=templates)
    del body["metadata"]["annotations"]["koord-queue/min-resources"]
    world.submit(body)
    unit = world.wait_message("first", waiting_for(a, 2))
    assert unit["spec"]["resource"] == {"cpu": "2", "memory": "1Gi"}
    world.wait_event("first", "MinResourcesMissing", WORKFLOW.kind)


@of_kinds([WORKFLOW])
def test_a_lock_of_a_workflow_template_stays_with_who_waits_and_that_is_told(
    world: World, jobs: KindWorld
) -> None:
    a = full(world)
    template = {"entrypoint": "main", "templates": [WORK, ONCE], "synchronization": MUTEX}
    meta = {"name": "shared", "namespace": world.namespace}
    world.ground.create(WORKFLOW_TEMPLATE, {"metadata": meta, "spec": template})
    body = workflow("first", world.namespace, a)
    body["spec"] = {"workflowTemplateRef": {"name": "shared"}}
    world.submit(body)
    world.wait_event("first", "HoldsLock", WORKFLOW.kind)
    world.delete_job("blocker")
    jobs.wait("first", succeeded)


@of_kinds([WORKFLOW])
def test_a_workflow_that_is_tried_again_counts_at_once(world: World, jobs: KindWorld) -> None:
    a = world.quota("a", cpu=2)
    templates = (one_after_another("fails"), FAILING, WORK, {**ONCE, "name": "again"})
    world.submit(workflow("first", world.namespace, a, templates=templates))
    world.wait_phase("first", "Failed")
    for pod in jobs.pods("first"):
        world.ground.delete(POD, world.namespace, pod["metadata"]["name"])
    # Argo takes a moment to be done with it, and does not look at it again before.
    world.submit(world.manifest("between", a, cpu=2, run_for="1s"))
    world.wait_complete("between")
    again = {
        "metadata": {"labels": {"workflows.argoproj.io/completed": "false"}},
        "spec": {"entrypoint": "again", "podMetadata": {"annotations": {"run-for": "3s"}}},
        "status": {"phase": "Running", "finishedAt": None, "message": None, "nodes": None},
    }
    jobs.change("first", again)
    world.wait_event("first", "RunningAgain", WORKFLOW.kind)
    world.submit(world.manifest("second", a, cpu=2))
    world.wait_message("second", waiting_for(a, 2))
    world.wait_pods("second")
    assert world.phase("first") == "Succeed"


def names_of(job: Object) -> list[str]:
    """Of its templates."""
    return [each["name"] for each in job["spec"]["templates"]]


def nodes_of(job: Object) -> Mapping[str, Object]:
    """By id."""
    nodes: Mapping[str, Object] = job["status"]["nodes"]
    return nodes


def users_part(job: Object) -> str:
    """The spec and the annotations but for what is ours, as text."""
    spec = {**job["spec"], "podMetadata": {**job["spec"]["podMetadata"], "labels": None}}
    ours = (*keys.MANAGER_ONLY, *keys.WRITTEN_AT_CREATE)
    annotations = {
        key: each
        for key, each in job["metadata"]["annotations"].items()
        if key not in ours and not key.startswith("workflows.argoproj.io/")
    }
    return json.dumps([spec, annotations], sort_keys=True)
