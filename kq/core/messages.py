"""The texts of spec 20: what a person reads on units, conditions and events.

Each function gives one message; nothing in it changes while its cause stays, so that waiting
writes nothing (spec 20.1).
"""

from collections.abc import Sequence
from enum import StrEnum

from kq.core import keys
from kq.core.resources import format_amount, is_firm, plain

STATUS_LIMIT = 32768
MOST_NAMED = 3


class Reason(StrEnum):
    """Reasons of the condition QuotaReserved (spec 9.8)."""

    RESERVED = "QuotaReserved"
    PENDING = "Pending"
    WAITING = "WaitingForQuota"
    EXCEEDS = "ExceedsMax"
    NOT_FOUND = "QuotaNotFound"
    INVALID = "QuotaInvalid"
    BLOCKED = "Blocked"
    PREEMPTION = "WaitingForPreemption"
    PODS = "WaitingForPodsRunning"
    STOPPED = "QueueStopped"
    INACTIVE = "Inactive"
    BACKOFF = "BackOff"
    MISCONFIGURED = "Misconfigured"


Missing = tuple[str, int, int]
"""A resource, what is asked of it, and the limit."""

S1 = "Enqueued"
S2 = "Dequeued because schedule successfully"
S7 = "Enqueued after preempted"
S8 = "Running"
S9 = "Backoff due to running timeout"
S10 = "Evicted because the queue unit is deactivated"
S11 = "Evicted because the maximum execution time was exceeded"
S12 = "Enqueued because backoff timeout"
S13 = "Succeeded"
S14 = "Failed"
STILL_RUNS = "; its pods still run and count"
M23 = (
    "Paused because the job was suspended by someone else; "
    "set spec.active to true to queue it again"
)
M28 = "deactivated"
M26 = "a suspend node cannot be released: node status is offloaded; resume it in Argo"
M29 = "next try at the end of back-off"
M30 = "waiting for the job's child JobSet"
M34 = "Enqueued because the job was started anew"
M32 = "waiting for pods of the last run to end"


def m1(quota: str, level: str, missing: Sequence[Missing]) -> str:
    """Waiting for quota: what is asked, and of which level there is not enough."""
    listed = _listed(missing, "not enough free of", "not enough free of min")
    if level == quota:
        return f"waiting for quota {quota}: {listed}"
    return f"waiting for quota {level}, ancestor of {quota}: {listed}"


def m2(level: str, missing: Sequence[Missing]) -> str:
    """Can never start: more is asked than the level could ever give."""
    of_max, of_min = (f"but {bound} of quota {level} is" for bound in ("max", "min"))
    return f"cannot start: {_listed(missing, of_max, of_min)}"


def _listed(missing: Sequence[Missing], of_max: str, of_min: str, is_: str = "requested") -> str:
    """With the names that the quota itself has for its resources (spec 20.3)."""

    def bound(name: str, limit: int) -> str:
        amount = format_amount(name, limit)
        of_firm = f"{of_min} {amount} for jobs that are not preemptible"
        return of_firm if is_firm(name) else f"{of_max} {amount}"

    return "; ".join(
        f"{format_amount(name, need)} {plain(name)} {is_}, {bound(name, limit)}"
        for name, need, limit in missing
    )


def m3(namespace: str) -> str:
    """No quota found."""
    return (
        f"no quota found for this job: set label {keys.QUOTA_LABEL} on it "
        f"or on namespace {namespace}"
    )


def m4(quota: str, missing: str) -> str:
    """The quota, or an ancestor of it, does not exist."""
    if missing == quota:
        return f"quota {quota} does not exist"
    return f"quota {missing}, ancestor of {quota}, does not exist"


def m4_namespace(namespace: str) -> str:
    """M4 where quotas are ResourceQuotas."""
    return f"namespace {namespace} has no ResourceQuota"


def m5(namespace: str, quota: str) -> str:
    """The namespace may not use the quota."""
    return f"namespace {namespace} may not use quota {quota}"


def m6(queue: str, quota: str | None = None) -> str:
    """The Queue does not exist, or does not take units of that quota."""
    if quota is None:
        return f"queue {queue} does not exist"
    return f"queue {queue} does not accept quota {quota}"


def m7(cycle: Sequence[str]) -> str:
    """The quota's parents go round."""
    return f"quota {cycle[0]} is in a cycle: {' -> '.join((*cycle, cycle[0]))}"


def m9(queue: str) -> str:
    """The Queue starts one unit at a time (spec 10.13)."""
    return f"queue {queue} waits until all pods of its last started unit run"


def m10(quota: str, key: str, container: str, pod_set: str) -> str:
    """The pods would be refused: a container says nothing of what a ResourceQuota limits."""
    return (
        f"resource quota {quota} demands {key} of every container; "
        f"container {container} of pod set {pod_set} sets none"
    )


