"""Intelligent: high units strictly in order, low ones beside what those wait for (spec 10.11)."""

from dataclasses import dataclass

from kq.core.model import QueueUnit
from kq.core.plugins import HIGH, LOW, Blocking, OrderKey
from kq.policies.order import by_priority_and_age


@dataclass(frozen=True, slots=True)
class Intelligent:
    """Priorities from `threshold` on are high."""

    threshold: int

    def order_key(self, unit: QueueUnit) -> OrderKey:
        """Smaller goes first: as the order is by priority, all high ones do."""
        return by_priority_and_age(unit)

    def rank(self, place: OrderKey) -> int:
        """The high list is 0, the low one 1."""
        return HIGH if -place[0] >= self.threshold else LOW

    def blocks(self, waiting: int, later: int) -> Blocking:
        """A high one bars high ones, and low ones from what it waits for; a low one nobody."""
        if waiting == LOW:
            return Blocking.FREE
        return Blocking.BARRED if later == HIGH else Blocking.BESIDE
