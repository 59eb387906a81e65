"""Jobs of which a part stands in another object (spec 8.2, 8.6, 8.21)."""

from typing import Any

import pytest
from builders import amounts, job_view, pod_set
from shells import Shown, watches

from kq.core.kinds import JOB, ResourceKind
from kq.core.model import JobState, JobView, Owner
from kq.reconcile.controller import Request
from kq.reconcile.family import Family, by_owner
from kq.reconcile.watches import BY_OWNER, Watches

KINDS = {
    "TrainJob": ResourceKind("trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs"),
    "JobSet": ResourceKind("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"),
    "RayJob": ResourceKind("ray.io", "v1", "RayJob", "rayjobs"),
    "RayCluster": ResourceKind("ray.io", "v1", "RayCluster", "rayclusters"),
    "Job": JOB,
}


def a(kind: str, name: str = "train", of: JobView | None = None, **fields: Any) -> JobView:
    owners = (
        (Owner(of.kind.api_version, of.kind.kind, of.name, of.uid, controller=True),) if of else ()
    )
    uid = f"{kind}-{name}"
    return job_view(name, kind=KINDS[kind], uid=uid, owners=owners, **fields)


class Town:
    """Kinds that are served and kinds that only stand between, and what is there of them."""

    def __init__(self, served: str, kin: str = "") -> None:
        self.watches: Watches = watches()
        self.shown: Any = {}
        made = {name: Shown(**{BY_OWNER: by_owner}) for name in (*served.split(), *kin.split())}
        jobs = {name: made[name] for name in served.split()}
        between = {name: made[name] for name in kin.split()}
        self.watches = Watches(
            **{
                field: getattr(self.watches, field)
                for field in Watches.__dataclass_fields__
                if field not in ("jobs", "kin")
            },
            jobs=jobs,  # type: ignore[arg-type]
            kin=between,  # type: ignore[arg-type]
        )
        self.made = made
        self.family = Family(self.watches)

    def show(self, *jobs: JobView) -> None:
        for job in jobs:
            self.made[job.kind.kind].show(job)


TRAIN = a("TrainJob", pods_of="JobSet", pod_sets=())
CHILD = a("JobSet", of=TRAIN, pod_sets=(pod_set("node", 2, cpu=3),))


@pytest.mark.parametrize(("served", "kin"), [("TrainJob JobSet", ""), ("TrainJob", "JobSet")])
def test_a_train_job_asks_for_what_its_job_set_asks(served: str, kin: str) -> None:
    town = Town(served, kin)
    town.show(TRAIN)
    assert town.family.complete(TRAIN).pod_sets == ()
    town.show(CHILD)
    (found,) = town.family.complete(TRAIN).pod_sets
    assert (found.name, found.count, found.template.request) == ("node", 2, amounts(cpu=3))
    assert found.path == ()


def test_a_job_set_of_another_train_job_is_not_asked() -> None:
    town = Town("TrainJob", "JobSet")
    town.show(TRAIN, a("JobSet", of=a("TrainJob", "other")))
    assert town.family.complete(TRAIN).pod_sets == ()


RAY = a("RayJob", ends_with="cluster", state=JobState.SUCCEEDED)


def test_a_ray_job_has_not_ended_while_its_cluster_is_there() -> None:
    town = Town("RayJob", "RayCluster Job")
    town.show(RAY, a("RayCluster", "cluster", of=RAY))
    assert town.family.complete(RAY).state is JobState.RUNNING
    town.made["RayCluster"].drop(a("RayCluster", "cluster", of=RAY))
    assert town.family.complete(RAY).state is JobState.SUCCEEDED


def test_a_cluster_of_the_same_name_that_is_not_its_own_does_not_matter() -> None:
    town = Town("RayJob", "RayCluster Job")
    town.show(RAY, a("RayCluster", "cluster"))
    assert town.family.complete(RAY).state is JobState.SUCCEEDED


def test_a_change_of_a_child_looks_at_the_jobs_that_it_is_part_of() -> None:
    town = Town("TrainJob", "JobSet Job")
    town.show(TRAIN, CHILD)
    step = a("Job", "step", of=CHILD)
    asked = Request("team-a", "train", "TrainJob")
    assert list(town.family.looked_at_with(CHILD)) == [asked]
    assert list(town.family.looked_at_with(step)) == [asked]
    assert list(town.family.looked_at_with(a("Job", "alone"))) == []


def test_children_are_found_by_the_owner_that_makes_such_objects() -> None:
    assert by_owner(CHILD) == (TRAIN.uid,)
    assert by_owner(a("JobSet", of=RAY)) == ()
    assert by_owner(TRAIN) == ()


def test_jobs_come_complete() -> None:
    town = Town("TrainJob JobSet")
    town.show(TRAIN, CHILD)
    found = {job.kind.kind: len(job.pod_sets) for job in town.family.jobs()}
    assert found == {"TrainJob": 1, "JobSet": 1}
    assert town.family.job("TrainJob", "team-a", "none") is None
    assert town.family.job("Unknown", "team-a", "train") is None
