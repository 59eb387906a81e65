"""The protocols by which policies and quotas are given to those who decide and act."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import msgspec

from kq.core.keys import is_label_value
from kq.core.model import NamespaceView, PodSet, QueueUnit, Quota, Template
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
    """One level of a quota's chain: what it may use at most.

    Where min bounds what nobody may preempt, that is a resource of its own in `limit` (11.13).
    `beside`: a limit of the quota's own like the first, not that of an ancestor. `reclaim`: of whom
    the quota takes back its minimum (spec 13.9).
    """

    name: str
    limit: Resources
    minimum: Resources
    beside: bool = False
    reclaim: str = ""


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


class AutoMade(msgspec.Struct, frozen=True):
    """The quota that a Queue is made for (spec 3.3).

    `follows` is the object that its settings come from, if there is one; `on_demand`: the Queue is
    made only once somebody is to wait in it (spec 10.2).
    """

    quota: str
    follows: Quota | None = None
    on_demand: bool = False


class QuotaNames(Protocol):
    """What quotas are called, and their Queues."""

    def names(self) -> Sequence[str]:
        """All quotas."""

    def spellings(self, quota: str) -> Sequence[str]:
        """What people may call it, but for what others are called too (spec 5.5)."""

    def queue_of(self, quota: str) -> str:
        """The name of the auto-made Queue of a quota (spec 3.3)."""

    def auto_made(self, queue: str) -> AutoMade | None:
        """What the Queue of that name is made for; None if for nothing that exists."""


class QuotaCharges(Protocol):
    """What pods count for in quotas: the resources that the limits of their chain name."""

    def of_pod(self, quota: str, template: Template) -> Resources:
        """What one pod of the template counts for."""

    def of_pods(self, quota: str, asked: Resources) -> Resources:
        """What pods count for that ask so much together."""

    def of_job(self, labels: Mapping[str, str], counts: Resources) -> Resources:
        """What all pods of a job with these labels count for, where they count for so much."""

    def refuses(self, quota: str, pod_sets: Sequence[PodSet]) -> Problem | None:
        """Why pods of these templates would not be let in, however little is in use (M10)."""


class QuotaPlugin(QuotaNames, QuotaCharges, Protocol):
    """Which quota a unit uses, and its limits; an immutable picture of all quotas."""

    def quota_of(self, labels: Mapping[str, str], namespace: NamespaceView) -> str | None:
        """The quota of a job or unit (spec 5.3); None if nothing answers."""

    def chain(self, quota: str) -> Sequence[Level] | Problem:
        """The quota, then its ancestors; or why it takes no units (M4, M7, M33)."""

    def ancestry(self, quota: str) -> Sequence[str]:
        """The names of the quota and its known ancestors, also where `chain` is a problem."""

    def barred(self, namespace: NamespaceView, quota: str) -> Problem | None:
        """Why the namespace may not use that quota (spec 15.4, 15.4a); None if it may."""


def label_of(quotas: QuotaNames, quota: str) -> str | None:
    """What is written into labels for a quota: the first spelling that a label can have (5.5)."""
    return next(filter(is_label_value, quotas.spellings(quota)), None)


def own_levels(chain: Sequence[Level]) -> Sequence[Level]:
    """The levels of the quota itself, without those of its ancestors."""
    return [level for number, level in enumerate(chain) if number == 0 or level.beside]
