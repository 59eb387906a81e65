"""The cells of what makes pods: Jobs, CronJobs, Deployments."""

from datetime import datetime
from typing import Any

from kq.core.kinds import Object
from kq.sim.printing.ages import age, between
from kq.sim.printing.parts import NONE, age_of, name_of, part
from kq.sim.printing.pods import containers


def selector_text(selector: Object | None) -> str:
    """A label selector as kubectl shows it."""
    parts = [f"{key}={value}" for key, value in sorted(part(selector, "matchLabels").items())]
    for each in (selector or {}).get("matchExpressions") or ():
        key, values = each["key"], ",".join(sorted(each.get("values") or ()))
        match each["operator"]:
            case "Exists":
                parts.append(key)
            case "DoesNotExist":
                parts.append(f"!{key}")
            case operator:
                parts.append(f"{key} {operator.lower()} ({values})")
    return ",".join(parts) or NONE


def job_cells(obj: Object, now: datetime) -> list[Any]:
    """How far a Job is, and for how long it has been running."""
    spec, status = part(obj, "spec"), part(obj, "status")
    done, wanted = status.get("succeeded", 0), spec.get("completions")
    parallelism = spec.get("parallelism", 0)
    if wanted is None:
        wanted = f"1 of {parallelism}" if parallelism > 1 else 1
    return [
        name_of(obj),
        _job_state(obj),
        f"{done}/{wanted}",
        between(status.get("startTime"), status.get("completionTime"), now),
        age_of(obj, now),
        *containers(part(part(spec, "template"), "spec")),
        selector_text(spec.get("selector")),
    ]


def _job_state(obj: Object) -> str:
    true = {
        each["type"]
        for each in part(obj, "status").get("conditions") or ()
        if each.get("status") == "True"
    }
    if part(obj, "metadata").get("deletionTimestamp"):
        true.add("Terminating")
    order = ("Complete", "Failed", "Terminating", "Suspended", "FailureTarget")
    return next((each for each in (*order, "SuccessCriteriaMet") if each in true), "Running")


def cron_job_cells(obj: Object, now: datetime) -> list[Any]:
    """When a CronJob runs, and when it last did."""
    spec, status = part(obj, "spec"), part(obj, "status")
    job = part(part(spec, "jobTemplate"), "spec")
    last = status.get("lastScheduleTime")
    return [
        name_of(obj),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        str(bool(spec.get("suspend"))),
        len(status.get("active") or ()),
        age(last, now) if last else NONE,
        age_of(obj, now),
        *containers(part(part(job, "template"), "spec")),
        selector_text(job.get("selector")),
    ]


def deployment_cells(obj: Object, now: datetime) -> list[Any]:
    """How many of a Deployment's pods are there."""
    spec, status = part(obj, "spec"), part(obj, "status")
    return [
        name_of(obj),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age_of(obj, now),
        *containers(part(part(spec, "template"), "spec")),
        selector_text(spec.get("selector")),
    ]
