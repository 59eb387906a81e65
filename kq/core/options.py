"""Choices of an administrator that pure code needs, as plain values (`kq.settings` makes them)."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which namespaces take part (spec 5.2)."""

    excluded: frozenset[str] = frozenset()
    labelled_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaOptions:
    """How quotas are read (spec 11.2, 11.3, 15.4a, 5.3)."""

    oversell: Decimal = Decimal(1)
    parents_take_jobs: bool = False
    enforce_namespaces: bool = True
    default_quota: str = ""
