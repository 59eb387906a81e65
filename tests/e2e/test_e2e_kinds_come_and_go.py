"""Kinds that are installed, replaced and removed while kq runs (spec 4.7, 8.12).

No operator is there: the test does what one would do.
"""

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from controlplane import probes
from controlplane.cluster import Cluster
from controlplane.kq import Kq
from ground import ClusterGround, Object, path
from kind_cases import Played
from kind_cases_kubeflow import mpi_job, training_job
from kind_world import shown, waiting_for
from reading import condition_of, phase_of
from world import World
from worlds import new_world

from kq.core import keys
from kq.core.kinds import CRD, POD, ResourceKind
from kq.jobs import INTEGRATIONS
from kq.sim.crds.definitions import Variant, job_kinds

TF_JOB = ResourceKind("kubeflow.org", "v1", "TFJob", "tfjobs")
EVICTED = "Evicted because the queue unit is deactivated"


def mpi_kind(version: str) -> ResourceKind:
    return ResourceKind("kubeflow.org", version, "MPIJob", "mpijobs")


@pytest.fixture(scope="module")
def lone_kq(
    audited_control_plane: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kq]:
    """kq with every kind enabled on a cluster that has none of them."""
    every_kind = {"jobs": {"enabled": list(INTEGRATIONS)}}
    folder = tmp_path_factory.mktemp("lone-kq")
    cluster = audited_control_plane
    with Kq(cluster=cluster, folder=folder, as_accounts=True, settings=every_kind) as started:
        yield started
    assert started.errors() == []


@pytest.fixture
def lone(audited_control_plane: Cluster, lone_kq: Kq) -> World:
    return new_world(audited_control_plane, "lone")


@pytest.fixture
def install(
    audited_control_plane: Cluster, lone: World
) -> Iterator[Callable[[ResourceKind, Variant | None], None]]:
    """Serves a kind in a form of it, in place of any other; removed afterwards."""
    kinds: set[ResourceKind] = set()

    def installed(kind: ResourceKind, variant: Variant | None = None) -> None:
        name = f"{kind.plural}.{kind.group}"
        remove(audited_control_plane, kind)
        kinds.add(kind)
        [made] = [
            each
            for each in job_kinds(*([variant] if variant else []))
            if each["metadata"]["name"] == name
        ]
        lone.ground.create(CRD, dict(made))
        served = partial(probes.serves, audited_control_plane, path(kind))
        lone.ground.until(served, f"{kind.kind} is served in {kind.version}")

    yield installed
    for kind in kinds:
        remove(audited_control_plane, kind)


def remove(cluster: Cluster, kind: ResourceKind) -> None:
    """Removes a kind, and with it its jobs, if it is there."""
    ground, name = ClusterGround(cluster=cluster), f"{kind.plural}.{kind.group}"
    if ground.read(CRD, "", name) is not None:
        ground.delete(CRD, "", name)
        ground.until(lambda: ground.read(CRD, "", name) is None, f"{name} is gone")


def submitted(world: World, kind: ResourceKind, body: Object, quota: str) -> str:
    """Submits a job; its name."""
    meta = {
        **body["metadata"],
        "namespace": world.namespace,
        "labels": {keys.QUOTA_LABEL: quota},
    }
    made = {**body, "apiVersion": kind.api_version, "metadata": meta}
    return str(world.ground.create(kind, made)["metadata"]["name"])


def mark(job: Object) -> str | None:
    """What the annotation says of suspension."""
    value: str | None = job["metadata"]["annotations"].get(keys.SUSPEND)
    return value


def flag(job: Object) -> bool | None:
    """What the field says of it; None if there is none."""
    value: bool | None = job["spec"].get("runPolicy", {}).get("suspend")
    return value


