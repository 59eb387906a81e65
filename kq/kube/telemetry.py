"""What this package counts, as small protocols, and what is used where nobody counts."""

from collections.abc import Callable
from typing import Protocol

from kq.core.kinds import ResourceKind


class ClientMetrics(Protocol):
    """Counts requests: `rest_client_requests_total`, `rest_client_request_duration_seconds`."""

    def request(self, *, method: str, code: str, host: str, seconds: float) -> None:
        """One answer, or none (`code` is then `<error>`, as client-go has it)."""


class InformerMetrics(Protocol):
    """Counts what informers meet."""

    def watch_idle(self, kind: ResourceKind, read: Callable[[], float]) -> None:
        """`kq_watch_idle_seconds`: the function gives the present value, at each scrape."""

    def available(self, kind: ResourceKind, available: bool) -> None:
        """`kq_kind_available`."""

    def undecodable(self, kind: ResourceKind) -> None:
        """`kq_undecodable_total`: an object or a line was dropped."""

    def handler_failed(self, kind: ResourceKind) -> None:
        """`kq_handler_errors_total`: a handler raised."""


class RecorderMetrics(Protocol):
    """Counts Events."""

    def events(self, outcome: str) -> None:
        """`kq_events_total`: `written`, `filtered` (too many of one object) or `dropped`."""


class Uncounted:
    """Counts nothing."""

    def request(self, *, method: str, code: str, host: str, seconds: float) -> None:
        """Forgets the request."""

    def watch_idle(self, kind: ResourceKind, read: Callable[[], float]) -> None:
        """Never reads it."""

    def available(self, kind: ResourceKind, available: bool) -> None:
        """Forgets it."""

    def undecodable(self, kind: ResourceKind) -> None:
        """Forgets it."""

    def handler_failed(self, kind: ResourceKind) -> None:
        """Forgets it."""

    def events(self, outcome: str) -> None:
        """Forgets it."""
