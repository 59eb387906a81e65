"""A quota as a level of chains: what it may use at most, and of that what nobody takes back."""

from collections.abc import Mapping

from kq.core.keys import RECLAIM, is_preemptible, spelled
from kq.core.model import Quota
from kq.core.options import QuotaOptions
from kq.core.plugins import Level
from kq.core.resources import FirmLimit, Resources, firm


def level_of(quota: Quota, options: QuotaOptions, *, guarantees: bool = True) -> Level:
    """Its max times the rate (spec 11.2); beside it, if it `guarantees` any, its min (11.13)."""
    limit = quota.limit
    if options.oversell != 1:
        # As a fraction: a product of decimals is rounded to a few digits.
        many, parts = options.oversell.as_integer_ratio()
        limit = Resources.of({name: amount * many // parts for name, amount in limit.items()})
    if options.firm_within_min and guarantees:
        limit = FirmLimit({**dict(limit.items()), **_firm(quota.minimum)})
    return Level(quota.name, limit, quota.minimum, reclaim=spelled(quota.annotations, RECLAIM))


def counted(amount: Resources, labels: Mapping[str, str], options: QuotaOptions) -> Resources:
    """What a job counts for: firm as well, if nobody may preempt it and min is to bound that."""
    if not options.firm_within_min or is_preemptible(labels, options.preemptible):
        return amount
    return Resources.of({**dict(amount.items()), **_firm(amount)})


def _firm(amounts: Resources) -> dict[str, int]:
    return {firm(name): amount for name, amount in amounts.items()}
