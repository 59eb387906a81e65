"""How long something took or has been there, as kubectl shows it."""

from datetime import datetime, timedelta
from typing import Any

UNKNOWN = "<unknown>"


def age(stamp: Any, now: datetime) -> str:
    """How long ago a time of the API was."""
    if not stamp:
        return UNKNOWN
    try:
        then = datetime.fromisoformat(stamp)
    except (TypeError, ValueError):
        return "<invalid>"
    return duration(now - then)


def between(start: Any, end: Any, now: datetime) -> str:
    """How long something took, or takes until now; empty if it has not begun."""
    if not start:
        return ""
    last = datetime.fromisoformat(end) if end else now
    return duration(last - datetime.fromisoformat(start))


def duration(span: timedelta) -> str:
    """A duration in one or two units, the coarser the longer it is."""
    seconds = int(span.total_seconds())
    minutes, hours = seconds // 60, seconds // 3600
    if seconds < 0:
        return "<invalid>" if seconds < -1 else "0s"
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 180:
        return _two(minutes, "m", seconds % 60, "s") if minutes < 10 else f"{minutes}m"
    if hours < 48:
        return _two(hours, "h", minutes % 60, "m") if hours < 8 else f"{hours}h"
    return _days(hours)


def _days(hours: int) -> str:
    days = hours // 24
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 2 * 365:
        return f"{days}d"
    if days < 8 * 365:
        return _two(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = f"{small}{small_unit}" if small else ""
    return f"{large}{large_unit}{rest}"
