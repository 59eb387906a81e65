"""The Jobs of a JobSet: how they are made, and what they amount to."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kq.core.kinds import Object
from kq.sim.control.objects import (
    JOBS,
    controller_reference,
    holds,
    place_of,
    status_of,
    uid_of,
)
from kq.sim.control.writes import Create
from kq.sim.kubeflow.replicas import spec_of

PREFIX = "jobset.sigs.k8s.io"
REPLICATED_JOB = f"{PREFIX}/replicatedjob-name"
RESTARTS = f"{PREFIX}/restart-attempt"

_MAPS = ("labels", "annotations")
_LISTS = ("tolerations", "schedulingGates")

COUNTS = ("ready", "succeeded", "failed", "active", "suspended")

Count = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Children:
    """A JobSet's Jobs by how they fare."""

    previous: list[Object] = field(default_factory=list)
    """Those of an attempt before the last restart."""
    active: list[Object] = field(default_factory=list)
    successful: list[Object] = field(default_factory=list)
    failed: list[Object] = field(default_factory=list)

    @property
    def names(self) -> set[str]:
        """The names that are taken."""
        all_of_them = [*self.previous, *self.active, *self.successful, *self.failed]
        return {place_of(each)[1] for each in all_of_them}


def replicated_jobs(jobset: Object) -> Sequence[Object]:
    """The replicated jobs of a JobSet in their order."""
    return spec_of(jobset).get("replicatedJobs") or ()


def replicas_of(replicated: Object) -> int:
    """How many Jobs there are to be of one."""
    return int(replicated.get("replicas", 1))


def is_suspended(obj: Object) -> bool:
    """Whether a JobSet or a Job is to have no pods."""
    return bool(spec_of(obj).get("suspend"))


def children_of(jobset: Object, jobs: Sequence[Object]) -> Children:
    """Its Jobs, told apart."""
    found = Children()
    restarts = status_of(jobset).get("restarts", 0)
    for job in jobs:
        conditions = status_of(job).get("conditions")
        if int(_labels(job).get(RESTARTS, "0")) < restarts:
            found.previous.append(job)
        elif holds(conditions, "Failed"):
            found.failed.append(job)
        elif holds(conditions, "Complete"):
            found.successful.append(job)
        else:
            found.active.append(job)
    return found


def counts_of(jobset: Object, children: Children) -> list[dict[str, Any]]:
    """How the Jobs of each replicated job fare, the last name first."""
    counts = {each["name"]: dict.fromkeys(COUNTS, 0) for each in replicated_jobs(jobset)}
    for job in children.active:
        _count(
            counts, job, ready=_is_ready(job), active=_is_active(job), suspended=is_suspended(job)
        )
    for job in children.successful:
        _count(counts, job, succeeded=True)
    for job in children.failed:
        _count(counts, job, failed=True)
    return [{"name": name, **counts[name]} for name in sorted(counts, reverse=True)]


def is_of(job: Object, replicated: Object) -> bool:
    """Whether the Job is one of that replicated job."""
    return bool(_labels(job).get(REPLICATED_JOB) == replicated["name"])


def lacking(jobset: Object, replicated: Object, children: Children) -> Iterator[Create]:
    """The Jobs of a replicated job that are to be made."""
    policy = spec_of(jobset).get("failurePolicy") or {}
    if children.previous and policy.get("restartStrategy") == "BlockingRecreate":
        return
    for index in range(replicas_of(replicated)):
        if _name(jobset, replicated, index) not in children.names:
            yield _job(jobset, replicated, index)


def released(job: Object, replicated: Object) -> dict[str, Any]:
    """The Job to be resumed, with what its JobSet says by now of labels and of where pods run."""
    template = job["spec"]["template"]
    wanted = ((replicated.get("template") or {}).get("spec") or {}).get("template") or {}
    merged = {
        "metadata": _merged(template.get("metadata"), wanted.get("metadata"), _MAPS, ()),
        "spec": _merged(template["spec"], wanted.get("spec"), ("nodeSelector",), _LISTS),
    }
    return {**job, "spec": {**job["spec"], "template": merged, "suspend": False}}


