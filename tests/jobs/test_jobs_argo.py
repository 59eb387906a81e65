"""How a Workflow is held, let run, resumed at its nodes and shut down (spec 8.14-8.16)."""

import base64
import copy
import gzip
import json
from datetime import UTC, datetime, timedelta

import pytest

from kq.core import keys
from kq.jobs.argo import Workflow
from kq.jobs.argohold import MARKER, SYNCHRONIZATION, Shutdown, holds_lock, shutdown_of
from kq.jobs.argonodes import out_of_reach, released_nodes
from kq.jobs.options import JobOptions

NOW = datetime(2026, 3, 1, 13, 0, 0, 500_000, tzinfo=UTC)
CREATED = NOW - timedelta(hours=1)
ARGO = Workflow(JobOptions())
WORK = {"name": "work", "container": {"image": "x"}}


def workflow(status=None, annotations=None, labels=None, **spec):
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {
            "name": "flow",
            "creationTimestamp": CREATED.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "labels": labels or {},
            "annotations": annotations or {},
        },
        "spec": {"entrypoint": "work", "templates": [WORK], **spec},
        "status": status or {},
    }


def node(**more):
    gate = {
        "id": "n",
        "name": "flow.gate",
        "type": "Suspend",
        "phase": "Running",
        "templateName": "koord-queue-suspend",
    }
    return {**gate, **more}


def packed(nodes):
    return base64.b64encode(gzip.compress(json.dumps(nodes).encode())).decode()


def unpacked(text):
    return json.loads(gzip.decompress(base64.b64decode(text)))


RESUMED = {
    "phase": "Succeeded",
    "finishedAt": "2026-03-01T13:00:00Z",
    "message": "resumed by koord-queue",
}


@pytest.mark.parametrize(
    "waits",
    [
        node(),
        node(displayName="gate"),
        node(templateName="", templateRef={"name": "t", "template": "koord-queue-suspend"}),
    ],
    ids=["by-name", "shown-otherwise", "by-reference"],
)
def test_a_node_that_waits_for_the_queue_goes_on(waits):
    job = workflow({"phase": "Running", "nodes": {"n": waits, "other": node(templateName="mine")}})
    patch = released_nodes(job, NOW)
    assert patch.body == {"status": {"nodes": {"n": RESUMED}}}
    assert released_nodes(patch.apply(job), NOW) is None


@pytest.mark.parametrize(
    "other",
    [
        node(templateName="approval"),
        node(phase="Succeeded"),
        node(phase="Pending"),
        node(type="Pod"),
        node(templateName="koord-queue-suspend", templateRef={"name": "t", "template": "mine"}),
        None,
        [],
    ],
    ids=["of-the-user", "ended", "pending", "a-pod", "by-reference", "null", "list"],
)
def test_any_other_node_is_left_alone(other):
    assert released_nodes(workflow({"phase": "Running", "nodes": {"n": other}}), NOW) is None


def test_a_node_keeps_what_its_message_said():
    patch = released_nodes(workflow({"nodes": {"n": node(message="ask bob")}}), NOW)
    assert patch.body["status"]["nodes"]["n"]["message"] == "ask bob; resumed by koord-queue"


def test_values_that_nobody_supplied_become_their_defaults():
    supplied = {"name": "go", "valueFrom": {"supplied": {}, "default": "yes"}}
    fixed = {"name": "at", "value": "noon"}
    job = workflow({"nodes": {"n": node(outputs={"parameters": [supplied, fixed]})}})
    changed = released_nodes(job, NOW).body["status"]["nodes"]["n"]
    assert changed == {
        **RESUMED,
        "outputs": {"parameters": [{"name": "go", "value": "yes"}, fixed]},
    }


def test_a_node_that_lacks_a_value_waits_for_somebody_to_give_it():
    supplied = {"name": "go", "valueFrom": {"supplied": {}}}
    job = workflow({"nodes": {"n": node(outputs={"parameters": [supplied]})}})
    assert released_nodes(job, NOW) is None


