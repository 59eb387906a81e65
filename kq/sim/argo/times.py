"""When a Workflow's time is over, and when it may go."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from kq.core.kinds import Object
from kq.sim.cluster.plays import seconds_of
from kq.sim.control.objects import status_of, time_of


def deadline_of(workflow: Object) -> datetime | None:
    """When its time is over: it counts from its start, also while it is suspended."""
    seconds, started = workflow["spec"].get("activeDeadlineSeconds"), started_of(workflow)
    if seconds is None or started is None:
        return None
    return started + timedelta(seconds=seconds)


def is_late(workflow: Object, now: datetime) -> bool:
    """Whether its time is over."""
    deadline = deadline_of(workflow)
    return deadline is not None and now >= deadline


def started_of(workflow: Object) -> datetime | None:
    """When it began."""
    started = status_of(workflow).get("startedAt")
    return time_of(started) if started else None


def ends_at(node: Object, suspend: Mapping[str, Any]) -> datetime | None:
    """When a node that waits has waited long enough; None if it waits for somebody."""
    duration = str(suspend.get("duration") or "")
    if not duration:
        return None
    seconds = float(duration) if duration.isdigit() else seconds_of(duration)
    return time_of(node["startedAt"]) + timedelta(seconds=seconds)


def goes_at(workflow: Object) -> datetime | None:
    """When one that has ended is deleted; None if it stays."""
    strategy = workflow["spec"].get("ttlStrategy") or {}
    status = status_of(workflow)
    after = "secondsAfterSuccess" if status.get("phase") == "Succeeded" else "secondsAfterFailure"
    seconds = strategy.get(after, strategy.get("secondsAfterCompletion"))
    if seconds is None:
        return None
    return time_of(status.get("finishedAt")) + timedelta(seconds=seconds)
