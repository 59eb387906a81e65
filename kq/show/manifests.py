"""What the cast submits: plain manifests, in which nothing speaks of a queue."""

from dataclasses import replace
from typing import Any

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, NAMESPACE, Object, ResourceKind
from kq.jobs.trainjob import TRAINJOB
from kq.settings import JobSettings, Settings
from kq.show.cast import LAB, Cast, Quota, Role
from kq.show.kinds import KINDS
from kq.show.specs import GPU, training_runtime

RUNTIME = ResourceKind("trainer.kubeflow.org", "v1alpha1", "TrainingRuntime", "trainingruntimes")
Made = tuple[ResourceKind, Object]
"""An object, and its kind."""


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


def runtime(role: Role) -> dict[str, Any]:
    """What a TrainJob is made from."""
    return {
        "apiVersion": RUNTIME.api_version,
        "kind": RUNTIME.kind,
        "metadata": {
            "name": role.name,
            "namespace": role.team,
            "labels": {"trainer.kubeflow.org/framework": "torch"},
        },
        "spec": training_runtime(role),
    }


def elastic_quota(quota: Quota) -> dict[str, Any]:
    """A team's quota, in the team's namespace; or that of all teams, in a namespace of its own."""
    is_parent = quota.name == LAB
    labels = {
        keys.IS_PARENT_LABEL: str(is_parent).lower(),
        keys.PARENT_LABEL: "" if is_parent else LAB,
    }
    told = {}
    if quota.strict:
        labels[keys.POLICY_LABELS[0]] = "Block"
    if quota.preempts:
        told[keys.ENABLE_PREEMPTION[0]] = "true"
    spec = {"max": {GPU: str(quota.limit)}}
    if quota.owed:
        told[keys.RECLAIM[0]] = "Any"
        spec["min"] = {GPU: str(quota.owed)}
    return {
        "apiVersion": ELASTIC_QUOTA.api_version,
        "kind": ELASTIC_QUOTA.kind,
        "metadata": {
            "name": quota.name,
            "namespace": quota.name,
            "labels": labels,
            "annotations": told,
        },
        "spec": spec,
    }


def stage_set(cast: Cast) -> list[Made]:
    """All that is there before the first job."""
    quotas = (cast.lab, *cast.teams)
    runtimes = [each for each in cast.roles if each.kind == TRAINJOB.kind]
    return [
        *((NAMESPACE, namespace(each.name)) for each in quotas),
        *((ELASTIC_QUOTA, elastic_quota(each)) for each in quotas),
        *((RUNTIME, runtime(each)) for each in runtimes),
    ]
