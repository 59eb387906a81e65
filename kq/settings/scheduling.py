"""When units are tried again, and by which policy (spec 10): the section `scheduling`."""

from dataclasses import dataclass, field

_RETRY = ("event", "backoff")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoffSettings:
    """Units whose job did not start (spec 9.6, 9.7)."""

    maxSeconds: int = 3600
    """They wait no longer than that."""
    limit: int = 0
    """After so many failures in a row a unit waits for somebody; 0: never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnschedulableSettings:
    """Back-offs of units that lack quota, in retry mode `backoff` (spec 10.19)."""

    initialSeconds: int = 1
    """After the first failure; twice as long each time."""
    maxSeconds: int = 20
    """They wait no longer than that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulingSettings:
    """Order and policies (spec 10)."""

    defaultPolicy: str = ""
    """Policy of Queues that name none; empty: by the environment (spec 10.5)."""
    backoff: BackoffSettings = field(default_factory=BackoffSettings)
    retry: str = field(default="", metadata={"values": _RETRY})
    """When units that lack quota are tried again; empty: by the environment (spec 10.20)."""
    unschedulableBackoff: UnschedulableSettings = field(default_factory=UnschedulableSettings)
