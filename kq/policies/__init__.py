"""Queue policies: an order, and whether a unit that does not fit holds back those behind it.

Belongs here: one module a policy, one line in `POLICIES`. Does not: whether a unit fits (`quota`),
or the pass over a Queue (`decide.cycle`).
"""

from kq.core.plugins import QueuePolicy
from kq.policies.block import Block
from kq.policies.priority import Priority

POLICIES: dict[str, QueuePolicy] = {
    "Priority": Priority(),
    "Block": Block(),
    "Round": Priority(),
}
"""By the name in spec.queuePolicy; `Round` is kube-queue's name for Priority (spec 10.6)."""
