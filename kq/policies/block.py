"""Block: one that does not fit holds back all behind it of the same quota (spec 10.10)."""

from dataclasses import dataclass

from kq.core.model import QueueUnit
from kq.core.plugins import Blocking, OrderKey
from kq.policies.order import by_priority_and_age


@dataclass(frozen=True, slots=True)
class Block:
    """Nobody of one quota overtakes."""

    def order_key(self, unit: QueueUnit) -> OrderKey:
        """Smaller goes first."""
        return by_priority_and_age(unit)

    def rank(self, place: OrderKey) -> int:
        """One list."""
        return 0

    def blocks(self, waiting: int, later: int) -> Blocking:
        """Always."""
        return Blocking.BARRED
