"""Pods of jobs that list replicas by role: names, labels, and what is taken from the template."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kq.core.kinds import Object
from kq.sim.control.objects import PODS, controller_reference, place_of, uid_of
from kq.sim.control.writes import Delete

PREFIX = "training.kubeflow.org"
JOB_NAME = f"{PREFIX}/job-name"
JOB_ROLE = f"{PREFIX}/job-role"
OPERATOR_NAME = f"{PREFIX}/operator-name"
REPLICA_INDEX = f"{PREFIX}/replica-index"
REPLICA_TYPE = f"{PREFIX}/replica-type"

EXIT_CODE = "ExitCode"
"""A restart policy that only operators know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """The replicas of one role."""

    name: str
    replicas: int
    restart_policy: str
    template: Object


def roles_of(
    job: Object, field: str, known: Iterable[str], policy: str, replicas: int = 1
) -> list[Role]:
    """The roles of a job in its order, with the defaults of its operator."""
    names = {each.lower(): each for each in known}
    return [
        Role(
            name=names.get(name.lower(), name),
            replicas=spec.get("replicas", replicas),
            restart_policy=spec.get("restartPolicy") or policy,
            template=spec.get("template") or {},
        )
        for name, spec in (spec_of(job).get(field) or {}).items()
    ]


def spec_of(job: Object) -> Mapping[str, Any]:
    """The spec, which the definitions of most kinds do not ask for."""
    return job.get("spec") or {}


def policy_of(job: Object) -> Mapping[str, Any]:
    """`spec.runPolicy`, which may be left out."""
    return spec_of(job).get("runPolicy") or {}


def is_held(job: Object) -> bool:
    """Whether the run policy suspends the job."""
    return bool(policy_of(job).get("suspend"))


def pod_of(
    job: Object, role: Role, name: str, labels: Mapping[str, str], more: Mapping[str, Any]
) -> dict[str, Any]:
    """A pod of a job with a name that is the same in each run; `more` is what its spec gains."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            **metadata_of(role.template, labels),
            "ownerReferences": [controller_reference(job)],
        },
        "spec": pod_spec(role, more),
    }


def metadata_of(template: Object, labels: Mapping[str, str]) -> dict[str, Any]:
    """The labels and annotations of a template's pods, with these labels over its own."""
    meta = template.get("metadata") or {}
    told: dict[str, Any] = {"labels": {**(meta.get("labels") or {}), **labels}}
    if annotations := meta.get("annotations"):
        told["annotations"] = dict(annotations)
    return told


def pod_spec(role: Role, more: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of the role's pods: the restart policy is the role's, not the template's."""
    policy = "Never" if role.restart_policy == EXIT_CODE else role.restart_policy
    return {**(role.template.get("spec") or {}), **more, "restartPolicy": policy}


def index_of(pod: Object) -> int | None:
    """The number of a pod in its role; None if it has none."""
    text = (pod["metadata"].get("labels") or {}).get(REPLICA_INDEX, "")
    return int(text) if text.isascii() and text.isdigit() else None


def of_role(pods: Sequence[Object], role: Role) -> Iterator[Object]:
    """The pods of a role."""
    return (
        each
        for each in pods
        if (each["metadata"].get("labels") or {}).get(REPLICA_TYPE) == role.name.lower()
    )


def deletion(pod: Object) -> Delete:
    """The write that deletes a pod."""
    namespace, name = place_of(pod)
    return Delete(kind=PODS, namespace=namespace, name=name, uid=uid_of(pod))
