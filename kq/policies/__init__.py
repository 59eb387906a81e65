"""Queue policies: an order, and whether a unit that does not fit holds back those behind it.

Belongs here: one module a policy, one line in `POLICIES`. Does not: whether a unit fits (`quota`),
or the pass over a Queue (`decide.cycle`).
"""

from kq.core.plugins import PolicyMaker
from kq.policies.block import Block
from kq.policies.intelligent import Intelligent
from kq.policies.priority import Priority

POLICIES: dict[str, PolicyMaker] = {
    "Priority": lambda threshold: Priority(),
    "Block": lambda threshold: Block(),
    "Intelligent": Intelligent,
    "Round": lambda threshold: Priority(),
}
"""By the name in spec.queuePolicy; `Round` is kube-queue's name for Priority (spec 10.6)."""
