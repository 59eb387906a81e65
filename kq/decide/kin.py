"""Between a pod and the job whose quota it uses: children, and jobs known by name (spec 8.23)."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence

from kq.core.model import JobView, PodView

STEPS = 5
"""So far up owners are followed."""
SPARK = "SparkApplication"
CHILDREN = {
    "MPIJob": ("Job",),
    "RayJob": ("RayCluster", "Job"),
    "JobSet": ("Job",),
    "TrainJob": ("JobSet", "Job"),
    SPARK: ("Pod",),
}
"""Kinds of the objects that own the pods of a job."""


CLUSTER_LABEL = "ray.io/cluster"
POD_LABELS = {
    "TFJob": "training.kubeflow.org/job-name",
    "PyTorchJob": "training.kubeflow.org/job-name",
    "XGBoostJob": "training.kubeflow.org/job-name",
    "PaddleJob": "training.kubeflow.org/job-name",
    "MPIJob": "training.kubeflow.org/job-name",
    "JobSet": "jobset.sigs.k8s.io/jobset-name",
    "TrainJob": "jobset.sigs.k8s.io/jobset-name",
    "RayCluster": CLUSTER_LABEL,
    SPARK: "sparkoperator.k8s.io/app-name",
    "Workflow": "workflows.argoproj.io/workflow",
}
"""By which label, with the name of their job, operators mark pods."""
NAMESAKES = ("RayJob",)
"""Kinds whose operators delete what owns the pods and not the job, when they suspend it."""
CLUSTER_OF_JOB = re.compile(r"(.+?)(-raycluster)?-[bcdfghjklmnpqrstvwxz2456789]{5}")
"""How KubeRay names the cluster of a RayJob."""

JobKey = tuple[str, str, str]
"""Kind, namespace and name."""


def selector_of(job: JobView) -> str:
    """A label selector of the job's pods; empty where its kind has none."""
    if job.kind.kind == "Job":
        return f"batch.kubernetes.io/controller-uid={job.uid}"
    if job.kind.kind == "RayJob":
        return f"{CLUSTER_LABEL}={job.ends_with}" if job.ends_with else ""
    label = POD_LABELS.get(job.kind.kind)
    # A label's value is shorter than a name may be.
    return f"{label}={job.name}" if label and len(job.name) <= 63 else ""


def selectors_of(job: JobView) -> Sequence[str]:
    """Label selectors that find all pods of a job, and perhaps others (`is_marked_for`)."""
    if job.kind.kind == "RayJob" and not job.ends_with:
        # KubeRay forgets the name of the cluster once it has deleted it, and the Job that submits.
        return CLUSTER_LABEL, f"batch.kubernetes.io/job-name={job.name}"
    selector = selector_of(job)
    return (selector,) if selector else ()


def is_marked_for(job: JobView, labels: Mapping[str, str]) -> bool:
    """Whether the labels of a pod that was found so are those of the job's own."""
    if job.kind.kind != "RayJob" or job.ends_with or CLUSTER_LABEL not in labels:
        return True
    named = CLUSTER_OF_JOB.fullmatch(labels[CLUSTER_LABEL])
    return named is not None and named[1] == job.name


def pod_owners(kinds: Collection[str]) -> frozenset[str]:
    """The kinds of objects that own the pods of jobs of these kinds."""
    return frozenset(kinds).union(*(CHILDREN.get(kind, ()) for kind in kinds))


def owner_of(pod: PodView) -> str:
    """Under which a pod is found: its owner's UID, or its own if nobody owns it."""
    return pod.holder or (pod.owner.uid if pod.owner else pod.uid)


def is_made_by_owner(job: JobView) -> bool:
    """Whether its controller is of a kind that makes such objects (spec 5.6)."""
    owner = job.controller
    return owner is not None and job.kind.kind in CHILDREN.get(owner.kind, ())


def maker_of(pod: PodView) -> JobKey | None:
    """The job after which the owner of a pod is named; None if it is named after none."""
    owner = pod.owner
    if owner is None or pod.holder:
        return None
    if owner.kind == "Job":
        return ("RayJob", pod.namespace, owner.name)
    named = CLUSTER_OF_JOB.fullmatch(owner.name) if owner.kind == "RayCluster" else None
    return ("RayJob", pod.namespace, named[1]) if named else None


class Strays:
    """Owners of pods that nobody has seen, found by the job that they are named after.

    A manager that starts has not seen what its operator deleted before that, only the pods of it.
    """

    def __init__(self) -> None:
        self._named: dict[str, JobKey] = {}
        self._owners: dict[JobKey, set[str]] = {}
        self._ran: dict[JobKey, str] = {}

    def __contains__(self, owner: str) -> bool:
        return owner in self._named

    def put(self, owner: str, job: JobKey) -> None:
        """An owner of that UID is named after that job."""
        self._named[owner] = job
        self._owners.setdefault(job, set()).add(owner)

    def drop(self, owner: str) -> bool:
        """It was seen, or its pods are gone; whether it was a stray."""
        job = self._named.pop(owner, None)
        if job is None:
            return False
        self._owners[job].discard(owner)
        if not self._owners[job]:
            del self._owners[job]
        return True

    def ran(self, job: JobKey, uid: str) -> list[str]:
        """A job of that UID has run: it may have left pods behind; their owners."""
        self._ran[job] = uid
        return sorted(self._owners.get(job, ()))

    def forget(self, job: JobKey) -> None:
        """No job of that name is known to have run."""
        self._ran.pop(job, None)

    def job_of(self, owner: str) -> str | None:
        """The UID of the job whose pods they are."""
        job = self._named.get(owner)
        return self._ran.get(job) if job is not None else None


class Kin:
    """Whose child each object is."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}
        self._children: dict[str, set[str]] = {}

    def __contains__(self, child: str) -> bool:
        return child in self._parents

    def put(self, child: str, parent: str) -> bool:
        """A child and its parent; whether that is news."""
        old = self._parents.get(child)
        if old == parent:
            return False
        if old is not None:
            self.drop(child)
        self._parents[child] = parent
        self._children.setdefault(parent, set()).add(child)
        return True

    def drop(self, child: str) -> None:
        """That child is gone."""
        parent = self._parents.pop(child, None)
        if parent is not None:
            siblings = self._children[parent]
            siblings.discard(child)
            if not siblings:
                del self._children[parent]

    def below(self, uid: str) -> list[str]:
        """Its children and theirs, nearest first."""
        found: list[str] = []
        level = [uid]
        for _ in range(STEPS):
            level = [child for each in level for child in sorted(self._children.get(each, ()))]
            found += level
        return found

    def root(self, uid: str, is_known: Callable[[str], bool]) -> str:
        """The uppermost that is known, without a gap on the way; itself if its parent is not."""
        for _ in range(STEPS):
            parent = self._parents.get(uid)
            if parent is None or not is_known(parent):
                break
            uid = parent
        return uid
