"""Whose pods are whose, over the objects between a pod and its job (spec 8.23)."""

from itertools import permutations

import msgspec
import pytest
from books import B, cpu_used
from builders import NOW, book, job_view, pod, queue, quota, unit

from kq.core.kinds import ResourceKind
from kq.core.model import Consumer, Owner, Phase

MPI = ResourceKind("kubeflow.org", "v2beta1", "MPIJob", "mpijobs")
TF = ResourceKind("kubeflow.org", "v1", "TFJob", "tfjobs")
PARENT = job_view("mpi", kind=MPI, uid="mpi")
LAUNCHER = job_view(
    "launcher",
    uid="launcher",
    owners=(Owner("kubeflow.org/v2beta1", "MPIJob", "mpi", "mpi", True),),
)
HELD = unit("mpi", job="mpi", cpu=1, phase=Phase.RUNNING, owner_uid="mpi")
LAUNCHER_POD = pod(
    "launcher-0", cpu=3, owner=Owner("batch/v1", "Job", "launcher", "launcher", controller=True)
)


def mpi_book(*views):
    return book(
        quota(cpu=8), views=(queue(), HELD, *views), kinds=("Job", "MPIJob", "SparkApplication")
    )


def test_pods_of_a_child_count_to_its_parent():
    known = mpi_book(PARENT, LAUNCHER, LAUNCHER_POD)
    assert known.jobs.pods("mpi").live == 1
    assert cpu_used(known) == 3000


def test_a_pod_may_be_seen_before_what_stands_between():
    known = mpi_book(LAUNCHER_POD)
    assert known.jobs.pods("mpi") is None
    known.saw(LAUNCHER)
    known.saw(PARENT)
    assert known.jobs.pods("mpi").live == 1
    assert known.jobs.pods("launcher") is None
    assert cpu_used(known) == 3000


def test_a_pod_that_goes_is_no_longer_its_parents():
    known = mpi_book(PARENT, LAUNCHER, LAUNCHER_POD)
    known.lost(LAUNCHER_POD)
    assert known.jobs.pods("mpi") is None
    assert cpu_used(known) == 1000


def test_pods_stay_their_parents_when_the_child_goes_first():
    known = mpi_book(PARENT, LAUNCHER, LAUNCHER_POD)
    known.lost(LAUNCHER)
    assert cpu_used(known) == 3000
    known.lost(LAUNCHER_POD)
    assert cpu_used(known) == 1000


def test_pods_count_on_when_parent_and_child_are_gone():
    known = mpi_book(PARENT, LAUNCHER, LAUNCHER_POD)
    known.lost(PARENT)
    known.lost(LAUNCHER)
    known.lost(HELD)
    assert cpu_used(known) == 3000
    known.lost(LAUNCHER_POD)
    assert cpu_used(known) == 0


def test_who_only_claims_a_parent_keeps_its_own_pods():
    known = book(quota(), views=(queue(), LAUNCHER, LAUNCHER_POD), kinds=("Job", "MPIJob"))
    assert known.jobs.pods("launcher").live == 1


def test_a_kind_that_makes_no_such_objects_is_no_parent():
    other = job_view("tf", kind=TF, uid="tf")
    claims = job_view("a", uid="a", owners=(Owner("kubeflow.org/v1", "TFJob", "tf", "tf", True),))
    own = pod("a-0", owner=Owner("batch/v1", "Job", "a", "a", controller=True))
    known = mpi_book(other, claims, own)
    assert known.jobs.pods("a").live == 1


def test_pods_that_name_their_application_are_its_pods():
    kind = ResourceKind("sparkoperator.k8s.io", "v1beta2", "SparkApplication", "sparkapplications")
    app = job_view("app", kind=kind, uid="app")
    driver = pod("driver", owner=None, holder="app:team-a/app", cpu=2)
    for views in ((app, driver), (driver, app)):
        known = mpi_book(*views)
        assert known.jobs.pods("app").live == 1


def test_pods_that_name_a_unit_are_those_of_its_job():
    helper = pod("helper", owner=None, holder="unit:team-a/mpi", cpu=2)
    known = mpi_book(helper, PARENT)
    known.saw(msgspec.structs.replace(HELD, resource_version="2"))
    assert known.jobs.pods("mpi").live == 1
    assert cpu_used(known) == 2000


def test_pods_that_name_a_unit_count_whenever_they_come():
    """Spec 8.23: also if nothing is written to the unit after them."""
    helper = pod("helper", owner=None, holder="unit:team-a/mpi", cpu=2)
    known = mpi_book(PARENT, HELD)
    before = cpu_used(known)
    known.saw(helper)
    assert (known.jobs.pods("mpi").live, cpu_used(known)) == (1, max(before, 2000))
    known.lost(helper)
    assert (known.jobs.pods("mpi"), cpu_used(known)) == (None, before)


