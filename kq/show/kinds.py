"""The kinds of jobs that play: how a role becomes one, what it says, and what belongs to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from kq.core.kinds import JOB, QUEUE_UNIT, Object, ResourceKind
from kq.jobs.argo import WORKFLOW
from kq.jobs.jobset import JOBSET
from kq.jobs.kubeflow import PADDLEJOB, PYTORCHJOB, TFJOB, XGBOOSTJOB
from kq.jobs.mpi import V2BETA1
from kq.jobs.ray import RAY_CLUSTERS, RAY_JOBS
from kq.jobs.spark import SPARK_APPLICATION
from kq.jobs.trainjob import TRAINJOB
from kq.show import specs
from kq.show.cast import Cast, Role

Says = Callable[[Object], bool]
"""What a job says of itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """One kind of jobs."""

    key: str
    """As `jobs.enabled` names it."""
    resource: ResourceKind
    spec: Callable[[Role], Object]
    has_ended: Says
    """Whether it has succeeded, in the words of its operator."""
    operator: str = ""
    """Who looks after it, as `kq sim --operators` names it; the cluster itself if empty."""
    hold: tuple[str, ...] = ("spec", "suspend")
    """Where it says that it is held."""
    ends: bool = True
    """By itself; else whoever submitted it deletes it."""

    def is_held(self, job: Object) -> bool:
        """Whether it says that it is to have no pods."""
        return _at(job, *self.hold) is True


def _condition(type_: str) -> Says:
    def says(job: Object) -> bool:
        told = (job.get("status") or {}).get("conditions") or ()
        return any(each["type"] == type_ and each["status"] == "True" for each in told)

    return says


def _status(value: str, *path: str) -> Says:
    return lambda job: _at(job, "status", *path) == value


def _at(job: Object, *path: str) -> object:
    found: object = job
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


_training = partial(
    JobKind,
    operator="training",
    hold=("spec", "runPolicy", "suspend"),
    has_ended=_condition("Succeeded"),
)

KINDS: Mapping[str, JobKind] = {
    each.resource.kind: each
    for each in (
        JobKind(key="job", resource=JOB, spec=specs.job, has_ended=_condition("Complete")),
        _training(key="tfjob", resource=TFJOB.kind, spec=specs.tfjob),
        _training(key="pytorchjob", resource=PYTORCHJOB.kind, spec=specs.pytorchjob),
        _training(key="xgboostjob", resource=XGBOOSTJOB.kind, spec=specs.xgboostjob),
        _training(key="paddlejob", resource=PADDLEJOB.kind, spec=specs.paddlejob),
        _training(key="mpijob", resource=V2BETA1, spec=specs.mpijob, operator="mpi"),
        JobKind(
            key="jobset",
            resource=JOBSET,
            spec=specs.jobset,
            has_ended=_condition("Completed"),
            operator="jobset",
        ),
        JobKind(
            key="trainjob",
            resource=TRAINJOB,
            spec=specs.trainjob,
            has_ended=_condition("Complete"),
            operator="trainer",
        ),
        JobKind(
            key="rayjob",
            resource=RAY_JOBS[0],
            spec=specs.rayjob,
            has_ended=_status("Complete", "jobDeploymentStatus"),
            operator="ray",
        ),
        JobKind(
            key="raycluster",
            resource=RAY_CLUSTERS[0],
            spec=specs.raycluster,
            has_ended=lambda cluster: False,
            operator="ray",
            ends=False,
        ),
        JobKind(
            key="sparkapp",
            resource=SPARK_APPLICATION,
            spec=specs.sparkapplication,
            has_ended=_status("COMPLETED", "applicationState", "state"),
            operator="spark",
        ),
        JobKind(
            key="workflow",
            resource=WORKFLOW,
            spec=specs.workflow,
            has_ended=_status("Succeeded", "phase"),
            operator="argo",
        ),
    )
}
"""By the name that a role gives."""
BETWEEN = (JOB, JOBSET, RAY_CLUSTERS[0])
"""What operators put between jobs and their pods."""


def kinds_of(cast: Cast) -> list[ResourceKind]:
    """The kinds of the cast's jobs, and of what is between them and their pods."""
    return list(dict.fromkeys([*(KINDS[each.kind].resource for each in cast.roles), *BETWEEN]))


def key_of(kind: ResourceKind) -> str:
    """How the API server's storage calls a kind."""
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


class Owners:
    """Remembers of all that it is asked, in the order in which it was made."""

    def __init__(self) -> None:
        self._jobs: dict[str, str] = {}

    def job_of(self, obj: Object) -> str:
        """The UID of the job that an object is, stands for, or was made for."""
        if obj["kind"] == QUEUE_UNIT.kind:
            return str(obj["spec"].get("consumerRef", {}).get("uid", ""))
        uid = str(obj["metadata"]["uid"])
        if uid not in self._jobs:
            owners = obj["metadata"].get("ownerReferences") or ()
            makers = [each["uid"] for each in owners if each.get("controller")]
            self._jobs[uid] = self._jobs.get(makers[0], makers[0]) if makers else uid
        return self._jobs[uid]


def gpus_of(pod: Object) -> int:
    """How many GPUs the containers of a pod ask for."""
    containers = pod["spec"]["containers"]
    limits = (each.get("resources", {}).get("limits", {}) for each in containers)
    return sum(int(each.get(specs.GPU, 0)) for each in limits)
