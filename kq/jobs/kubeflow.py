"""TFJob, PyTorchJob, XGBoostJob and PaddleJob of the training operator (spec 8.2, 8.3, 8.6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from kq.core import codec, keys
from kq.core.kinds import Object, ResourceKind
from kq.core.model import Condition, Grant, JobState, JobView, PodSet
from kq.core.patch import Patch
from kq.jobs.options import JobOptions
from kq.jobs.progress import has_any, state_of
from kq.jobs.queuing import shows_waiting
from kq.jobs.roles import by_priority, counted, pod_sets_by_role

TRAINING_OPERATOR = "kubeflow.org/training-operator"
STATES = (
    ("Succeeded", JobState.SUCCEEDED),
    ("Failed", JobState.FAILED),
    ("Running", JobState.RUNNING),
)
WORKER = "worker"
ENDED_OR_RUNNING = frozenset({"Running", "Restarting", "Succeeded", "Failed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What is different between kinds: the field of their replica specs, who runs them, and whether
    `spec.elasticPolicy` lets their workers scale themselves."""

    kind: ResourceKind
    replica_specs: str
    controller: str = TRAINING_OPERATOR
    elastic: bool = False


TFJOB = Shape(
    kind=ResourceKind("kubeflow.org", "v1", "TFJob", "tfjobs"), replica_specs="tfReplicaSpecs"
)
PYTORCHJOB = Shape(
    kind=ResourceKind("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs"),
    replica_specs="pytorchReplicaSpecs",
    elastic=True,
)
XGBOOSTJOB = Shape(
    kind=ResourceKind("kubeflow.org", "v1", "XGBoostJob", "xgboostjobs"),
    replica_specs="xgbReplicaSpecs",
)
PADDLEJOB = Shape(
    kind=ResourceKind("kubeflow.org", "v1", "PaddleJob", "paddlejobs"),
    replica_specs="paddleReplicaSpecs",
    elastic=True,
)


class KubeflowJob:
    """Jobs that list replica specs by role and have a `runPolicy`."""

    def __init__(self, shape: Shape, options: JobOptions) -> None:
        """For one kind of them."""
        self.kinds = (shape.kind,)
        self._shape = shape
        self._counts_maximum = options.counts_maximum and shape.elastic
        self._released = None if options.removes_suspend_annotation else "false"

    def view(self, job: Object, *, templates: bool = True) -> JobView:
        """The job as decisions see it; without templates its pod sets have empty ones."""
        meta, spec, status = (codec.mapping(job, part) for part in ("metadata", "spec", "status"))
        policy = codec.mapping(spec, "runPolicy")
        conditions = codec.conditions(status.get("conditions"))
        pod_sets, defect = self._pod_sets(spec, str(meta.get("uid") or ""), templates)
        held = is_held(policy.get("suspend"), meta, heeded=_has_been_held(conditions))
        return JobView(
            **codec.job_metadata(meta),
            kind=self._shape.kind,
            suspended=held,
            half_held=held and policy.get("suspend") is not True,
            managed_by_other=(policy.get("managedBy") or self._shape.controller)
            != self._shape.controller,
            state=state_of(conditions, STATES),
            has_run=_has_run(status, conditions),
            started=codec.parse_time(status.get("startTime")),
            released_at=codec.released_at(meta.get("annotations")),
            pod_sets=pod_sets,
            defect=defect,
            priorities=_priorities(policy, pod_sets),
            queuing=shows_waiting(status.get("conditions")),
        )

    def hold(self, job: Object) -> Patch:
        """Both `spec.runPolicy.suspend` and the annotation (spec 8.12)."""
        return _switched(True, "true")

    def suspend(self, job: Object) -> Patch:
        """The same."""
        return _switched(True, "true")

    def resume(self, job: Object, grants: Sequence[Grant], now: datetime) -> Patch:
        """Both say that it is not held; the annotation may be removed instead (spec 8.4)."""
        return _switched(False, self._released)

    def _pod_sets(
        self, spec: Object, uid: str, templates: bool
    ) -> tuple[tuple[PodSet, ...], str | None]:
        pod_sets, defect = pod_sets_by_role(
            spec, self._shape.replica_specs, uid, templates=templates
        )
        policy = codec.mapping(spec, "elasticPolicy")
        if not self._counts_maximum or policy.get("maxReplicas") is None:
            return pod_sets, defect
        most, bad = counted(policy["maxReplicas"], "spec.elasticPolicy.maxReplicas")
        scaled = tuple(_scaled(each, most) if each.name == WORKER else each for each in pod_sets)
        return scaled, defect or bad


def is_held(flag: object, meta: Object, *, heeded: bool = False) -> bool:
    """Whether a job is held that may say so in a field and in the annotation (spec 8.3, 8.12).

    Where the API server keeps the field, its operator goes by it, and a "true" that Arena left in
    the annotation holds nothing. CRDs that drop the field leave the annotation as the only word;
    one whose operator has heeded the field once is held no more when somebody takes that out.
    """
    if isinstance(flag, bool) or heeded:
        return flag is True
    return codec.strings(meta.get("annotations")).get(keys.SUSPEND) == "true"


def _has_been_held(conditions: Sequence[Condition]) -> bool:
    """Whether its operator has acted on the field, which so is kept by the API server."""
    return any(each.type == "Suspended" for each in conditions)


def _switched(held: bool, annotation: str | None) -> Patch:
    return Patch(
        {
            "metadata": {"annotations": {keys.SUSPEND: annotation}},
            "spec": {"runPolicy": {"suspend": held}},
        }
    )


def _scaled(workers: PodSet, most: int) -> PodSet:
    count = max(workers.count, most)
    return msgspec.structs.replace(workers, count=count, wanted=count)


def _priorities(
    policy: Mapping[str, Any], pod_sets: Sequence[PodSet]
) -> tuple[tuple[str, int | None], ...]:
    """What is asked for the job's priority, in order (spec 12.9)."""
    named = codec.mapping(policy, "schedulingPolicy").get("priorityClass")
    first = [(named, None)] if isinstance(named, str) and named else []
    templates = [each.template for each in by_priority(pod_sets)]
    return (*first, *((each.priority_class, each.priority) for each in templates))


def _has_run(status: Mapping[str, Any], conditions: Sequence[Condition]) -> bool:
    """A job that was held from its start has conditions too, but none of these is True."""
    return (
        bool(status.get("startTime"))
        or any(each.status and each.type in ENDED_OR_RUNNING for each in conditions)
        or has_any(
            codec.mapping(status, "replicaStatuses").values(), ("active", "succeeded", "failed")
        )
    )
