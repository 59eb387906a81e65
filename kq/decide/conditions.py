"""Conditions of a unit (spec 9.8) that go with a change of its phase."""

from kq.core.messages import Reason
from kq.core.model import Condition


def admitted(text: str, running: bool = False) -> list[Condition]:
    """Conditions of a unit that has its quota."""
    return [
        Condition("QuotaReserved", True, Reason.RESERVED, text),
        Condition("Admitted", True, "Admitted", text),
        Condition("PodsReady", running, "PodsRunning" if running else "Pending", text),
    ]
