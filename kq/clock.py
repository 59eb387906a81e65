"""The wall clock; everything else is told the time."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """The present time, aware, in UTC."""
    return datetime.now(UTC)
