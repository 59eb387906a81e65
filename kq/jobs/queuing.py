"""The condition Queuing, by which users of the kubeflow kinds see that a job waits (spec 8.8).

The conditions are the operators': only this one is ours, and where it stands decides what `kubectl
get` shows, which is the type of the last.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kq.core import codec
from kq.core.kinds import Object
from kq.core.patch import Patch

QUEUING = "Queuing"
REASON = "JobQueuing"
WAITS = "Job Enqueued"
RELEASED = "Job Dequeued"
SHOWING = frozenset({"kubeflow.org/v1", "kubeflow.org/v2beta1"})
"""Whose operators keep conditions; the status of v1alpha1 has no place for them."""

Entry = Mapping[str, Any]


def shows_waiting(conditions: object) -> bool:
    """Whether they say that the job waits: Queuing is True and the last, and Running is not True.

    Kinds without conditions never ask.
    """
    entries = _entries(conditions)
    return (
        bool(entries)
        and _is(entries[-1], QUEUING, "True")
        and not any(_is(each, "Running", "True") for each in entries)
    )


def waiting_patch(job: Object, now: datetime) -> Patch | None:
    """The status patch after which the job shows that it waits; None if it does or never will.

    Running that was left True by a suspension turns False.
    """
    status = codec.mapping(job, "status")
    if job.get("apiVersion") not in SHOWING or shows_waiting(status.get("conditions")):
        return None
    entries = _entries(status.get("conditions"))
    stopped = [
        _turned(each, "False", now) if _is(each, "Running", "True") else each
        for each in _others(entries)
    ]
    return _patch(status, [*stopped, _queuing(entries, "True", WAITS, now)])


def dequeued_patch(job: Object, now: datetime) -> Patch | None:
    """The status patch after which it shows that it was released; None if it shows no waiting.

    The entry goes to the front, so that the last one is the operator's.
    """
    status = codec.mapping(job, "status")
    entries = _entries(status.get("conditions"))
    shows = any(_is(each, QUEUING, "True") for each in entries)
    if job.get("apiVersion") not in SHOWING or not shows:
        return None
    return _patch(status, [_queuing(entries, "False", RELEASED, now), *_others(entries)])


def _patch(status: Object, entries: Sequence[Entry]) -> Patch:
    """The whole list, as a merge patch replaces lists.

    The CRDs of Arena refuse a status without `replicaStatuses`.
    """
    body: dict[str, Any] = {"conditions": entries}
    if not isinstance(status.get("replicaStatuses"), Mapping):
        body["replicaStatuses"] = {}
    return Patch({"status": body})


def _queuing(entries: Sequence[Entry], status: str, message: str, now: datetime) -> Entry:
    """Our entry, made of what it was."""
    before = next((each for each in reversed(entries) if each.get("type") == QUEUING), {})
    said = {**before, "type": QUEUING, "reason": REASON, "message": message}
    return _turned(said, status, now)


def _turned(entry: Entry, status: str, now: datetime) -> Entry:
    """The entry with that status, updated now; its transition is the change of its status."""
    time = codec.format_time(now)
    turned = {**entry, "status": status, "lastUpdateTime": time}
    if entry.get("status") != status or not entry.get("lastTransitionTime"):
        turned["lastTransitionTime"] = time
    return turned


def _others(entries: Sequence[Entry]) -> list[Entry]:
    return [each for each in entries if each.get("type") != QUEUING]


def _entries(conditions: object) -> list[Entry]:
    """Those that are maps; no others can be stored."""
    listed = conditions if isinstance(conditions, list) else []
    return [each for each in listed if isinstance(each, Mapping)]


def _is(entry: Entry, type_: str, status: str) -> bool:
    return entry.get("type") == type_ and entry.get("status") == status
