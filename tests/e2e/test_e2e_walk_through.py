"""The walk-through of ack-kube-queue, in both of its quota modes, with its own environment.

The objects are those of manifests/examples, in a namespace of the scenario's own.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from controlplane.cluster import Cluster
from controlplane.kq import Kq
from ground import ClusterGround, Object
from kind_cases_data import WORKFLOW
from kind_cases_kubeflow import TF_JOB
from mode_objects import grow, plant
from reading import message_of, phase_of, replicas_of
from world import FOREVER, World

from kq.core.kinds import POD, RESOURCE_QUOTA

EXAMPLES = Path(__file__).parents[2] / "manifests/examples"
TREE = {"QueueGroupPlugin": "elasticquota"}
STRICT = {"QueueGroupPlugin": "resourcequota", "StrictPriority": "true"}
MODES = [pytest.param(TREE, id="ElasticQuotaTree"), pytest.param(STRICT, id="ResourceQuota")]
LEAF = "root/root.defaultQuotaGroup"
STRICTLY = "starts units of quota {} strictly in order, an earlier one does not fit"
TOO_MUCH = "cannot start: 5 cpu requested, but max of quota root/root.defaultQuotaGroup is 4"
PODS = ("ps-0", "worker-0", "worker-1")

Listed = Callable[[str], Mapping[str, str]]
"""What `kubectl get KIND` shows as the state of each job, by name."""


@pytest.fixture(scope="module")
def switched(kq: Kq) -> Iterator[Callable[[Mapping[str, str]], None]]:
    """Starts kq anew with an environment; after the module it has its own again."""
    own = kq.environment

    def switch(environment: Mapping[str, str]) -> None:
        if kq.environment == environment:
            return
        kq.stop_manager()
        kq.stop_webhook()
        kq.environment = environment
        kq.start_webhook()
        kq.start_manager()

    yield switch
    switch(own)


@pytest.fixture
def world(
    control_plane: Cluster,
    namespace: str,
    environment: Mapping[str, str],
    switched: Callable[[Mapping[str, str]], None],
) -> World:
    """A namespace on the session's cluster, with kq as that deployment was set up."""
    switched(environment)
    return World(ground=ClusterGround(cluster=control_plane), namespace=namespace)


@pytest.fixture
def listed(world: World, kubectl: Callable[..., Any]) -> Listed:
    """By kubectl itself."""

    def states(kind: str) -> Mapping[str, str]:
        lines = kubectl("get", kind, "-n", world.namespace, "--no-headers").stdout.splitlines()
        return {line.split()[0]: line.split()[1] for line in lines}

    return states


def example(name: str) -> list[Object]:
    """The objects of an example."""
    return list(yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text()))


def moved(world: World, body: Object) -> Object:
    """The object in the namespace of the scenario."""
    return {**body, "metadata": {**body["metadata"], "namespace": world.namespace}}


def limit(world: World, environment: Mapping[str, str]) -> str:
    """The quota of the example for the scenario's namespace; its name."""
    if environment == TREE:
        plant(world, tree(world))
        return LEAF
    [body] = example("resource-quota")
    world.ground.create(RESOURCE_QUOTA, moved(world, body))
    return f"{world.namespace}/default"


def tree(world: World) -> Object:
    """The root of the example's tree, whose leaf lists the scenario's namespace."""
    [body] = example("elastic-quota-tree")
    root: Object = deepcopy(body["spec"]["root"])
    root["children"][0]["namespaces"] = [world.namespace]
    return root


def tf_jobs(world: World) -> list[Object]:
    """Both of the example; their pods run until they are told to end."""
    jobs = [moved(world, each) for each in example("tfjobs")]
    for job in jobs:
        for role in job["spec"]["tfReplicaSpecs"].values():
            role["template"]["metadata"]["annotations"]["run-for"] = FOREVER
    return jobs


