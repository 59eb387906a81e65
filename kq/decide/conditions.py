"""Conditions of a unit (spec 9.8) that go with a change of its phase."""

from kq.core.messages import Reason
from kq.core.model import Condition, QueueUnit


def admitted(text: str, running: bool = False) -> list[Condition]:
    """Conditions of a unit that has its quota."""
    return [
        Condition("QuotaReserved", True, Reason.RESERVED, text),
        Condition("Admitted", True, "Admitted", text),
        Condition("PodsReady", running, "PodsRunning" if running else "Pending", text),
    ]


def readmitted(unit: QueueUnit, text: str, running: bool = False) -> list[Condition]:
    """The same of one that may have been evicted before: that is over (spec 9.8)."""
    evicted = unit.condition("Evicted")
    over = Condition("Evicted", False, Reason.RESERVED, text)
    return [*admitted(text, running), *([over] if evicted and evicted.status else [])]
