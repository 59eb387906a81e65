"""The protocols by which policies and quotas are given to those who decide and act."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import msgspec

from kq.core.model import NamespaceView, QueueUnit
from kq.core.resources import Resources

OrderKey = tuple[int, float, str]
"""Sorts units of one Queue: priority descending, creation of the job, key (spec 10.4)."""


HIGH, LOW = 0, 1
"""Ranks: the lists of the policy Intelligent; other policies have only the first."""


class Blocking(Enum):
    """What a unit that does not fit means for a later one of the same quota."""

    FREE = "free"
    BARRED = "barred"
    BESIDE = "beside"
    """It may start only beside the waiting one's request (spec 10.11c)."""


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a quota's chain: what it may use at most."""

    name: str
    limit: Resources
    minimum: Resources


class Problem(msgspec.Struct, frozen=True):
    """Why a quota or Queue cannot be used: message and reason of spec 20 and 9.8."""

    reason: str
    message: str


class QueuePolicy(Protocol):
    """An order, and whether one that does not fit holds back those behind it.

    Policies are compared by value: another threshold is another policy.
    """

    def order_key(self, unit: QueueUnit) -> OrderKey:
        """Smaller goes first; all of a smaller rank go before those of a larger one."""

    def rank(self, place: OrderKey) -> int:
        """In which of its lists the policy has the unit of that place; most have only 0."""

    def blocks(self, waiting: int, later: int) -> Blocking:
        """Of one quota, one of rank `waiting` does not fit: may one of rank `later` be tried?"""


PolicyMaker = Callable[[int], QueuePolicy]
"""Makes a policy for a threshold of priorities (spec 10.11)."""


class QuotaPlugin(Protocol):
    """Which quota a unit uses, and its limits; an immutable picture of all quotas."""

    def quota_of(self, labels: Mapping[str, str], namespace: NamespaceView) -> str | None:
        """The quota of a job or unit (spec 5.3); None if nothing answers."""

    def chain(self, quota: str) -> Sequence[Level] | Problem:
        """The quota, then its ancestors; or why it takes no units (M4, M7, M33)."""

    def ancestry(self, quota: str) -> Sequence[str]:
        """The names of the quota and its known ancestors, also where `chain` is a problem."""

    def barred(self, namespace: NamespaceView, quota: str) -> Problem | None:
        """Why the namespace may not use that quota (spec 15.4, 15.4a); None if it may."""

    def names(self) -> Sequence[str]:
        """All quotas."""

    def queue_of(self, quota: str) -> str:
        """The name of the auto-made Queue of a quota (spec 3.3)."""
