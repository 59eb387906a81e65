"""Priority: one that does not fit is passed over, those behind it are tried (spec 10.9)."""

from kq.core.model import QueueUnit
from kq.core.plugins import Blocking, OrderKey
from kq.policies.order import by_priority_and_age


class Priority:
    """Nobody waits for somebody else's shortage."""

    def order_key(self, unit: QueueUnit) -> OrderKey:
        """Smaller goes first."""
        return by_priority_and_age(unit)

    def blocks(self, waiting: QueueUnit, later: QueueUnit) -> Blocking:
        """Never."""
        return Blocking.FREE
