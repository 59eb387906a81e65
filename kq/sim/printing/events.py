"""The cells of an Event."""

from datetime import datetime
from typing import Any

from kq.core.kinds import Object
from kq.sim.printing.ages import age


def event_cells(event: Object, now: datetime) -> list[Any]:
    """What happened to whom, how long ago, and how often."""
    source = event.get("source") or {}
    first = event.get("firstTimestamp") or event.get("eventTime")
    last = event.get("lastTimestamp") or first
    count = event.get("count") or 1
    if series := event.get("series"):
        last, count = series.get("lastObservedTime"), series.get("count", 0)
    component = source.get("component") or event.get("reportingComponent") or ""
    instance = source.get("host") or event.get("reportingInstance")
    about = event.get("involvedObject") or {}
    kind, name = about.get("kind", "").lower(), about.get("name")
    return [
        age(last, now),
        event.get("type", ""),
        event.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        about.get("fieldPath", ""),
        f"{component}, {instance}" if instance else component,
        event.get("message", "").strip(),
        age(first, now),
        count,
        (event.get("metadata") or {}).get("name", ""),
    ]
