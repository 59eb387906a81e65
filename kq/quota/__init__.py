"""Quota plugins: which quota a unit draws on, its chain of limits, who may use it.

Belongs here: one module a quota mode, and `resolve`, which webhook and manager share. Does not:
how much is in use (`decide.usage`) or who goes first.
"""

from collections.abc import Callable, Iterable
from typing import Any

from kq.core.options import QuotaOptions
from kq.core.plugins import QuotaPlugin
from kq.quota.elasticquota import ElasticQuotas
from kq.quota.elasticquotatree import ElasticQuotaTrees
from kq.quota.resourcequota import ResourceQuotas
from kq.quota.unlimited import Unlimited

QUOTAS: dict[str, Callable[[QuotaOptions, Iterable[Any]], QuotaPlugin]] = {
    "ElasticQuotaV2": ElasticQuotas.build,
    "ElasticQuota": ElasticQuotaTrees.build,
    "ResourceQuota": ResourceQuotas.build,
    "": Unlimited.build,
}
"""By the quota plugin of the configuration (spec 11.1)."""
