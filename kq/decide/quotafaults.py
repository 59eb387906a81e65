"""What is wrong with a quota, in sentences for its owner (spec 11.6, 22.1)."""

from collections.abc import Sequence

from kq.core import keys
from kq.core.messages import Reason
from kq.core.model import Quota
from kq.core.plugins import Level, Problem
from kq.core.resources import format_amount, in_order


def faults(
    quota: Quota, children: Sequence[Quota], chain: Sequence[Level] | Problem
) -> tuple[str, ...]:
    """Each fault once; none of them stops anything beyond what its own text says."""
    found = list(quota.defects)
    if isinstance(chain, Problem) and chain.reason != Reason.MISCONFIGURED:
        found.append(chain.message)
    if children and not quota.is_parent:
        first = min(each.name for each in children)
        found.append(
            f"quota {quota.name} is the parent of {first}, "
            f'but is not marked by label {keys.IS_PARENT_LABEL}: "true"'
        )
    found.extend(_shared(quota, children))
    return tuple(found)


def _shared(quota: Quota, children: Sequence[Quota]) -> list[str]:
    """Where the children may use more together than their parent (sharing is allowed)."""
    texts = []
    for name in in_order(quota.limit):
        limits = [each.limit.get(name) for each in children if name in each.limit]
        if sum(limits) > quota.limit.get(name):
            total, limit = (format_amount(name, n) for n in (sum(limits), quota.limit.get(name)))
            texts.append(
                f"the children of quota {quota.name} may use {total} {name} together, "
                f"but its own max is {limit}: they share it"
            )
    return texts