def test_a_kind_that_is_installed_later_is_held_by_annotation_where_the_field_is_not_kept(
    lone: World, install: Callable[..., None]
) -> None:
    a = lone.quota("a", cpu=3)
    lone.submit(lone.manifest("blocker", a, cpu=3))
    lone.wait_pods("blocker")
    install(TF_JOB, Variant.ARENA)
    name = submitted(lone, TF_JOB, training_job("TFJob", "first", Played()), a)
    job = lone.ground.wait(TF_JOB, lone.namespace, name, lambda each: shown(each) == "Queuing")
    assert (mark(job), flag(job)) == ("true", None)
    lone.wait_message("first-tf-qu", waiting_for(a, 3))
    lone.delete_job("blocker")
    job = lone.ground.wait(TF_JOB, lone.namespace, name, lambda each: mark(each) == "false")
    run_pods(lone, job, 3)
    lone.wait_phase("first-tf-qu", "Running")
    lone.submit(lone.manifest("last", a, cpu=3))
    lone.change_unit("first-tf-qu", {"spec": {"active": False}})
    lone.ground.wait(TF_JOB, lone.namespace, name, lambda each: mark(each) == "true")
    assert phase_of(lone.unit("last")) in ("", "Enqueued")
    for each in range(3):
        lone.ground.delete(POD, lone.namespace, f"{name}-{each}")
    lone.wait_pods("last")
    lone.wait_message("first-tf-qu", EVICTED)


def run_pods(world: World, job: Object, count: int) -> None:
    """What an operator would do."""
    owner = {
        "apiVersion": job["apiVersion"],
        "kind": job["kind"],
        "name": job["metadata"]["name"],
        "uid": job["metadata"]["uid"],
        "controller": True,
    }
    template = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    for each in range(count):
        meta = {
            **template["metadata"],
            "name": f"{owner['name']}-{each}",
            "namespace": world.namespace,
            "ownerReferences": [owner],
        }
        world.ground.create(POD, {"metadata": meta, "spec": template["spec"]})


def test_a_kind_replaced_by_another_version_is_served_anew_and_one_removed_holds_nothing(
    lone: World, lone_kq: Kq, audited_control_plane: Cluster, install: Callable[..., None]
) -> None:
    manager = lone_kq.manager
    old, new, arena = (mpi_kind(each) for each in ("v1", "v2beta1", "v1alpha1"))
    a = lone.quota("a", cpu=3)
    install(old, Variant.TRAINING)
    submitted(lone, old, training_job("MPIJob", "first", Played()), a)
    lone.wait_granted("first-mpi-qu")
    lone.ground.wait(old, lone.namespace, "first", lambda each: flag(each) is False)

    lone.submit(lone.manifest("waits", a, cpu=3, run_for="1s"))
    lone.wait_message("waits", waiting_for(a, 3))
    remove(audited_control_plane, old)
    # That it has left no pod behind is known once the watch of pods tells of anything newer.
    lone.submit(lone.manifest("other", lone.quota("b", cpu=1), cpu=1))
    lone.wait_complete("waits")
    lone.ground.until(lambda: has_lost_its_job(lone.seen_unit("first-mpi-qu")), "it is told of")
    assert 'kq_kind_available{kind="MPIJob"} 0.0' in lone_kq.metrics()

    lone.submit(lone.manifest("blocker", a, cpu=3))
    lone.wait_pods("blocker")
    install(new)
    submitted(lone, new, mpi_job("second", Played()), a)
    lone.wait_message("second-mpi-qu", waiting_for(a, 3))
    lone.delete_job("blocker")
    lone.ground.wait(new, lone.namespace, "second", lambda each: flag(each) is False)

    install(arena, Variant.ARENA)
    submitted(lone, arena, launched_job("third"), a)
    unit = lone.wait_phase("third-mpi-qu", "Dequeued", "Running")
    assert unit["spec"]["consumerRef"]["apiVersion"] == arena.api_version
    lone.ground.wait(arena, lone.namespace, "third", lambda each: mark(each) == "false")
    assert lone_kq.manager is manager


def has_lost_its_job(unit: Object | None) -> bool:
    """Whether the unit says so, if garbage collection has not removed it already."""
    if unit is None:
        return True
    finished = condition_of(unit, "Finished")
    return finished is not None and finished["reason"] == "OwnerNotFound"


def launched_job(name: str) -> Object:
    """An MPIJob as Arena submits it: a launcher without requests, and two workers."""
    container = {"name": "mpi", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    return {
        "kind": "MPIJob",
        "metadata": {"name": name},
        "spec": {
            "replicas": 2,
            "launcherResources": {},
            "template": {"spec": {"containers": [container]}},
        },
    }
