"""Quota, units and jobs as the API server shows them at one moment."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from controlplane.cluster import Cluster, Object

from kq.clock import utc_now

UNITS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/queueunits"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
QUOTA = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/elasticquotas/team-a"
WAITING = ("", "Enqueued")
HOLDING = ("Reserved", "Dequeued", "Running")
WAITS_FOR_QUOTA = "WaitingForQuota"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A job and its place in the queue; phase and message are those of its QueueUnit."""

    name: str
    phase: str
    reason: str
    message: str
    job: str
    cpu: int
    created: datetime

    @property
    def waits_for_quota(self) -> bool:
        return self.phase in WAITING and self.reason == WAITS_FOR_QUOTA

    @property
    def holds_quota(self) -> bool:
        return self.phase in HOLDING

    @property
    def complete(self) -> bool:
        return self.job == "Complete"

    @property
    def over(self) -> bool:
        """Whether its QueueUnit says so, too."""
        return self.complete and self.phase == "Succeed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """All entries, the oldest first, and the quota's cpu."""

    taken: datetime
    entries: Sequence[Entry]
    limit: int

    @property
    def used(self) -> int:
        """The cpu of those that hold quota."""
        return sum(each.cpu for each in self.entries if each.holds_quota)

    @property
    def all_complete(self) -> bool:
        return bool(self.entries) and all(each.over for each in self.entries)


def take(cluster: Cluster) -> Picture:
    """The picture now. Units are asked for first: a job is never shown behind its unit."""
    units = {
        each["spec"]["consumerRef"]["uid"]: each for each in cluster.api("GET", UNITS)["items"]
    }
    jobs = cluster.api("GET", JOBS)["items"]
    entries = [_entry(job, units.get(job["metadata"]["uid"], {})) for job in jobs]
    return Picture(
        taken=utc_now(),
        entries=sorted(entries, key=lambda each: (each.created, each.name)),
        limit=int(cluster.api("GET", QUOTA)["spec"]["max"]["cpu"]),
    )


def _entry(job: Object, unit: Object) -> Entry:
    meta, status = job["metadata"], unit.get("status", {})
    reserved = _condition(status, "QuotaReserved")
    return Entry(
        name=meta["name"],
        phase=status.get("phase", ""),
        reason=reserved.get("reason", ""),
        message=status.get("message", ""),
        job=_job_state(job),
        cpu=int(unit.get("spec", {}).get("resource", {}).get("cpu", 0)),
        created=datetime.fromisoformat(meta["creationTimestamp"]),
    )


def _job_state(job: Object) -> str:
    """As kubectl prints it in the column STATUS."""
    status = job.get("status", {})
    for name in ("Complete", "Failed", "Suspended"):
        if _condition(status, name).get("status") == "True":
            return name
    return "Suspended" if job["spec"].get("suspend") else "Running"


def _condition(status: Object, name: str) -> Object:
    found = (each for each in status.get("conditions", ()) if each["type"] == name)
    return next(found, {})
