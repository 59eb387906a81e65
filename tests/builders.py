"""Builders of all that decisions are made on: the only way in which pure tests make objects.

Amounts are written as Kubernetes writes them (`cpu=2`, `cpu="500m"`, `memory="1Gi"`), times as
minutes from `NOW`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from kq.core import codec, keys, wire
from kq.core.kinds import JOB
from kq.core.model import (
    Condition,
    Consumer,
    Grant,
    JobState,
    JobView,
    NamespaceView,
    Owner,
    Phase,
    PodSet,
    PodView,
    Queue,
    QueueUnit,
    Quota,
    Template,
)
from kq.core.options import QuotaOptions, RetryOptions, TakingOptions
from kq.core.plugins import Problem
from kq.core.quotaviews import mapped_namespaces
from kq.core.resources import ZERO, Resources, parse_resources
from kq.decide import charge
from kq.decide.book import Book
from kq.decide.pods import PodGroup
from kq.decide.situation import Situation
from kq.policies import POLICIES
from kq.quota.byrequest import ByRequest
from kq.quota.elasticquota import ElasticQuotas

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
INSTALL_NAMESPACE = "koord-queue"

Amount = int | float | str


def at(minutes: float) -> datetime:
    """That many minutes after NOW."""
    return NOW + timedelta(minutes=minutes)


def stamp(minutes: float) -> str:
    """The same as on the wire."""
    return codec.format_time(at(minutes))


def amounts(**named: Amount | None) -> Resources:
    """Resources by name: `amounts(cpu=2, memory="1Gi")`; what is None is not named."""
    given = {name: value for name, value in named.items() if value is not None}
    return parse_resources(given, "a test") if given else ZERO


def template(**requests: Amount | None) -> Template:
    """A pod template with one container that requests this."""
    given = {name: value for name, value in requests.items() if value is not None}
    container = {"name": "main", "image": "busybox", "resources": {"requests": given}}
    return codec.template_of({"spec": {"containers": [container]}})


def pod_set(name: str = "main", count: int = 1, **requests: Amount | None) -> PodSet:
    """The pods of one role; `wanted` is the count."""
    return PodSet(name=name, count=count, wanted=count, template=template(**requests))


def unit(
    name: str = "train",
    *,
    namespace: str = "team-a",
    quota: str | None = "team-a",
    cpu: Amount | None = 1,
    replicas: int = 1,
    priority: int | None = None,
    minute: float = 0,
    phase: Phase | None = Phase.ENQUEUED,
    told: Problem | None = None,
    **fields: Any,
) -> QueueUnit:
    """A unit as the manager makes it; one in a holding phase holds all its replicas.

    `told` is what its object says of why it waits; without it the phase is not written yet.
    """
    job = fields.pop("job", name)
    pod_sets = fields.pop("pod_sets", (pod_set("main", replicas, cpu=cpu),))
    holds = phase in (Phase.RESERVED, Phase.DEQUEUED, Phase.RUNNING)
    values: dict[str, Any] = {
        "namespace": namespace,
        "name": name,
        "uid": f"uid-of-{name}",
        "resource_version": "1",
        "created": at(minute),
        "labels": {keys.QUOTA_LABEL: quota} if quota else {},
        "annotations": {
            keys.JOB_CREATION: stamp(minute),
            keys.DERIVED_PRIORITY: "" if priority is None else str(priority),
        },
        "owner_uid": f"job-{job}",
        "consumer": Consumer("batch/v1", "Job", job, namespace, f"job-{job}"),
        "priority": priority,
        "queue": quota or "",
        "pod_sets": pod_sets,
        "resource": wire.total_request(pod_sets),
        "phase": phase,
        "raw_phase": phase.value if phase and (holds or phase != Phase.ENQUEUED) else "",
        "grants": wire.grants_for(pod_sets) if holds else (),
    }
    if holds:
        values |= {"attempts": 1, "allocated": at(minute)}
    if told is not None:
        waits = Condition("QuotaReserved", False, told.reason, told.message, stamp(minute))
        values |= {"raw_phase": "Enqueued", "message": told.message, "conditions": (waits,)}
    return QueueUnit(**values | fields)


def unit_by_hand(name: str = "train", **fields: Any) -> QueueUnit:
    """A unit that a person made: it names its job without a UID, nothing owns it."""
    job = fields.pop("job", name)
    namespace = fields.setdefault("namespace", "team-a")
    made = {
        "annotations": {},
        "owner_uid": "",
        "consumer": Consumer("batch/v1", "Job", job, namespace),
    }
    return unit(name, **made | fields)


def request_of(pod_sets: Sequence[PodSet]) -> Resources:
    """What the pods ask of a quota that counts requests."""
    return charge.request_of(pod_sets, "team-a", ByRequest())


def charge_of(each: QueueUnit, pods: PodGroup | None) -> Resources:
    """What the unit has in use of such a quota."""
    return charge.charge_of(each, pods, "team-a", ByRequest())


def queue(name: str = "team-a", *, policy: str = "Priority", **fields: Any) -> Queue:
    """A Queue of the install namespace."""
    values: dict[str, Any] = {
        "namespace": INSTALL_NAMESPACE,
        "name": name,
        "uid": f"uid-of-{name}",
        "resource_version": "1",
        "created": NOW,
        "policy": policy,
    }
    return Queue(**values | fields)


def quota(
    name: str = "team-a",
    *,
    cpu: Amount | None = None,
    parent: str = "",
    minimum: Resources = ZERO,
    **fields: Any,
) -> Quota:
    """An ElasticQuota; `limit` for a max of other resources than cpu."""
    labels = {keys.PARENT_LABEL: parent} if parent else {}
    values: dict[str, Any] = {
        "namespace": "quotas",
        "name": name,
        "uid": f"uid-of-{name}",
        "resource_version": "1",
        "created": NOW,
        "labels": labels,
        "parent": parent,
        "limit": amounts(cpu=cpu),
        "minimum": minimum,
    }
    values["namespaces"] = mapped_namespaces(fields.get("annotations", {}))[0]
    return Quota(**values | fields)


def quotas(*each: Quota, **options: Any) -> ElasticQuotas:
    """The picture of these quotas."""
    return ElasticQuotas.build(QuotaOptions(**options), each)


def namespace(name: str = "team-a", **fields: Any) -> NamespaceView:
    """A namespace."""
    return NamespaceView(
        **{"name": name, "uid": f"uid-of-{name}", "resource_version": "1"} | fields
    )


def job_view(name: str = "train", *, minute: float = 0, **fields: Any) -> JobView:
    """A held Job of one pod of 1 cpu, as decisions see it."""
    values: dict[str, Any] = {
        "kind": JOB,
        "namespace": "team-a",
        "name": name,
        "uid": f"job-{name}",
        "resource_version": "1",
        "created": at(minute),
        "suspended": True,
        "pod_sets": (pod_set(cpu=1),),
    }
    return JobView(**values | fields)


def running_job(name: str = "train", **fields: Any) -> JobView:
    """A Job that was released at NOW and has a pod."""
    released = {
        "suspended": False,
        "released_at": NOW,
        "has_run": True,
        "started": NOW,
        "pods_active": 1,
    }
    return job_view(name, **released | fields)


def finished_job(name: str = "train", *, failed: bool = False, **fields: Any) -> JobView:
    """A Job that ran to its end."""
    state = JobState.FAILED if failed else JobState.SUCCEEDED
    return running_job(name, **{"state": state, "pods_active": 0} | fields)


def pod(
    name: str = "train-0",
    *,
    job: str = "train",
    phase: str = "Running",
    cpu: Amount | None = 1,
    **fields: Any,
) -> PodView:
    """A pod of a Job."""
    values: dict[str, Any] = {
        "namespace": "team-a",
        "name": name,
        "uid": f"uid-of-{name}",
        "resource_version": "1",
        "owner": Owner("batch/v1", "Job", job, f"job-{job}", controller=True),
        "quota": "team-a",
        "phase": phase,
        "request": amounts(cpu=cpu),
    }
    return PodView(**values | fields)


def situation(
    job: JobView | None = None, unit: QueueUnit | None = None, **fields: Any
) -> Situation:
    """A job with its unit, a minute after NOW, of quota and Queue `team-a`."""
    job = job or job_view()
    values: dict[str, Any] = {
        "now": at(1),
        "unit_name": job.name,
        "quota": "team-a",
        "queue": "team-a",
        "pod_sets": job.pod_sets,
    }
    values["quota_label"] = fields.get("quota", values["quota"]) or ""
    return Situation(job=job, unit=unit, **values | fields)


def job(name: str = "train", *, cpu: Amount = 1, **spec: Any) -> dict[str, Any]:
    """A Job as the API server sends it."""
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}
    pod_spec = {"restartPolicy": "Never", "containers": [container]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "namespace": "team-a",
            "name": name,
            "uid": f"job-{name}",
            "resourceVersion": "1",
            "creationTimestamp": stamp(0),
        },
        "spec": {"template": {"spec": pod_spec}, **spec},
    }


def book(
    *each: Quota,
    views: Iterable[Any] = (),
    default_policy: str = "Priority",
    kinds: Collection[str] = ("Job",),
    counts_foreign: bool = False,
    taking: TakingOptions | None = None,
    retry: RetryOptions | None = None,
    **options: Any,
) -> Book:
    """A book of these quotas that has seen these objects, and woken nobody yet."""
    made = Book(
        policies=POLICIES,
        default_policy=default_policy,
        quotas=quotas(*each, **options),
        kinds=kinds,
        counts_foreign=counts_foreign,
        taking=taking,
        retry=retry,
    )
    for view in views:
        made.saw(view)
    made.take_woken()
    return made


def granted(waiting: QueueUnit, version: str = "2", **fields: Any) -> QueueUnit:
    """The unit as the API server answers the write of its grant."""
    values: dict[str, Any] = {
        "resource_version": version,
        "phase": Phase.DEQUEUED,
        "raw_phase": "Dequeued",
        "grants": wire.grants_for(waiting.pod_sets),
        "attempts": waiting.attempts + 1,
        "allocated": NOW,
    }
    return msgspec.structs.replace(waiting, **values | fields)


def changed(view: Any, **fields: Any) -> Any:
    """The view with other fields, in its next version."""
    version = str(int(view.resource_version) + 1)
    return msgspec.structs.replace(view, **{"resource_version": version} | fields)


def condition(
    type_: str, status: bool, reason: str = "", message: str = "", minute: float = 0
) -> Condition:
    """A condition that was set then."""
    return Condition(type_, status, reason, message, stamp(minute))


def grant(
    name: str = "main", replicas: int = 1, running: int = 0, reclaim: int = 0, **each: Amount
) -> Grant:
    """Replicas that may run; what each asks makes the total."""
    return Grant(name, replicas, running, amounts(**each).times(replicas), reclaim)


def as_bytes(body: Mapping[str, Any]) -> bytes:
    """The object as it comes over the wire."""
    return msgspec.json.encode(body)
