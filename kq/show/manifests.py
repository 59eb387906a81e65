"""What the cast submits: plain manifests, in which nothing speaks of a queue."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, JOB, Object, ResourceKind
from kq.jobs.argo import WORKFLOW
from kq.jobs.kubeflow import PYTORCHJOB, TFJOB
from kq.settings import JobSettings, Settings
from kq.show.cast import LAB, Cast, Quota, Role

GPU = "nvidia.com/gpu"
APP = "app"
"""The label by which pods are known as those of a job, whatever the kind of that."""
IMAGE = "registry.example/train:1"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """How a role is submitted as a job of one kind."""

    key: str
    """As `jobs.enabled` names it."""
    resource: ResourceKind
    spec: Callable[[Role], Object]
    operator: str = ""
    """Who looks after it, as `kq sim --operators` names it; the cluster itself if empty."""


def pod_template(role: Role, container_name: str = "main") -> dict[str, Any]:
    """A pod of the role."""
    container = {
        "name": container_name,
        "image": IMAGE,
        "command": ["python", f"{role.name}.py"],
        "resources": {"limits": {GPU: str(role.gpus)}},
    }
    return {
        "metadata": {
            "labels": {APP: role.name},
            # Nobody runs its command here: the simulated nodes are told how long it takes.
            "annotations": {"run-for": f"{role.seconds}s"},
        },
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }


def job_spec(role: Role) -> Object:
    """The spec of a batch/v1 Job."""
    return {
        "parallelism": role.pods,
        "completions": role.pods,
        "template": pod_template(role),
    }


def tfjob_spec(role: Role) -> Object:
    """The spec of a TFJob that has workers only."""
    return {"tfReplicaSpecs": {"Worker": _replicas(role, "tensorflow")}}


def pytorchjob_spec(role: Role) -> Object:
    """The spec of a PyTorchJob that has a master only."""
    return {"pytorchReplicaSpecs": {"Master": _replicas(role, "pytorch")}}


def workflow_spec(role: Role) -> Object:
    """The spec of a Workflow of one step."""
    template = pod_template(role)
    (container,) = template["spec"]["containers"]
    step = {"name": "step", "metadata": template["metadata"], "container": container}
    return {"entrypoint": "step", "templates": [step]}


def _replicas(role: Role, container_name: str) -> dict[str, Any]:
    return {
        "replicas": role.pods,
        "restartPolicy": "Never",
        "template": pod_template(role, container_name),
    }


KINDS: Mapping[str, JobKind] = {
    "Job": JobKind(key="job", resource=JOB, spec=job_spec),
    "TFJob": JobKind(key="tfjob", resource=TFJOB.kind, spec=tfjob_spec, operator="training"),
    "PyTorchJob": JobKind(
        key="pytorchjob", resource=PYTORCHJOB.kind, spec=pytorchjob_spec, operator="training"
    ),
    "Workflow": JobKind(key="workflow", resource=WORKFLOW, spec=workflow_spec, operator="argo"),
}
"""By the name that a role gives."""


def settings_for(cast: Cast) -> Settings:
    """The defaults of kq, with the kinds of jobs that the cast has."""
    keys_of_kinds = {KINDS[each.kind].key for each in cast.roles}
    jobs = replace(JobSettings(), enabled=tuple(sorted(keys_of_kinds)))
    return Settings(jobs=jobs)


def operators_for(cast: Cast) -> list[str]:
    """Those that look after the cast's kinds of jobs."""
    return sorted({KINDS[each.kind].operator for each in cast.roles} - {""})


def job(role: Role) -> dict[str, Any]:
    """The job of a role; it says nothing of a queue or a quota."""
    kind = KINDS[role.kind]
    priority = {keys.PRIORITY: str(role.priority)} if role.priority else {}
    return {
        "apiVersion": kind.resource.api_version,
        "kind": kind.resource.kind,
        "metadata": {"name": role.name, "namespace": role.team, "annotations": priority},
        "spec": kind.spec(role),
    }


def namespace(name: str) -> dict[str, Any]:
    """The namespace of a team."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def elastic_quota(quota: Quota) -> dict[str, Any]:
    """A team's quota, in the team's namespace; or that of all teams, in a namespace of its own."""
    is_parent = quota.name == LAB
    labels = {
        keys.IS_PARENT_LABEL: str(is_parent).lower(),
        keys.PARENT_LABEL: "" if is_parent else LAB,
    }
    if quota.strict:
        labels[keys.POLICY_LABELS[0]] = "Block"
    return {
        "apiVersion": ELASTIC_QUOTA.api_version,
        "kind": ELASTIC_QUOTA.kind,
        "metadata": {"name": quota.name, "namespace": quota.name, "labels": labels},
        "spec": {"max": {GPU: str(quota.limit)}},
    }


def stage_set(cast: Cast) -> list[dict[str, Any]]:
    """All that is there before the first job."""
    quotas = (cast.lab, *cast.teams)
    return [*(namespace(each.name) for each in quotas), *map(elastic_quota, quotas)]
