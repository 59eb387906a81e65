"""Priority: one that does not fit is passed over, those behind it are tried (spec 10.9)."""

from dataclasses import dataclass

from kq.core.model import QueueUnit
from kq.core.plugins import Blocking, OrderKey
from kq.policies.order import by_priority_and_age


@dataclass(frozen=True, slots=True)
class Priority:
    """Nobody waits for somebody else's shortage."""

    def order_key(self, unit: QueueUnit) -> OrderKey:
        """Smaller goes first."""
        return by_priority_and_age(unit)

    def rank(self, place: OrderKey) -> int:
        """One list."""
        return 0

    def blocks(self, waiting: int, later: int) -> Blocking:
        """Never."""
        return Blocking.FREE
