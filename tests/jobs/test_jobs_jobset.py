"""Whose pods a JobSet and a TrainJob count: those of what their operators made of them."""

from typing import Any

import pytest

from kq.core.model import JobView
from kq.jobs import INTEGRATIONS
from kq.jobs.children import claimed_maker
from kq.jobs.jobset import counted_by_jobs
from kq.jobs.options import JobOptions
from kq.jobs.trainjob import with_pods_of

JOBS = INTEGRATIONS["job"](JobOptions())
JOBSETS = INTEGRATIONS["jobset"](JobOptions())
TRAINJOBS = INTEGRATIONS["trainjob"](JobOptions())


def replicated(name: str, replicas: int, pods: int) -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": {"cpu": "2"}}}
    template = {"spec": {"priorityClassName": "high", "containers": [container]}}
    job = {"parallelism": pods, "completions": pods, "template": template}
    return {"name": name, "replicas": replicas, "template": {"spec": job}}


def jobset(*jobs: dict[str, Any], owner: str = "") -> JobView:
    metadata: dict[str, Any] = {"name": "train", "uid": "s1"}
    if owner:
        version = "trainer.kubeflow.org/v1alpha1"
        reference = {"apiVersion": version, "kind": "TrainJob", "name": owner, "controller": True}
        metadata["ownerReferences"] = [reference]
    return JOBSETS.view({"metadata": metadata, "spec": {"replicatedJobs": [*jobs]}})


def child(of: str, pods: int, *, replicas: int | str, **more: Any) -> JobView:
    """A Job as the JobSet operator makes it."""
    labels = {
        "jobset.sigs.k8s.io/replicatedjob-name": of,
        "jobset.sigs.k8s.io/replicatedjob-replicas": str(replicas),
    }
    metadata = {"name": f"train-{of}-0", "labels": labels, **more.pop("metadata", {})}
    return JOBS.view(
        {"metadata": metadata, "spec": {"parallelism": pods, "completions": pods}, **more}
    )


CHILDREN = [
    pytest.param([], {"driver": 1, "workers": 8}, id="none is made yet"),
    pytest.param(
        [child("workers", 4, replicas=2), child("workers", 4, replicas=2)],
        {"driver": 1, "workers": 8},
        id="made as the set says",
    ),
    pytest.param(
        [child("workers", 3, replicas=2), child("workers", 3, replicas=2)],
        {"driver": 1, "workers": 6},
        id="made before the set was changed",
    ),
    pytest.param(
        [child("workers", 3, replicas=2)], {"driver": 1, "workers": 7}, id="half of them made"
    ),
    pytest.param(
        [child("workers", 4, replicas=2, status={"succeeded": 3})],
        {"driver": 1, "workers": 8},
        id="what has ended may be run again",
    ),
    pytest.param(
        [child("workers", 1, replicas=2, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
        {"driver": 1, "workers": 8},
        id="one that is made anew",
    ),
    pytest.param([child("others", 9, replicas=1)], {"driver": 1, "workers": 8}, id="a stranger"),
    pytest.param(
        [child("DRIVER", 2, replicas=1)], {"driver": 2, "workers": 8}, id="letters of any case"
    ),
]


@pytest.mark.parametrize(("children", "expected"), CHILDREN)
def test_a_jobset_counts_as_the_jobs_that_it_made(children, expected):
    """Spec 8.21."""
    counted = counted_by_jobs(
        jobset(replicated("driver", 1, 1), replicated("workers", 2, 4)), children
    )
    assert {each.name: each.count for each in counted.pod_sets} == expected
    assert {each.name: each.wanted for each in counted.pod_sets} == expected


@pytest.mark.parametrize("text", ["", "two", "-1", "²", "9" * 40, "0"])
def test_an_odd_number_of_replicas_counts_the_jobs_that_are_there(text: str):
    job = child("workers", 3, replicas=text)
    counted = counted_by_jobs(jobset(replicated("workers", 2, 4)), [job])
    assert [each.count for each in counted.pod_sets] == [3]


def test_a_trainjob_has_the_pods_of_its_jobset_and_writes_no_label_on_them():
    """Spec 8.2, 8.21, 6.6."""
    job = TRAINJOBS.view({"metadata": {"name": "train"}, "spec": {"suspend": True}})
    seen = with_pods_of(job, jobset(replicated("node", 1, 2), owner="train"))
    (node,) = seen.pod_sets
    assert (node.name, node.count, node.template.request.to_wire()) == ("node", 2, {"cpu": "2"})
    assert node.template.priority_class == "high"
    assert node.path == ()
    assert seen.suspended
    assert seen.kind.kind == "TrainJob"


def test_a_trainjob_says_what_is_wrong_with_its_jobset():
    job = TRAINJOBS.view({"metadata": {"name": "train"}})
    broken = jobset({"name": "node", "replicas": "two"}, owner="train")
    assert with_pods_of(job, broken).defect == broken.defect
    assert broken.defect is not None


def test_the_jobset_of_a_trainjob_is_its_child():
    owner = claimed_maker(jobset(replicated("node", 1, 2), owner="train"))
    assert owner is not None
    assert (owner.kind, owner.name) == ("TrainJob", "train")
