"""A job that runs although it is held: its CRD drops the field that its operator reads."""

from collections.abc import Iterator

import pytest
from controlplane.cluster import Cluster
from ground import ClusterGround, Object, path
from kind_cases import of_kinds
from kind_cases_kubeflow import TF_JOB
from kind_world import KindWorld
from reading import message_of
from world import World

from kq.core import keys
from kq.core.kinds import CRD

DEFINITION = path(CRD, name=f"{TF_JOB.kind.plural}.{TF_JOB.kind.group}")
WAY = ("spec", "runPolicy", "suspend")
FIELD = "/spec/versions/0/schema/openAPIV3Schema" + "".join(f"/properties/{each}" for each in WAY)
STEADY = 50
"""Answers in a row after which nothing changes any more: some seconds."""
M25 = "pods run although the job is held: the operator of TFJob does not honour suspension"


@pytest.fixture
def without_the_field(control_plane: Cluster, namespace: str) -> Iterator[None]:
    """TFJobs lose `spec.runPolicy.suspend`, as with the CRDs that Arena brings."""
    there = control_plane.api("GET", DEFINITION)["spec"]["versions"][0]["schema"]
    field = there["openAPIV3Schema"]["properties"]["spec"]["properties"]["runPolicy"]["properties"]
    edit(control_plane, {"op": "remove", "path": FIELD})
    wait_kept(control_plane, namespace, False)
    yield
    edit(control_plane, {"op": "add", "path": FIELD, "value": field["suspend"]})
    wait_kept(control_plane, namespace, True)


def edit(cluster: Cluster, operation: dict[str, object]) -> None:
    cluster.api("PATCH", DEFINITION, [operation], content_type="application/json-patch+json")


def wait_kept(cluster: Cluster, namespace: str, kept: bool) -> None:
    """Returns when the field is kept, or is not."""
    ground = ClusterGround(cluster=cluster)
    job = {
        "apiVersion": TF_JOB.kind.api_version,
        "kind": TF_JOB.kind.kind,
        "metadata": {"name": "a", "namespace": namespace},
        "spec": {"runPolicy": {"suspend": True}, "tfReplicaSpecs": {}},
    }

    in_a_row: list[bool] = []

    def holds() -> bool:
        """The API server changes its handlers one after the other, and ends watches meanwhile."""
        policy = ground.tried(TF_JOB.kind, job)["spec"].get("runPolicy", {})
        in_a_row.append(("suspend" in policy) is kept)
        return len(in_a_row) >= STEADY and all(in_a_row[-STEADY:])

    ground.until(holds, f"spec.runPolicy.suspend is {'kept' if kept else 'dropped'}")


@of_kinds((TF_JOB,))
def test_a_job_that_runs_though_it_is_held_is_counted_and_told_of_once(
    world: World, without_the_field: None, jobs: KindWorld
) -> None:
    a = world.quota("a", cpu=3)
    world.submit(world.manifest("blocker", a, cpu=1))
    world.wait_granted("blocker")
    jobs.submit("first", a)
    pods = uids(jobs.wait_made("first"))
    world.wait_event("first", "HoldIneffective", TF_JOB.kind)
    unit = world.wait_phase(jobs.unit("first"), "Running")
    assert message_of(unit) == M25
    assert jobs.granted("first")["cpu"] == 3000
    world.submit(world.manifest("second", a, cpu=1))
    world.wait_message("second", f"waiting for quota {a}: 1 cpu requested, not enough free of 3")
    jobs.activate("first", False)
    world.wait_event("first", "NotEvictable", TF_JOB.kind)
    assert uids(jobs.pods("first")) == pods
    told = [each["reason"] for each in world.events("first", TF_JOB.kind)]
    assert told.count("HoldIneffective") == 1
    job = jobs.wait("first", bool)
    assert job["metadata"]["annotations"][keys.SUSPEND] == "true"
    jobs.delete("first")
    world.wait_granted("second")


def uids(things: list[Object]) -> set[str]:
    return {each["metadata"]["uid"] for each in things}
