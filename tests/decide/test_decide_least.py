"""What a job says that it needs at least counts beside its pods, whatever its kind (spec 8.16)."""

import pytest
from builders import (
    NOW,
    amounts,
    job_view,
    namespace,
    pod,
    pod_set,
    queue,
    quota,
    running_job,
    situation,
    unit,
)
from builders import book as book_of
from plans import RUNNING, kinds, one

from kq.core import keys
from kq.core.model import Consumer
from kq.core.resources import Resources
from kq.decide.actions import CreateUnit, PatchUnit
from kq.decide.charge import asked_by, charge_of
from kq.decide.pods import PodGroup
from kq.quota.byrequest import ByRequest

KEY = keys.MIN_RESOURCES[0]
TWO_PODS = (pod_set(count=2, cpu=2, memory="1Gi"),)


def marked(text, **fields):
    return unit(pod_sets=TWO_PODS, annotations={KEY: text}, **fields)


def named(found: Resources) -> dict[str, str]:
    wire = found.to_wire()
    return {name: wire[name] for name in wire if name not in (*keys.MAX_JOBS, "pods")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("cpu: 1", {"cpu": "4", "memory": "2Gi"}, id="less than its pods"),
        pytest.param("cpu: 5", {"cpu": "5", "memory": "2Gi"}, id="more cpu"),
        pytest.param('{"memory": "3Gi"}', {"cpu": "4", "memory": "3Gi"}, id="more memory"),
        pytest.param(
            "nvidia.com/gpu: 1",
            {"cpu": "4", "memory": "2Gi", "nvidia.com/gpu": "1"},
            id="what its pods do not name",
        ),
        pytest.param("cpu: lots", {"cpu": "4", "memory": "2Gi"}, id="unreadable: it waits (M16)"),
    ],
)
def test_per_resource_the_larger_counts(text, expected):
    """Waiting, and while it holds quota with fewer pods than that."""
    assert named(asked_by(marked(text), "team-a", ByRequest())) == expected
    held = marked(text, **RUNNING)
    assert named(charge_of(held, None, "team-a", ByRequest())) == expected


def test_pods_above_it_count_as_they_are():
    group = PodGroup()
    for number in range(3):
        group.put(pod(f"train-{number}", cpu=2))
    assert charge_of(marked("cpu: 5", **RUNNING), group, "team-a", ByRequest())["cpu"] == 6000


def test_without_a_grant_only_pods_count():
    group = PodGroup()
    group.put(pod(cpu=2))
    assert charge_of(marked("cpu: 5"), group, "team-a", ByRequest())["cpu"] == 2000


def test_a_workflow_is_counted_by_its_pod_set():
    """Spec 8.17: as granted, though the annotation has changed since."""
    argo = Consumer("argoproj.io/v1alpha1", "Workflow", "train", "team-a", "job-train")
    held = marked("cpu: 5", consumer=argo, **RUNNING)
    assert charge_of(held, None, "team-a", ByRequest())["cpu"] == 4000


@pytest.mark.parametrize(("limit", "granted"), [(4, 0), (5, 1)], ids=["too little", "enough"])
def test_a_job_that_says_more_waits_where_its_pods_alone_would_fit(limit, granted):
    book = book_of(quota(cpu=limit), views=[queue(), namespace(), marked("cpu: 5"), job_view()])
    assert len(book.cycle("team-a", NOW)) == granted


def test_its_unit_says_so():
    """Spec 2.2: resource and request are what counts."""
    job = job_view(annotations={KEY: "cpu: 5"}, pod_sets=TWO_PODS)
    spec = one(situation(job), CreateUnit).body["spec"]
    assert spec["resource"] == spec["request"] == {"cpu": "5", "memory": "2Gi"}


@pytest.mark.parametrize(
    ("text", "resource"),
    [("cpu: 6", {"cpu": "6", "memory": "2Gi"}), (None, {"cpu": "4", "memory": "2Gi"})],
    ids=["changed", "removed"],
)
def test_a_change_counts_at_once(text, resource):
    annotations = {} if text is None else {KEY: text}
    job = running_job(annotations=annotations, pod_sets=TWO_PODS)
    held = marked("cpu: 5", resource=amounts(cpu=5, memory="2Gi"), **RUNNING)
    patch = one(situation(job, held), PatchUnit).patch
    assert patch["metadata"]["annotations"][KEY] == text
    assert patch["spec"] == {"resource": resource}


def test_nothing_is_written_while_nothing_changes():
    """Spec 24.9."""
    job = job_view(annotations={KEY: "cpu: 5"}, pod_sets=TWO_PODS)
    made = one(situation(job), CreateUnit).body
    waiting = unit(
        pod_sets=TWO_PODS,
        annotations=made["metadata"]["annotations"],
        resource=amounts(**made["spec"]["resource"]),
    )
    assert PatchUnit not in kinds(situation(job, waiting))