def third(world: World) -> Object:
    """A job of one worker."""
    job = tf_jobs(world)[0]
    del job["spec"]["tfReplicaSpecs"]["PS"]
    job["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = 1
    return {**job, "metadata": {**job["metadata"], "name": "job3"}}


def pods_of(world: World, job: str, *, live: bool = True) -> list[str]:
    """The names of a job's pods without that of the job."""
    ended = ("Succeeded", "Failed")
    found = [
        each["metadata"]["name"].removeprefix(f"{job}-")
        for each in world.ground.items(POD, world.namespace)
        if each["metadata"]["name"].startswith(f"{job}-")
        and not (live and each["status"].get("phase") in ended)
    ]
    return sorted(found)


def end(world: World, job: str) -> None:
    """The pods of a job are done with their work."""
    for name in pods_of(world, job):
        patch = {"metadata": {"annotations": {"run-for": "0s"}}}
        world.change(POD, f"{job}-{name}", patch)


def wait_listed(world: World, listed: Listed, **states: str) -> None:
    world.ground.until(lambda: states.items() <= listed("tfjob").items(), f"it shows {states}")


@pytest.mark.operators("argo")
@pytest.mark.parametrize("environment", MODES[:1])
def test_a_workflow_is_queued_as_a_whole_by_what_it_says_that_it_needs(
    world: World, environment: Mapping[str, str]
) -> None:
    """5 cpu and 5G, in kube-queue's spelling: more than the leaf has, until that is raised."""
    limit(world, environment)
    [body] = example("workflow-as-a-whole")
    flow = moved(world, body)
    flow["spec"]["podMetadata"]["annotations"]["run-for"] = "0s"
    world.submit(flow)
    name = flow["metadata"]["name"]
    unit = world.wait_unit(name, lambda unit: message_of(unit).startswith(TOO_MUCH))
    assert unit["spec"]["resource"] == {"cpu": "5", "memory": "5G"}
    assert pods_of(world, name, live=False) == []
    wider = tree(world)
    wider["children"][0]["max"] = {"cpu": "5", "memory": "5G"}
    grow(world, wider)
    ended = world.ground.wait(WORKFLOW.kind, world.namespace, name, has_succeeded)
    assert [each["name"] for each in ended["spec"]["templates"]] == ["koord-queue-suspend", "main"]
    world.wait_phase(name, "Succeed")


@pytest.mark.operators("training")
@pytest.mark.parametrize("environment", MODES)
def test_the_second_tf_job_is_shown_as_queuing_until_the_first_has_ended(
    world: World, listed: Listed, environment: Mapping[str, str]
) -> None:
    """Case B5: 1 + 2 pods of 1 cpu each; twice that is more than 4."""
    quota = limit(world, environment)
    for job in tf_jobs(world):
        world.submit(job)
        world.unit(f"{job['metadata']['name']}-tf-qu")
    wait_listed(world, listed, job1="Running", job2="Queuing")
    assert pods_of(world, "job1") == [*PODS]
    waits = world.wait_unit("job2-tf-qu", lambda unit: "not enough free" in message_of(unit))
    assert waits["spec"]["resource"] == {"cpu": "3", "memory": "3Gi"}
    assert message_of(waits).startswith(f"waiting for quota {quota}: 3 cpu requested")
    world.submit(third(world))
    if environment == TREE:
        world.wait_phase("job3-tf-qu", "Running")
        end(world, "job3")
        wait_listed(world, listed, job1="Running", job2="Queuing", job3="Succeeded")
    else:
        strictly = STRICTLY.format(world.namespace)
        world.wait_unit("job3-tf-qu", lambda unit: strictly in message_of(unit))
    assert pods_of(world, "job2", live=False) == []
    end(world, "job1")
    wait_listed(world, listed, job1="Succeeded", job2="Running")
    assert pods_of(world, "job2") == [*PODS]
    assert replicas_of(world.wait_phase("job2-tf-qu", "Running")) == 3
    assert phase_of(world.wait_phase("job1-tf-qu", "Succeed")) == "Succeed"
    if environment != TREE:
        world.wait_phase("job3-tf-qu", "Running")


def test_the_examples_are_what_the_walk_through_says() -> None:
    """The kind's resources are checked here, so that a scenario need not say them again."""
    [body] = example("elastic-quota-tree")
    leaf = body["spec"]["root"]["children"][0]
    assert leaf["max"] | {"memory": "4Gi"} == {
        "cpu": "4",
        "memory": "4Gi",
        "nvidia.com/gpu": "64",
        "aliyun.com/gpu-mem": "16",
    }
    first, second = example("tfjobs")
    assert {**second, "metadata": {**second["metadata"], "name": "job1"}} == first
    assert TF_JOB.kind.kind == first["kind"]


def has_succeeded(flow: Object) -> bool:
    return bool(flow.get("status", {}).get("phase") == "Succeeded")
