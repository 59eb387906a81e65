"""Whether a job is the child of another one (spec 5.6, 5.6a)."""

from kq.core.kinds import ResourceKind
from kq.core.model import JobView, Owner
from kq.kube.client import Client
from kq.kube.errors import NotFound

MOST_REMEMBERED = 4096

EVERY_KIND = "*"
CHILDREN: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {
    ("ray.io", "RayJob"): ("rayjobs", ("RayCluster", "Job")),
    ("ray.io", "RayService"): ("rayservices", ("RayCluster",)),
    ("ray.io", "RayCluster"): ("rayclusters", ("Job",)),
    ("kubeflow.org", "MPIJob"): ("mpijobs", ("Job",)),
    ("jobset.x-k8s.io", "JobSet"): ("jobsets", ("Job",)),
    ("trainer.kubeflow.org", "TrainJob"): ("trainjobs", ("JobSet",)),
    ("argoproj.io", "Workflow"): ("workflows", (EVERY_KIND,)),
    ("kai.alibabacloud.com", "TrainingJob"): ("trainingjobs", (EVERY_KIND,)),
}
"""Kinds that make jobs which are part of themselves: plural name, kinds of their children."""


def claimed_owner(job: JobView) -> Owner | None:
    """The owner of which the job would be a child, if it exists."""
    owner = job.controller
    if owner is None:
        return None
    group = owner.api_version.rpartition("/")[0]
    made = CHILDREN.get((group, owner.kind), ("", ()))[1]
    return owner if job.kind.kind in made or EVERY_KIND in made else None


class Owners:
    """Looks owners up; what it found once of a UID stays true."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._real: dict[str, bool] = {}

    async def is_child(self, job: JobView) -> bool:
        """Whether the job's controller exists and makes such jobs; a false claim is no child."""
        owner = claimed_owner(job)
        if owner is None:
            return False
        known = self._real.get(owner.uid)
        if known is None:
            known = await self._exists(owner, job.namespace)
            if len(self._real) >= MOST_REMEMBERED:
                self._real.clear()
            self._real[owner.uid] = known
        return known

    async def _exists(self, owner: Owner, namespace: str) -> bool:
        group, _, version = owner.api_version.rpartition("/")
        plural = CHILDREN[(group, owner.kind)][0]
        kind = ResourceKind(group, version, owner.kind, plural)
        try:
            found = await self._client.get(kind, owner.name, namespace)
        except NotFound:
            return False
        return bool(found.get("metadata", {}).get("uid") == owner.uid)
