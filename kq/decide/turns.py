"""In which order Queues have their cycles, when one event wakes several (spec 10.17)."""

from kq.core.plugins import Problem, QuotaPlugin
from kq.decide.places import Places
from kq.decide.usage import UsageIndex

Turn = tuple[int, float, float, str]


def turn_of(
    queue: str, priority: int, places: Places, quotas: QuotaPlugin, usage: UsageIndex
) -> Turn:
    """Priority descending, smaller dominant share, older head, name."""
    first = next(places.in_order(queue), None)
    age = first[1] if first else float("inf")
    made = quotas.auto_made(queue)
    share = dominant_share(made.quota, quotas, usage) if made is not None else float("inf")
    return (-priority, share, age, queue)


def dominant_share(quota: str, quotas: QuotaPlugin, usage: UsageIndex) -> float:
    """The largest part of its min that the quota uses; infinite without a min."""
    chain = quotas.chain(quota)
    if isinstance(chain, Problem) or not chain:
        return float("inf")
    used = usage.of(chain[0].name)
    shares = [used.get(name, 0) / n for name, n in chain[0].minimum.items() if n > 0]
    return max(shares, default=float("inf"))
