"""Choices of an administrator that pure code needs, as plain values (`kq.settings` makes them)."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which namespaces take part (spec 5.2)."""

    excluded: frozenset[str] = frozenset()
    labelled_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaOptions:
    """How quotas are read (spec 11, 15.4a, 5.3)."""

    oversell: Decimal = Decimal(1)
    parents_take_jobs: bool = False
    enforce_namespaces: bool = True
    default_quota: str = ""
    missing_admits: bool = False
    """Where quotas are ResourceQuotas: a namespace without one is not limited (spec 11.18)."""
    default_class: str = ""
    """The PriorityClass of pods that name none (spec 11.15)."""
    preemptible: bool = True
    """Whether jobs that say nothing of it may lose their grants to others (spec 11.13)."""
    firm_within_min: bool = False
    """Jobs that may not lose theirs use no more than the min of their quotas (spec 11.13)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakingOptions:
    """Who may lose grants to others (spec 11.13, 13.8)."""

    protection: timedelta = timedelta(0)
    """For so long after a grant it is safe."""
    preemptible: bool = True
    """Whether jobs that say nothing of it may lose theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryOptions:
    """When a candidate that lacks quota is tried again (spec 10.18-10.22)."""

    backs_off: bool = False
    """Not before its back-off ends; else at every wake of its Queue."""
    initial: timedelta = timedelta(seconds=1)
    """The back-off after the first failure; twice as long each time."""
    longest: timedelta = timedelta(seconds=20)
    """No back-off is longer."""
    strict: bool = False
    """Whatever is given back ends the back-offs of all that it concerns (StrictConsistency)."""
