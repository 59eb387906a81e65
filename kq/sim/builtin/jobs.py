"""Jobs and CronJobs: selectors that the server makes, and what it finds wrong with them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kq.core.kinds import Object
from kq.sim.api import names
from kq.sim.api.status import Cause, invalid_value, required
from kq.sim.builtin.faults import immutable, not_negative, not_supported, word
from kq.sim.builtin.podrules import template_faults

UID_LABEL = "batch.kubernetes.io/controller-uid"
NAME_LABEL = "batch.kubernetes.io/job-name"
_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_MODES = ("NonIndexed", "Indexed")
_MODE_NEEDED = "requires indexed completion mode"


def prepare(job: dict[str, Any], old: Object | None) -> None:
    """Gives a new job its selector, and its name and uid to its pods as labels."""
    spec, meta = job["spec"], job["metadata"]
    if old is not None or spec.get("manualSelector"):
        return
    uid, name = meta.get("uid", ""), meta.get("name", "")
    own = {"controller-uid": uid, "job-name": name, UID_LABEL: uid, NAME_LABEL: name}
    template = spec["template"].setdefault("metadata", {})
    # Labels that the job took over from its template are one map with these in the real server.
    shared = template.get("labels") is meta.get("labels")
    template["labels"] = dict(sorted({**own, **(template.get("labels") or {})}.items()))
    if shared or not meta.get("labels"):
        meta["labels"] = dict(template["labels"])
    selector = spec.setdefault("selector", {})
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), UID_LABEL: uid}


def faults(job: Object) -> list[Cause]:
    """What is wrong with a job."""
    spec = job["spec"]
    found = list(_selector(job)) if job["metadata"].get("uid") else []
    found += _spec(spec, "spec")
    found += _status(job)
    return found


def _selector(job: Object) -> Iterator[Cause]:
    spec, meta = job["spec"], job["metadata"]
    selector = spec.get("selector")
    labels = (spec["template"].get("metadata") or {}).get("labels")
    if selector is None:
        yield required("spec.selector")
        return
    wanted = selector.get("matchLabels") or {}
    if not spec.get("manualSelector"):
        own = {UID_LABEL: meta["uid"], "controller-uid": meta["uid"]}
        own |= {NAME_LABEL: meta["name"], "job-name": meta["name"]}
        if any(own.get(key) != value for key, value in wanted.items()):
            yield invalid_value("spec.selector", selector, "`selector` not auto-generated")
    if any((labels or {}).get(key) != value for key, value in wanted.items()):
        text = "`selector` does not match template `labels`"
        yield invalid_value("spec.template.metadata.labels", labels, text)


def _spec(spec: Object, path: str) -> Iterator[Cause]:
    yield from not_negative(spec, _COUNTS, path)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    yield from _managed_by(spec, path)
    yield from word(spec, "completionMode", _MODES, path)
    yield from _mode(spec, path)
    policies = ("Failed",) if spec.get("podFailurePolicy") else ("Failed", "TerminatingOrFailed")
    yield from word(spec, "podReplacementPolicy", policies, path)
    yield from template_faults(spec.get("template") or {}, f"{path}.template")
    yield from _restart_policy(spec, f"{path}.template.spec.restartPolicy")


def _managed_by(spec: Object, path: str) -> Iterator[Cause]:
    value = spec.get("managedBy")
    if value is None:
        return
    domain, slash, rest = value.partition("/")
    if not (domain and slash and rest):
        text = 'must be a domain-prefixed path (such as "acme.io/foo")'
        yield invalid_value(f"{path}.managedBy", value, text)
    else:
        for why in names.subdomain_faults(domain):
            yield invalid_value(f"{path}.managedBy", domain, why)


def _mode(spec: Object, path: str) -> Iterator[Cause]:
    if spec.get("completionMode") == "Indexed":
        if spec.get("completions") is None:
            yield required(f"{path}.completions", "when completion mode is Indexed")
        return
    for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if spec.get(name) is not None:
            yield invalid_value(f"{path}.{name}", spec[name], _MODE_NEEDED)
    if spec.get("successPolicy") is not None:
        yield invalid_value(f"{path}.successPolicy", spec["successPolicy"], _MODE_NEEDED)


def _restart_policy(spec: Object, path: str) -> Iterator[Cause]:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy")
    if policy in (None, "Always"):
        yield required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(path, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        text = 'only "Never" is supported when podFailurePolicy is specified'
        yield invalid_value(path, policy, text)


def _status(job: Object) -> Iterator[Cause]:
    status = job.get("status") or {}
    yield from not_negative(status, ("active", "succeeded", "failed", "ready"), "status")
    true = {each["type"] for each in status.get("conditions") or () if each.get("status") == "True"}
    if "Complete" in true:
        if not status.get("completionTime"):
            yield required("status.completionTime", "completionTime is required for Complete jobs")
        yield from _needs("Complete", "SuccessCriteriaMet", true)
    elif status.get("completionTime"):
        text = "cannot set completionTime when there is no Complete=True condition"
        yield invalid_value("status.completionTime", status["completionTime"], text)
    if "Failed" in true:
        yield from _needs("Failed", "FailureTarget", true)
    yield from _finished(status, bool(true & {"Complete", "Failed"}))


def _finished(status: Object, finished: bool) -> Iterator[Cause]:
    active = status.get("active", 0)
    if finished and active > 0:
        yield invalid_value("status.active", active, "active>0 is invalid for finished job")
    if finished and not status.get("startTime"):
        yield required("status.startTime", "startTime is required for finished job")
    if finished and status.get("terminating", 0) > 0:
        text = "terminating>0 is invalid for finished job"
        yield invalid_value("status.terminating", status["terminating"], text)
    if status.get("ready", 0) > active:
        text = "cannot set more ready pods than active"
        yield invalid_value("status.ready", status["ready"], text)


def _needs(condition: str, other: str, true: set[str]) -> Iterator[Cause]:
    if other not in true:
        text = (
            f"Invalid value: cannot set {condition}=True condition without the {other}=true"
            " condition"
        )
        yield Cause("status.conditions", "FieldValueInvalid", text)


def changes(new: Object, old: Object) -> list[Cause]:
    """What of a job may not change."""
    after, before = new["spec"], old["spec"]
    found = list(_completions(after, before))
    found += immutable(after.get("selector"), before.get("selector"), "spec.selector")
    found += _template(after["template"], before["template"], old)
    for name in (
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ):
        found += immutable(after.get(name), before.get(name), f"spec.{name}")
    return found


def _completions(after: Object, before: Object) -> Iterator[Cause]:
    new, old = after.get("completions"), before.get("completions")
    if after.get("completionMode") != "Indexed":
        yield from immutable(new, old, "spec.completions")
    elif new != old and new is not None and new != after.get("parallelism"):
        text = "can only be modified in tandem with spec.parallelism"
        yield invalid_value("spec.completions", new, text)


def _template(after: Object, before: Object, old: Object) -> Iterator[Cause]:
    if not _is_open(old):
        yield from immutable(after, before, "spec.template")
        return
    fixed = _fixed_part(after)
    if fixed != _fixed_part(before):
        yield invalid_value("spec.template.spec", after.get("spec"), "field is immutable")


def _is_open(job: Object) -> bool:
    """Whether where the pods go and what they ask for may be changed: nothing of it runs."""
    status: Mapping[str, Any] = job.get("status") or {}
    conditions: Sequence[Object] = status.get("conditions") or ()
    said = any(each["type"] == "Suspended" and each.get("status") == "True" for each in conditions)
    never = status.get("startTime") is None
    return bool(job["spec"].get("suspend")) and (said or never) and not status.get("active")


def _fixed_part(template: Object) -> Object:
    spec = dict(template.get("spec") or {})
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
        spec.pop(name, None)
    affinity = dict(spec.pop("affinity", None) or {})
    affinity.pop("nodeAffinity", None)
    for field in ("containers", "initContainers"):
        spec[field] = [
            {key: value for key, value in each.items() if key != "resources"}
            for each in spec.get(field) or ()
        ]
    return {**spec, "affinity": affinity}


def cron_faults(cron: Object) -> list[Cause]:
    """What is wrong with a CronJob."""
    spec = cron["spec"]
    name = cron["metadata"].get("name", "")
    found = []
    if len(name) > 52:
        found.append(invalid_value("metadata.name", name, "must be no more than 52 characters"))
    found += _spec(spec["jobTemplate"].get("spec") or {}, "spec.jobTemplate.spec")
    found += _schedule(spec.get("schedule", ""))
    found += not_negative(
        spec,
        ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"),
        "spec",
    )
    found += word(spec, "concurrencyPolicy", ("Allow", "Forbid", "Replace"), "spec")
    return found


def _schedule(schedule: str) -> Iterator[Cause]:
    fields = schedule.split()
    if not fields:
        yield required("spec.schedule")
    elif not schedule.startswith("@") and len(fields) != 5:
        text = f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
        yield invalid_value("spec.schedule", schedule, text)
