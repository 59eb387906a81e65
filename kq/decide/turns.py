"""In which order Queues have their cycles, when one event wakes several (spec 10.17)."""

from collections.abc import Sequence
from typing import Protocol

from kq.core.model import Queue
from kq.core.plugins import AutoMade, Level, Problem
from kq.decide.usage import Usage
from kq.decide.waiting import WaitingList

Turn = tuple[int, float, float, str]


class Limits(Protocol):
    """What of quotas a pass looks at."""

    def auto_made(self, queue: str) -> AutoMade | None:
        """What the Queue of that name is made for; None if for nothing that exists."""

    def chain(self, quota: str) -> Sequence[Level] | Problem:
        """The quota, then its ancestors; or why it takes no units."""

    def ancestry(self, quota: str) -> Sequence[str]:
        """The names of the quota and its known ancestors, also where `chain` is a problem."""


def turn_of(queue: Queue, waiting: WaitingList | None, quotas: Limits, usage: Usage) -> Turn:
    """Priority descending, smaller dominant share, older head, name."""
    head = waiting.head() if waiting is not None else None
    made = quotas.auto_made(queue.name)
    share = dominant_share(made.quota, quotas, usage) if made is not None else float("inf")
    return (-queue.priority, share, head[1] if head is not None else float("inf"), queue.name)


def dominant_share(quota: str, quotas: Limits, usage: Usage) -> float:
    """The largest part of its min that the quota uses; infinite without a min."""
    chain = quotas.chain(quota)
    if isinstance(chain, Problem) or not chain:
        return float("inf")
    used = usage.of(chain[0].name)
    shares = [used.get(name, 0) / n for name, n in chain[0].minimum.items() if n > 0]
    return max(shares, default=float("inf"))