def m11(quota: str) -> str:
    """It fits, but not beside what a high unit waits for (spec 10.11c)."""
    return f"high-priority units of quota {quota} go first"


def m8(queue: str, quota: str) -> str:
    """An earlier unit of the quota does not fit, and the policy is Block."""
    return (
        f"queue {queue} starts units of quota {quota} strictly in order, "
        "an earlier one does not fit"
    )


def m12(quota: str, units: Sequence[str]) -> str:
    """Others are giving back what it needs."""
    named = ", ".join(units[:MOST_NAMED])
    more = f" and {len(units) - MOST_NAMED} more" if len(units) > MOST_NAMED else ""
    return f"waiting for {len(units)} unit(s) to give back quota {quota}: {named}{more}"


def m16(key: str, value: object, wanted: str) -> str:
    """A value that cannot be read."""
    return f"{key} is {value}, not {wanted}"


def m17(check: str, wanted: str, pod_set: str, other: str, value: str) -> str:
    """Two want different things of the same pods (spec 14.10)."""
    return f"admission check {check} wants {wanted} on pod set {pod_set}, but {other} sets {value}"


def m17_unknown(check: str, pod_set: str) -> str:
    """There are no such pods (spec 14.10)."""
    return f"admission check {check} names unknown pod set {pod_set}"


def m20(kind: str, check: str) -> str:
    """Pods of that kind take nothing (spec 8.9)."""
    return f"{kind} has no place for podSetUpdates of admission check {check}"


def m18(job: str) -> str:
    """The consumer is in another namespace."""
    return f"consumer {job} is in another namespace"


def m19(job: str, unit: str) -> str:
    """The job has another unit."""
    return f"job {job} is already queued as {unit}"


def m21(job: str) -> str:
    """The job does not exist."""
    return f"job {job} does not exist"


def m22(queue: str) -> str:
    """The Queue is stopped."""
    return f"queue {queue} is stopped"


def over_quota(job: str, level: str, missing: Sequence[Missing]) -> str:
    """A job was scaled up although there was no room: what is in use since then (spec 9.17)."""
    bounds = sorted({"min" if is_firm(name) else "max" for name, _, _ in missing})
    above = f"{job} was scaled up, so quota {level} is above its {' and '.join(bounds)}"
    what = "nothing" if "max" in bounds else "none of those"
    return f"{above}: {_listed(missing, 'max is', 'min is', 'in use')}; {what} starts there"


def m24(quota: str) -> str:
    """Found running, counted."""
    return f"already running when found, counted against quota {quota}"


def s7(unit: str, quota: str) -> str:
    """Preempted, and for whom."""
    return f"{S7} by {unit} for quota {quota}"


def start_refused(job: str, answer: str, checks: Sequence[str]) -> str:
    """Granted, and not let go, as the API server does not take the change that would do it."""
    what = f"what admission checks {', '.join(checks)} add to its pods" if checks else "the job"
    return (
        f"the API server refused to let job {job} start: {answer}; correct {what}, or the rule "
        "that refuses it; it is tried again by itself"
    )


def grant_refused(answer: str) -> str:
    """Fits, and is not let in, as the API server does not take what its unit would say."""
    return (
        f"the API server refused to note a grant: {answer}; correct the rule that refuses it; "
        "it is tried again by itself"
    )


HOLD_REFUSED = "the API server refused to suspend job "


def hold_refused(job: str, answer: str, *, again: bool) -> str:
    """To be stopped, and not, as the API server does not take the change that would do it."""
    text = (
        f"{HOLD_REFUSED}{job}: {answer}; it runs on, and counts; correct the rule that refuses it"
    )
    return f"{text}; it is tried again by itself" if again else text


def s14(note: str) -> str:
    """The job has failed, and what is to be known of that."""
    return f"{S14}: {note}" if note else S14


def m25(kind: str) -> str:
    """Pods of a held job run all the same (spec 8.12)."""
    return f"pods run although the job is held: the operator of {kind} does not honour suspension"


def m27(phase: str) -> str:
    """A phase from elsewhere."""
    return f"phase {phase} is not known"


def m28(cause: str) -> str:
    """Deactivated by kq itself, and why."""
    return f"{M28}: {cause}"


def m31(job: str) -> str:
    """The job is on its way out."""
    return f"job {job} is being deleted"


def m33(quota: str) -> str:
    """The quota has children and takes no jobs itself."""
    return f"quota {quota} is a parent quota: name one of its children"


def cut(text: str, limit: int = STATUS_LIMIT) -> str:
    """The text, cut at a character to `limit` with `...` at its end (spec 20.3)."""
    return text if len(text) <= limit else text[: limit - 3] + "..."
