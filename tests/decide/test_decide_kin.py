"""Whose pods are whose, over the objects between a pod and its job (spec 8.23)."""

import msgspec
from books import B, cpu_used
from builders import NOW, book, job_view, pod, queue, quota, unit

from kq.core.kinds import ResourceKind
from kq.core.model import Owner, Phase

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


def test_a_unit_waits_for_pods_of_the_child_of_its_last_run():
    waiting = msgspec.structs.replace(HELD, phase=Phase.ENQUEUED, grants=(), raw_phase="")
    known = mpi_book(PARENT, LAUNCHER, LAUNCHER_POD)
    known.saw(msgspec.structs.replace(waiting, resource_version="2"))
    known.saw(B)
    known.saw(job_view("b"))
    assert [each.name for each in known.cycle("team-a", NOW)] == [B.name]