def test_compressed_nodes_are_written_compressed():
    nodes = {"n": node(), "p": {"id": "p", "type": "Pod", "phase": "Running"}}
    job = workflow({"phase": "Running", "compressedNodes": packed(nodes)})
    patch = released_nodes(job, NOW)
    assert set(patch.body["status"]) == {"compressedNodes"}
    text = patch.body["status"]["compressedNodes"]
    assert unpacked(text) == {**nodes, "n": {**node(), **RESUMED}}
    assert released_nodes(patch.apply(job), NOW) is None


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Running", "offloadNodeStatusVersion": "fnv:1"},
        {"phase": "Running", "compressedNodes": "no base64!"},
        {"phase": "Running", "compressedNodes": base64.b64encode(b"no gzip").decode()},
        {"phase": "Running", "compressedNodes": packed(["no", "map"])},
        {
            "phase": "Running",
            "compressedNodes": base64.b64encode(gzip.compress(b" " * 25 * 2**20)).decode(),
        },
    ],
    ids=["offloaded", "no-base64", "no-gzip", "no-map", "a-bomb"],
)
def test_nodes_out_of_reach_are_said_where_one_may_wait(status):
    """M26."""
    gate = {"name": "gate", "steps": [[{"name": "g", "template": "koord-queue-suspend"}]]}
    asks, plain = workflow(status, templates=[WORK, gate]), workflow(status)
    assert released_nodes(asks, NOW) is None
    assert out_of_reach(asks)
    assert not out_of_reach(plain)
    assert not out_of_reach(workflow(status, templates=[WORK, MARKER]))
    assert not out_of_reach({**asks, "status": {**status, "phase": "Succeeded"}})


@pytest.mark.parametrize(
    ("spec", "means"),
    [
        ({}, Shutdown.NONE),
        ({"shutdown": ""}, Shutdown.NONE),
        ({"shutdown": "Terminate"}, Shutdown.AT_ONCE),
        ({"shutdown": "Terminate", "onExit": "work"}, Shutdown.AT_ONCE),
        ({"shutdown": "Stop"}, Shutdown.AT_ONCE),
        ({"shutdown": "Stop", "onExit": "work"}, Shutdown.IN_TURN),
        ({"shutdown": "Stop", "hooks": {"exit": {"template": "work"}}}, Shutdown.IN_TURN),
        (
            {"shutdown": "Stop", "templates": [], "workflowTemplateRef": {"name": "t"}},
            Shutdown.IN_TURN,
        ),
        ({"shutdown": "Stop", "templates": []}, Shutdown.IN_TURN),
        ({"shutdown": "Later"}, Shutdown.IN_TURN),
    ],
)
def test_a_shutdown_that_needs_no_pod_needs_no_grant(spec, means):
    """Spec 8.15a."""
    assert shutdown_of(workflow(**spec)) is means


@pytest.mark.parametrize(
    ("status", "labels", "removed"),
    [
        ({"phase": "Succeeded"}, {}, True),
        ({"phase": "Failed"}, {}, True),
        ({"phase": "Error"}, {"workflows.argoproj.io/completed": "false"}, True),
        ({"phase": "Succeeded"}, {"workflows.argoproj.io/completed": "true"}, False),
        ({"phase": "Running"}, {}, False),
        ({"phase": ["Failed"]}, {}, False),
        ({}, {}, False),
    ],
)
def test_a_final_status_does_not_come_in_with_a_submit(status, labels, removed):
    """Spec 8.14a: Argo would run it, whatever its status says."""
    job = workflow(status, labels=labels)
    assert ("status" in ARGO.hold(job).body) is removed