def test_a_unit_waits_for_pods_of_the_child_of_its_last_run():
    waiting = msgspec.structs.replace(HELD, phase=Phase.ENQUEUED, grants=(), raw_phase="")
    known = mpi_book(PARENT, LAUNCHER, LAUNCHER_POD)
    known.saw(msgspec.structs.replace(waiting, resource_version="2"))
    known.saw(B)
    known.saw(job_view("b"))
    assert [each.name for each in known.cycle("team-a", NOW)] == [B.name]


# -- after a restart: what stood between is gone, and was never seen

RAY = ResourceKind("ray.io", "v1", "RayJob", "rayjobs")
CLUSTERS = ResourceKind("ray.io", "v1", "RayCluster", "rayclusters")
RAY_JOB = job_view("train", kind=RAY, uid="ray")
RAY_UNIT = unit(
    "train-ray-qu",
    cpu=1,
    phase=Phase.RUNNING,
    attempts=1,
    owner_uid="ray",
    consumer=Consumer("ray.io/v1", "RayJob", "train", "team-a", "ray"),
)
HEAD = pod(
    "head", cpu=3, quota="other", owner=Owner("ray.io/v1", "RayCluster", "train-x7k2p", "c", True)
)


def ray_book(*views):
    return book(
        quota(cpu=8),
        quota("other", cpu=8),
        views=(queue(), *views),
        kinds=("Job", "RayJob", "RayCluster"),
    )


@pytest.mark.parametrize("order", list(permutations((RAY_JOB, RAY_UNIT, HEAD))))
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param("RayCluster", "train-x7k2p", id="its cluster"),
        pytest.param("RayCluster", "train-raycluster-x7k2p", id="its cluster by older KubeRay"),
        pytest.param("Job", "train", id="its submitter"),
    ],
)
def test_pods_of_what_a_rayjob_made_are_known_by_its_name(kind, name, order):
    """Spec 24.3: whatever quota they name, they hold that of their job till they are gone."""
    owner = Owner("ray.io/v1", kind, name, "c", True)
    views = [msgspec.structs.replace(HEAD, owner=owner) if each is HEAD else each for each in order]
    known = ray_book(*views)
    assert known.jobs.pods("ray").live == 1
    assert (cpu_used(known), cpu_used(known, "other")) == (3000, 0)
    known.lost(msgspec.structs.replace(HEAD, owner=owner))
    assert known.jobs.pods("ray") is None
    assert (cpu_used(known), cpu_used(known, "other")) == (1000, 0)


@pytest.mark.parametrize("name", ["train", "train-2", "train-x7k2p-a", "other-x7k2p"])
def test_a_cluster_of_another_name_is_no_rayjobs(name):
    owner = Owner("ray.io/v1", "RayCluster", name, "c", True)
    known = ray_book(RAY_JOB, RAY_UNIT, msgspec.structs.replace(HEAD, owner=owner))
    assert known.jobs.pods("ray") is None
    assert cpu_used(known, "other") == 3000


def test_a_rayjob_that_never_ran_has_left_no_pods():
    waits = msgspec.structs.replace(RAY_UNIT, phase=Phase.ENQUEUED, attempts=0, grants=())
    known = ray_book(RAY_JOB, waits, HEAD)
    assert known.jobs.pods("ray") is None
    assert cpu_used(known, "other") == 3000


@pytest.mark.parametrize("order", list(permutations((RAY_JOB, RAY_UNIT, HEAD))))
def test_a_cluster_that_is_there_is_what_it_says_whatever_its_name(order):
    alone = job_view("train-x7k2p", kind=CLUSTERS, uid="c")
    known = ray_book(*order, alone)
    assert known.jobs.pods("ray") is None
    assert known.jobs.pods("c").live == 1
    known.lost(alone)
    known.saw(msgspec.structs.replace(HEAD, phase="Running"))
    assert known.jobs.pods("ray") is None
    assert cpu_used(known, "other") == 3000
    known.lost(HEAD)
    assert cpu_used(known, "other") == 0


def test_such_pods_come_to_the_child_when_it_is_seen():
    child = job_view(
        "train-x7k2p",
        kind=CLUSTERS,
        uid="c",
        owners=(Owner("ray.io/v1", "RayJob", "train", "ray", True),),
    )
    known = ray_book(RAY_JOB, RAY_UNIT, HEAD, child)
    assert known.jobs.pods("ray").live == 1
    known.lost(child)
    assert cpu_used(known) == 3000