def _merged(
    old: Object | None, wanted: Object | None, maps: Iterable[str], lists: Iterable[str]
) -> dict[str, Any]:
    old, wanted = old or {}, wanted or {}
    told = dict(old)
    for key in maps:
        if wanted.get(key):
            told[key] = {**(old.get(key) or {}), **wanted[key]}
    for key in lists:
        given = old.get(key) or []
        if added := [each for each in wanted.get(key) or () if each not in given]:
            told[key] = [*given, *added]
    return told


def _count(counts: dict[str, dict[str, int]], job: Object, **claims: bool) -> None:
    count = counts.get(_labels(job).get(REPLICATED_JOB, ""))
    if count is not None:
        for key, holds_true in claims.items():
            count[key] += holds_true


def _is_ready(job: Object) -> bool:
    spec, status = job["spec"], status_of(job)
    parallelism: int = spec["parallelism"]
    wanted: int = min(parallelism, spec.get("completions", parallelism))
    return bool(status.get("succeeded", 0) + status.get("ready", 0) >= wanted)


def _is_active(job: Object) -> bool:
    return bool(status_of(job).get("active"))


def _labels(job: Object) -> Mapping[str, str]:
    return job["metadata"].get("labels") or {}


def _name(jobset: Object, replicated: Object, index: int) -> str:
    return f"{place_of(jobset)[1]}-{replicated['name']}-{index}"


def _job(jobset: Object, replicated: Object, index: int) -> Create:
    template = replicated.get("template") or {}
    spec = template.get("spec") or {}
    marks = _marks(jobset, replicated, index)
    pod = spec.get("template") or {}
    made = {
        "metadata": _marked(pod.get("metadata") or {}, marks),
        "spec": {"restartPolicy": "OnFailure", **(pod.get("spec") or {})},
    }
    if _has_hostnames(jobset):
        made["spec"]["subdomain"] = place_of(jobset)[1]
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": _name(jobset, replicated, index),
            **_marked(template.get("metadata") or {}, marks),
            "ownerReferences": [controller_reference(jobset)],
        },
        "spec": {
            "completionMode": "Indexed",
            **spec,
            "template": made,
            "suspend": is_suspended(jobset),
        },
    }
    return Create(kind=JOBS, namespace=place_of(jobset)[0], body=body)


def _has_hostnames(jobset: Object) -> bool:
    network = spec_of(jobset).get("network") or {}
    return bool(network.get("enableDNSHostnames", True))


def _marked(meta: Object, marks: Mapping[str, str]) -> dict[str, Any]:
    """The same marks are labels and annotations."""
    return {key: {**(meta.get(key) or {}), **marks} for key in ("labels", "annotations")}


def _marks(jobset: Object, replicated: Object, index: int) -> dict[str, str]:
    namespace, name = place_of(jobset)
    group = replicated.get("groupName", "default")
    whole = replicated_jobs(jobset)
    grouped = [each for each in whole if each.get("groupName", "default") == group]
    place = f"{namespace}/{_name(jobset, replicated, index)}"
    key = hashlib.sha1(place.encode(), usedforsecurity=False).hexdigest()
    marks = {
        "jobset-name": name,
        "jobset-uid": uid_of(jobset),
        "replicatedjob-name": replicated["name"],
        "restart-attempt": str(status_of(jobset).get("restarts", 0)),
        "replicatedjob-replicas": str(replicas_of(replicated)),
        "global-replicas": str(sum(map(replicas_of, whole))),
        "job-index": str(index),
        "job-key": key,
        "job-global-index": str(_before(whole, replicated) + index),
        "group-name": group,
        "group-replicas": str(sum(map(replicas_of, grouped))),
        "job-group-index": str(_before(grouped, replicated) + index),
    }
    return {f"{PREFIX}/{key}": value for key, value in marks.items()}


def _before(listed: Sequence[Object], replicated: Object) -> int:
    """How many Jobs come before those of a replicated job."""
    index = next(i for i, each in enumerate(listed) if each["name"] == replicated["name"])
    return sum(map(replicas_of, listed[:index]))
