"""How quotas are read (spec 11): the section `quota` of the configuration."""

from dataclasses import dataclass, field
from decimal import Decimal

from kq.settings.choices import one_of

_PARENTS = ("refuse", "allow")
_FOREIGN = ("ignore", "count")
_NO_QUOTA = ("wait", "admit")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceQuotaSettings:
    """ResourceQuotas (spec 11.18)."""

    missing: str = one_of(*_NO_QUOTA)
    """What becomes of units in a namespace without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaSettings:
    """How quotas are read (spec 11)."""

    oversellRate: Decimal = Decimal(1)
    """Limits are multiplied by it (spec 11.2)."""
    parentQuotas: str = one_of(*_PARENTS)
    """Whether a quota marked is-parent takes jobs (spec 11.3)."""
    foreignPods: str = field(default="", metadata={"values": _FOREIGN})
    """Whether pods of no queued job count to the quota that their label names; empty: those of
    mode ResourceQuota do (spec 11.9)."""
    defaultPreemptible: bool = True
    """Whether jobs that say nothing of it may lose grants to others (spec 11.13)."""
    nonPreemptibleWithinMin: bool = False
    """Jobs that may not lose theirs start only within the min of their quotas (spec 11.13)."""
    resourceQuota: ResourceQuotaSettings = field(default_factory=ResourceQuotaSettings)
    terminatingLimitSeconds: int = 300
    """A pod that ends for longer no longer counts as live; 0: no limit (spec 11.9a)."""
    usageAnnotations: bool = False
    """Shows on Queues what their quotas use, in koord-queue's own annotations too (spec 3.10)."""
