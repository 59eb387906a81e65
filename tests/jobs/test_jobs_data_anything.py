"""Whatever stands in a job of these kinds: it is read, held, and given back as it was (spec 22)."""

import copy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kq.core import codec, keys
from kq.core.keys import SYNCHRONIZATION
from kq.core.patch import Patch
from kq.jobs import INTEGRATIONS
from kq.jobs.argonodes import SUSPEND_TEMPLATE, out_of_reach, released_nodes
from kq.jobs.injected import injected
from kq.jobs.options import JobOptions

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
KINDS = ("rayjob", "raycluster", "sparkapp", "workflow")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
WORDS = st.sampled_from(
    [
        "Running",
        "Succeeded",
        "Failed",
        "Complete",
        "COMPLETED",
        "SUBMISSION_FAILED",
        "Suspended",
        "Suspend",
        "Pod",
        "Stop",
        "Terminate",
        "K8sJobMode",
        "SidecarMode",
        "OnFailure",
        "true",
        "1g",
        "500m",
        "2",
        "-1",
        "koord-queue-suspend",
        "cluster",
        "client",
        "1.5",
    ]
)
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.integers() | TEXTS | WORDS
FIELDS = st.sampled_from(
    [
        "replicas",
        "minReplicas",
        "maxReplicas",
        "numOfHosts",
        "groupName",
        "template",
        "spec",
        "suspend",
        "containers",
        "initContainers",
        "sidecars",
        "resources",
        "requests",
        "limits",
        "cpu",
        "memory",
        "cores",
        "coreRequest",
        "instances",
        "gpu",
        "name",
        "quantity",
        "steps",
        "outputs",
        "parameters",
        "valueFrom",
        "supplied",
        "type",
        "phase",
        "templateName",
        "status",
        "templateRef",
        "headGroupSpec",
        "state",
        "holding",
        "mutex",
        "enabled",
        "minExecutors",
        "spark.executor.instances",
        "spark.dynamicAllocation.enabled",
        "container",
        "deletionRules",
    ]
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS | TEXTS, inner, max_size=4),
    max_leaves=12,
)
SPEC = st.dictionaries(
    st.sampled_from(
        [
            "suspend",
            "shutdownAfterJobFinishes",
            "deletionStrategy",
            "clusterSelector",
            "managedBy",
            "submissionMode",
            "submitterPodTemplate",
            "rayClusterSpec",
            "headGroupSpec",
            "workerGroupSpecs",
            "enableInTreeAutoscaling",
            "autoscalerOptions",
            "driver",
            "executor",
            "dynamicAllocation",
            "sparkConf",
            "mode",
            "type",
            "memoryOverheadFactor",
            "restartPolicy",
            "batchSchedulerOptions",
            "nodeSelector",
            "templates",
            "entrypoint",
            "workflowTemplateRef",
            "synchronization",
            "shutdown",
            "activeDeadlineSeconds",
            "podPriorityClassName",
            "priority",
            "onExit",
            "hooks",
        ]
    ),
    ANYTHING,
    max_size=6,
)
STATUS = st.dictionaries(
    st.sampled_from(
        [
            "jobDeploymentStatus",
            "rayClusterName",
            "message",
            "startTime",
            "state",
            "conditions",
            "readyWorkerReplicas",
            "stateTransitionTimes",
            "applicationState",
            "executionAttempts",
            "submissionAttempts",
            "lastSubmissionAttemptTime",
            "phase",
            "nodes",
            "compressedNodes",
            "offloadNodeStatusVersion",
            "storedWorkflowTemplateSpec",
            "synchronization",
        ]
    ),
    ANYTHING,
    max_size=4,
)
ANNOTATIONS = st.dictionaries(
    st.sampled_from(
        [keys.SUSPEND, *keys.MIN_RESOURCES, keys.ENQUEUE_TIMESTAMP, SYNCHRONIZATION, keys.INJECTED]
    ),
    TEXTS | WORDS | st.sampled_from(['{"cpu":1}', "cpu: 2", "2026-03-01T11:00:00Z", "template"]),
    max_size=3,
)
JOBS = st.builds(
    lambda spec, status, annotations: {
        "metadata": {"name": "j", "uid": "u", "annotations": annotations},
        "spec": spec,
        "status": status,
    },
    SPEC | ANYTHING,
    STATUS | ANYTHING,
    ANNOTATIONS | ANYTHING,
)
SOBER = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def integration(kind: str) -> Any:
    return INTEGRATIONS[kind](JobOptions(counts_maximum=True))


@pytest.mark.parametrize("kind", KINDS)
@SOBER
@given(job=JOBS)
def test_any_job_is_read(kind: str, job: dict[str, Any]):
    before = copy.deepcopy(job)
    view = integration(kind).view(job)
    bare = integration(kind).view(job, templates=False)
    assert [each.name for each in view.pod_sets] == [each.name for each in bare.pod_sets]
    assert [each.count for each in view.pod_sets] == [each.count for each in bare.pod_sets]
    assert len({each.name for each in view.pod_sets}) == len(view.pod_sets)
    assert all(0 <= each.count <= 10**6 for each in view.pod_sets)
    assert job == before


@pytest.mark.parametrize("kind", KINDS)
@SOBER
@given(job=JOBS)
def test_any_job_is_held_and_let_run(kind: str, job: dict[str, Any]):
    kq = integration(kind)
    held = kq.hold(job).apply(job)
    assert kq.view(held).suspended
    assert kq.hold(held).is_noop(held)
    released = kq.resume(held, (), NOW).apply(held)
    assert not kq.view(released).suspended
    assert kq.view(kq.suspend(released).apply(released)).suspended


def marked(job: dict[str, Any], hold: Patch) -> dict[str, Any]:
    """The held job with the marks that the webhook adds."""
    added = ",".join(sorted(injected(hold.to_json_patch(job))))
    marks = {keys.INJECTED: added, keys.ENQUEUE_TIMESTAMP: codec.format_time(NOW)}
    return Patch({"metadata": {"annotations": marks}}).apply(hold.apply(job))


def without_nulls(value: Any) -> Any:
    """As the API server and a merge patch see it: null in a map is nothing."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def apart_from_the_hold(job: dict[str, Any], kind: str) -> dict[str, Any]:
    """What of a job is its user's."""
    spec = {key: value for key, value in job["spec"].items() if key != "suspend"}
    if kind == "rayjob" and spec.get("shutdownAfterJobFinishes") in (None, True):
        spec.pop("shutdownAfterJobFinishes", None)
    return without_nulls(spec)


@pytest.mark.parametrize("kind", KINDS)
@SOBER
@given(spec=SPEC)
def test_a_job_comes_back_from_its_hold_as_its_user_wrote_it(kind: str, spec: dict[str, Any]):
    # The template that a Workflow was given stays where anything may refer to it.
    assume(not any(word in repr(spec) for word in (SUSPEND_TEMPLATE, "{{")))
    kq = integration(kind)
    job = {"metadata": {"name": "j", "creationTimestamp": "2026-03-01T12:00:00Z"}, "spec": spec}
    held = marked(job, kq.hold(job))
    released = kq.resume(held, (), NOW).apply(held)
    assert apart_from_the_hold(released, kind) == apart_from_the_hold(job, kind)
    assert SYNCHRONIZATION not in released["metadata"]["annotations"]


@SOBER
@given(job=JOBS)
def test_nodes_of_any_workflow_are_released_once(job: dict[str, Any]):
    patch = released_nodes(job, NOW)
    assert patch is None or released_nodes(patch.apply(job), NOW) is None
    assert out_of_reach(job) in (True, False)
