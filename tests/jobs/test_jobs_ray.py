"""RayJob and RayCluster beyond their golden cases (spec 8.2a, 8.6, 8.13)."""

import pytest

from kq.jobs.options import JobOptions
from kq.jobs.ray import RayCluster, RayJob
from kq.jobs.remarks import w4


def cluster(*groups, **more):
    return {
        "apiVersion": "ray.io/v1",
        "metadata": {"name": "c"},
        "spec": {"workerGroupSpecs": list(groups), **more},
    }


def ray_job(spec=None, status=None, version="v1"):
    return {
        "apiVersion": f"ray.io/{version}",
        "metadata": {"name": "j"},
        "spec": spec or {},
        "status": status or {},
    }


def counts(job, *, maximum=False):
    view = RayCluster(JobOptions(counts_maximum=maximum)).view(job)
    return [each.count for each in view.pod_sets[1:]], view.defect


GROUP = {"groupName": "g", "replicas": 2, "minReplicas": 1, "maxReplicas": 5, "numOfHosts": 3}


@pytest.mark.parametrize(
    ("group", "scales", "maximum", "count"),
    [
        (GROUP, True, False, 6),
        (GROUP, True, True, 15),
        (GROUP, False, True, 6),
        ({**GROUP, "maxReplicas": 2**31 - 1}, True, True, 6),
        ({**GROUP, "maxReplicas": None}, True, True, 6),
        ({**GROUP, "suspend": True}, True, True, 0),
        ({**GROUP, "replicas": 9}, True, False, 15),
        ({**GROUP, "replicas": 0}, False, False, 3),
        ({**GROUP, "minReplicas": 7, "maxReplicas": 3}, False, False, 21),
        ({**GROUP, "numOfHosts": 0}, False, False, 0),
    ],
)
def test_a_group_that_scales_counts_what_starts_first_or_its_bound(group, scales, maximum, count):
    job = cluster(group, enableInTreeAutoscaling=scales)
    assert counts(job, maximum=maximum) == ([count], None)


def test_a_cluster_of_more_groups_than_a_unit_takes_is_said():
    """Case 22.1: more than 256 pod sets."""
    found, defect = counts(cluster(*({"groupName": f"g{n}"} for n in range(300))))
    assert len(found) == 254
    assert defect == "spec.workerGroupSpecs is of 300 groups, not at most 254"


@pytest.mark.parametrize("version", ["v1", "v1alpha1"])
def test_the_view_names_the_version_that_the_object_has(version):
    assert RayJob(JobOptions()).view(ray_job(version=version)).kind.version == version
    assert (
        RayCluster(JobOptions()).view({**cluster(), "apiVersion": f"ray.io/{version}"}).kind.version
        == version
    )


@pytest.mark.parametrize("phase", ["Complete", "Failed", "ValidationFailed"])
def test_a_ray_job_ends_with_its_cluster(phase):
    view = RayJob(JobOptions()).view(
        ray_job(status={"jobDeploymentStatus": phase, "rayClusterName": "j-1"})
    )
    assert (view.finished, view.ends_with) == (True, "j-1")


@pytest.mark.parametrize("phase", ["", "Running", "Suspended", "Retrying", "Waiting"])
def test_a_ray_job_that_has_not_ended_ends_with_nothing(phase):
    view = RayJob(JobOptions()).view(
        ray_job(status={"jobDeploymentStatus": phase, "rayClusterName": "j-1"})
    )
    assert (view.finished, view.ends_with) == (False, "")


@pytest.mark.parametrize(
    ("spec", "unsuspendable", "remarks"),
    [
        ({}, False, (w4(),)),
        ({"shutdownAfterJobFinishes": None}, False, (w4(),)),
        ({"shutdownAfterJobFinishes": True}, False, ()),
        ({"shutdownAfterJobFinishes": False}, True, ()),
        ({"deletionStrategy": {"deletionRules": [{"policy": "DeleteNone"}]}}, True, ()),
        ({"deletionStrategy": {"deletionRules": []}}, False, (w4(),)),
        ({"clusterSelector": {"ray.io/cluster": "c"}}, False, ()),
    ],
)
def test_what_kuberay_cannot_suspend_is_known(spec, unsuspendable, remarks):
    view = RayJob(JobOptions()).view(ray_job(spec))
    assert (view.unsuspendable, view.remarks) == (unsuspendable, remarks)


def test_only_a_submitter_of_the_default_mode_is_a_pod_of_its_own():
    modes = (None, "K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode")
    views = [RayJob(JobOptions()).view(ray_job({"submissionMode": mode})) for mode in modes]
    names = [[each.name for each in view.pod_sets] for view in views]
    assert names == [["head", "submitter"]] * 2 + [["head"]] * 3
