"""Which kinds of jobs are part of another object that makes them (spec 5.6)."""

from collections.abc import Mapping

from kq.core.kinds import ResourceKind
from kq.core.model import JobView, Owner

EVERY_KIND = "*"

MAKERS: Mapping[tuple[str, str], tuple[str, frozenset[str]]] = {
    ("ray.io", "RayJob"): ("rayjobs", frozenset({"RayCluster", "Job"})),
    ("ray.io", "RayService"): ("rayservices", frozenset({"RayCluster"})),
    ("ray.io", "RayCluster"): ("rayclusters", frozenset({"Job"})),
    ("kubeflow.org", "MPIJob"): ("mpijobs", frozenset({"Job"})),
    ("jobset.x-k8s.io", "JobSet"): ("jobsets", frozenset({"Job"})),
    ("trainer.kubeflow.org", "TrainJob"): ("trainjobs", frozenset({"JobSet"})),
    ("argoproj.io", "Workflow"): ("workflows", frozenset({EVERY_KIND})),
    ("kai.alibabacloud.com", "TrainingJob"): ("trainingjobs", frozenset({EVERY_KIND})),
}
"""By group and kind of the maker: its plural name, and the kinds of its children."""


def claimed_maker(job: JobView) -> Owner | None:
    """The controller of which the job is a child, if that controller exists; else None.

    Labels make no child, and neither do CronJobs and the like, which only submit (spec 5.6a, 5.8).
    """
    owner = job.controller
    if owner is None:
        return None
    kinds = MAKERS.get(_maker(owner), ("", frozenset()))[1]
    return owner if kinds & {job.kind.kind, EVERY_KIND} else None


def kind_of(owner: Owner) -> ResourceKind:
    """Where a maker lives on the API server."""
    group, kind = _maker(owner)
    version = owner.api_version.rpartition("/")[2]
    return ResourceKind(group, version, kind, MAKERS[group, kind][0])


def _maker(owner: Owner) -> tuple[str, str]:
    return owner.api_version.rpartition("/")[0], owner.kind
