"""ResourceQuotas as the limits of queued jobs: keys, scopes, pods of others (spec 11.14-11.18)."""

from collections.abc import Iterator

import pytest
from controlplane.cluster import Cluster
from controlplane.kq import Kq
from mode_objects import container, limit, set_limit
from world import FOREVER, INSTALLED_IN, World
from worlds import new_world

from kq.core.kinds import POD, PRIORITY_CLASS, QUEUE, RESOURCE_QUOTA

THREE_PODS = {"parallelism": 3, "completions": 3}


@pytest.fixture(scope="module")
def quota_kq(
    audited_control_plane: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kq]:
    """kq where ResourceQuotas are the limits."""
    environment = {"QueueGroupPlugin": "resourcequota"}
    folder = tmp_path_factory.mktemp("quota-kq")
    started = Kq(
        cluster=audited_control_plane,
        folder=folder,
        as_accounts=True,
        settings={"scheduling": {"retry": "event"}},
        environment=environment,
    )
    with started:
        yield started
    assert started.errors() == []


@pytest.fixture
def world(audited_control_plane: Cluster, quota_kq: Kq) -> World:
    return new_world(audited_control_plane)


def waiting_for(world: World, name: str, need: str, key: str, free_of: str) -> str:
    quota = f"{world.namespace}/{name}"
    return f"waiting for quota {quota}: {need} {key} requested, not enough free of {free_of}"


def test_the_example_of_resource_quotas_runs_one_job_after_the_other(world: World) -> None:
    """Spec 23.31: three pods of 1 cpu each, twice, in a namespace of 4 cpu."""
    limit(world, "default", {"cpu": 4, "memory": "4Gi"})
    assert world.ground.read(QUEUE, INSTALLED_IN, world.namespace) is None
    for name in ("job1", "job2"):
        world.submit(world.manifest(name, cpu=1, memory="1Gi", spec=THREE_PODS))
    world.wait_pods("job1", 3)
    memory = "; 3Gi memory requested, not enough free of 4Gi"
    world.wait_message("job2", waiting_for(world, "default", "3", "cpu", "4") + memory)
    assert world.queue(world.namespace)["spec"]["queuePolicy"] == "Priority"
    world.delete_job("job1")
    world.wait_pods("job2", 3)


def test_pods_of_nobodys_queue_count(world: World) -> None:
    limit(world, "all", {"requests.cpu": 4})
    runs = {"run-for": FOREVER}
    own = {"name": "own", "namespace": world.namespace, "annotations": runs}
    spec = {"containers": [container({"cpu": "3"})]}
    world.ground.create(POD, {"metadata": own, "spec": spec})
    world.submit(world.manifest("first", cpu=2))
    world.wait_message("first", waiting_for(world, "all", "2", "requests.cpu", "4"))
    world.ground.delete(POD, world.namespace, "own")
    world.wait_pods("first")


def test_each_quota_of_the_namespace_must_have_room(world: World) -> None:
    limit(world, "compute", {"cpu": 9, "limits.memory": "2Gi"})
    limit(world, "number", {"pods": 2})
    one = {"containers": [container({"cpu": "1"}, {"memory": "1Gi"})]}
    world.submit(world.manifest("first", pod_spec=one))
    world.wait_pods("first")
    two = {"parallelism": 2, "completions": 2}
    world.submit(world.manifest("second", pod_spec=one, spec=two))
    text = waiting_for(world, "compute", "2Gi", "limits.memory", "2Gi")
    world.wait_message("second", text)
    set_limit(world, "compute", {"limits.memory": "9Gi"})
    world.wait_message("second", waiting_for(world, "number", "2", "pods", "2"))
    set_limit(world, "number", {"pods": 3})
    world.wait_pods("second", 2)


def test_pods_that_have_ended_count_as_objects_until_they_are_gone(world: World) -> None:
    """As the API server counts them: it would refuse the pod of a third job."""
    limit(world, "objects", {"count/pods": 2, "pods": 9})
    world.job("first", cpu=1, run_for="0s")
    world.wait_complete("first")
    world.job("second", cpu=1)
    world.wait_pods("second")
    world.submit(world.manifest("third", cpu=1))
    world.wait_message("third", waiting_for(world, "objects", "1", "count/pods", "2"))
    world.delete_job("first")
    world.wait_pods("third")


def test_what_a_quota_demands_of_containers_is_waited_for(world: World) -> None:
    """The pods would be refused by the API server (spec 11.17)."""
    limit(world, "strict", {"requests.cpu": 4})
    world.submit(world.manifest("first", pod_spec={"containers": [container()]}))
    world.wait_message(
        "first",
        f"resource quota {world.namespace}/strict demands requests.cpu of every container; "
        "container main of pod set first sets none",
    )
    assert world.pods("first") == []
    world.ground.delete(RESOURCE_QUOTA, world.namespace, "strict")
    limit(world, "lax", {"pods": 4})
    world.wait_pods("first")


def test_a_quota_counts_the_pods_that_its_scopes_name(world: World) -> None:
    limit(world, "nightly", {"cpu": 1}, scopes=["Terminating"])
    limit(world, "daily", {"cpu": 1}, scopes=["NotTerminating"])
    world.job("day", cpu=1)
    ends = {"activeDeadlineSeconds": 3600}
    world.wait_pods("day")
    world.job("night", cpu=1, pod_spec=ends)
    world.wait_pods("night")
    world.submit(world.manifest("late", cpu=1, pod_spec=ends))
    world.wait_message("late", waiting_for(world, "nightly", "1", "cpu", "1"))


def test_a_quota_of_a_priority_class_counts_the_pods_of_that_class(world: World) -> None:
    name = f"{world.namespace}-high"
    body = {"metadata": {"name": name}, "value": 7}
    world.ground.create(PRIORITY_CLASS, body)
    of_class = {"scopeName": "PriorityClass", "operator": "In", "values": [name]}
    limit(world, "high", {"cpu": 1}, scopeSelector={"matchExpressions": [of_class]})
    limit(world, "all", {"cpu": 9})
    high = {"priorityClassName": name}
    world.job("first", cpu=1, pod_spec=high)
    world.wait_pods("first")
    world.submit(world.manifest("second", cpu=1, pod_spec=high), world.manifest("low", cpu=1))
    world.wait_message("second", waiting_for(world, "high", "1", "cpu", "1"))
    world.wait_pods("low")


def test_a_namespace_that_lost_its_quota_waits_for_another(world: World) -> None:
    limit(world, "only", {"cpu": 1})
    world.job("first", cpu=1)
    world.wait_pods("first")
    world.submit(world.manifest("second", cpu=1))
    world.wait_message("second", waiting_for(world, "only", "1", "cpu", "1"))
    world.ground.delete(RESOURCE_QUOTA, world.namespace, "only")
    world.wait_message("second", f"namespace {world.namespace} has no ResourceQuota")
    limit(world, "new", {"cpu": 1})
    world.wait_message("second", waiting_for(world, "new", "1", "cpu", "1"))
    set_limit(world, "new", {"cpu": 2})
    world.wait_pods("second")