def held(job, added="suspend,template"):
    """As the webhook leaves it."""
    marks = {
        keys.INJECTED: added,
        keys.ENQUEUE_TIMESTAMP: CREATED.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    result = ARGO.hold(job).apply(job)
    annotations = {**result["metadata"]["annotations"], **marks}
    return {**result, "metadata": {**result["metadata"], "annotations": annotations}}


def released(job):
    return ARGO.resume(job, (), NOW).apply(job)


def test_hold_and_release_leave_the_spec_as_it_was():
    locks = {"mutexes": [{"name": "m"}], "semaphores": [{"configMapKeyRef": {"name": "c"}}]}
    job = workflow(synchronization=locks)
    waiting = held(job, "locks,suspend,template")
    assert waiting["spec"]["templates"] == [WORK, MARKER]
    assert "synchronization" not in waiting["spec"]
    gone = released(waiting)
    assert gone["spec"] == job["spec"]
    assert SYNCHRONIZATION not in gone["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("annotations", "seconds"),
    [
        ({}, 3601),
        ({keys.ENQUEUE_TIMESTAMP: "2026-03-01T12:30:00Z"}, 1801),
        ({keys.ENQUEUE_TIMESTAMP: "2020-01-01T00:00:00Z"}, 3601),
        ({"kube-queue/job-enqueue-timestamp": "2026-03-01T12:59:00Z"}, 61),
        ({keys.ENQUEUE_TIMESTAMP: "2026-03-01T14:00:00Z"}, 0),
        ({keys.ENQUEUE_TIMESTAMP: "yesterday"}, 3601),
        ({keys.DEQUEUE_TIMESTAMP: "2026-03-01T12:30:00Z"}, 0),
    ],
    ids=["created", "enqueued", "of-a-copy", "kube-queue", "clock-behind", "bad", "ran-before"],
)
def test_time_in_the_queue_does_not_count_against_the_deadline(annotations, seconds):
    job = workflow(annotations=annotations, suspend=True, activeDeadlineSeconds=600)
    assert released(job)["spec"]["activeDeadlineSeconds"] == 600 + seconds


def test_the_deadline_is_raised_once():
    job = released(workflow(suspend=True, activeDeadlineSeconds=600))
    assert released(job) == job


@pytest.mark.parametrize("deadline", [0, -1, "600", True, None])
def test_what_is_no_deadline_is_left(deadline):
    job = workflow(suspend=True, activeDeadlineSeconds=deadline)
    assert released(job)["spec"]["activeDeadlineSeconds"] == deadline


@pytest.mark.parametrize(
    "change",
    [
        {"onExit": "koord-queue-suspend"},
        {"templates": [{"name": "m", "steps": [[{"template": "koord-queue-suspend"}]]}, MARKER]},
        {"templates": [{"name": "m", "dag": {"tasks": [{"template": "{{item}}"}]}}, MARKER]},
        {"templates": [WORK, {**MARKER, "suspend": {"duration": "10"}}]},
        {"templates": [WORK, {"name": "koord-queue-suspend", "container": {"image": "x"}}]},
    ],
    ids=["exit-handler", "step", "any-name", "changed", "no-suspend-template"],
)
def test_a_template_that_somebody_uses_stays(change):
    job = workflow(
        annotations={keys.INJECTED: "suspend,template"},
        suspend=True,
        **{"templates": [WORK, MARKER], **change},
    )
    assert released(job)["spec"]["templates"] == job["spec"]["templates"]


@pytest.mark.parametrize(
    "status",
    [
        {"nodes": {"n": node(phase="Succeeded")}},
        {"compressedNodes": packed({"n": node(phase="Succeeded")})},
        {"offloadNodeStatusVersion": "fnv:1"},
    ],
    ids=["ran", "ran-compressed", "cannot-be-seen"],
)
def test_a_template_that_may_have_run_stays(status):
    job = held(workflow(status))
    assert MARKER in released(job)["spec"]["templates"]


def test_a_template_that_argo_completed_goes_all_the_same():
    """Seen with Argo 4.0.5: its first update writes empty fields into each template."""
    job = held(workflow())
    empty = {"inputs": {}, "metadata": {}, "outputs": {}}
    templates = [{**each, **empty} for each in job["spec"]["templates"]]
    job = {**job, "spec": {**job["spec"], "templates": templates}}
    assert released(job)["spec"]["templates"] == [{**WORK, **empty}]


def test_a_template_of_the_user_stays():
    job = held(workflow(templates=[MARKER, WORK]), added="suspend")
    assert released(job)["spec"]["templates"] == [MARKER, WORK]


@pytest.mark.parametrize(
    "text", ["{", "[]", "5", "null", '{"a":1,"a":2}', "a: b", '{"a":NaN}', "x" * 20_000]
)
def test_locks_that_cannot_be_read_are_left_where_they_are(text):
    job = workflow(annotations={SYNCHRONIZATION: text}, suspend=True)
    assert released(job)["metadata"]["annotations"] == {SYNCHRONIZATION: text}


@pytest.mark.parametrize(
    "locks", [{"mutexes": [{"name": "m" * 20_000}]}, {}, [], "m", None], ids=str
)
def test_what_cannot_be_moved_stays_in_the_spec(locks):
    job = workflow(synchronization=locks)
    assert held(job)["spec"]["synchronization"] == locks


def test_locks_that_are_there_again_are_not_overwritten():
    job = workflow(
        annotations={SYNCHRONIZATION: '{"mutexes":[{"name":"old"}]}'},
        suspend=True,
        synchronization={"mutexes": [{"name": "new"}]},
    )
    assert released(job)["spec"]["synchronization"] == {"mutexes": [{"name": "new"}]}


@pytest.mark.parametrize(
    ("status", "suspend", "holds"),
    [
        (
            {"synchronization": {"mutex": {"holding": [{"mutex": "m", "holder": "flow"}]}}},
            True,
            True,
        ),
        ({"synchronization": {"semaphore": {"holding": [{"semaphore": "s"}]}}}, True, True),
        ({"synchronization": {"mutex": {"waiting": [{"mutex": "m"}]}}}, True, False),
        ({"synchronization": {"mutex": {"holding": [{"mutex": "m"}]}}}, None, False),
        ({}, True, False),
    ],
)
def test_a_held_workflow_that_has_a_lock_is_noticed(status, suspend, holds):
    """Event HoldsLock (spec 8.14b)."""
    assert holds_lock(workflow(status, suspend=suspend)) is holds


def test_without_estimates_a_workflow_that_says_nothing_counts_nothing():
    big = {"name": "work", "container": {"image": "x", "resources": {"requests": {"cpu": "4"}}}}
    job = workflow(templates=[big])
    views = [
        Workflow(JobOptions(estimates_workflows=estimates)).view(job) for estimates in (True, False)
    ]
    assert [each.pod_sets[0].template.request.to_wire() for each in views] == [{"cpu": "4"}, {}]
    assert [each.estimated for each in views] == [True, True]


@pytest.mark.parametrize(
    ("nodes", "state"),
    [
        ({"n": node()}, "Pending"),
        ({"s": {"type": "StepGroup", "phase": "Running"}}, "Pending"),
        ({"p": {"type": "Pod", "phase": "Pending"}}, "Pending"),
        ({"p": {"type": "Pod", "phase": "Running"}}, "Running"),
        ({"p": {"type": "Pod", "phase": "Succeeded"}, "n": node()}, "Running"),
        ({"h": {"type": "HTTP", "phase": "Running"}}, "Running"),
        ({"p": {"type": ["Pod"], "phase": {}}}, "Pending"),
    ],
)
def test_a_workflow_runs_once_a_node_that_works_has_started(nodes, state):
    plain = workflow({"phase": "Running", "nodes": nodes})
    small = workflow({"phase": "Running", "compressedNodes": packed(nodes)})
    before = copy.deepcopy(plain)
    assert [ARGO.view(each).state for each in (plain, small)] == [state, state]
    assert plain == before
