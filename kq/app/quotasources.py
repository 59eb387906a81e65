"""Where quotas are read from in each mode, and what their owners are told (spec 11.1)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from kq.core import quotaviews
from kq.core.kinds import ELASTIC_QUOTA, ELASTIC_QUOTA_TREE, RESOURCE_QUOTA, ResourceKind
from kq.core.plugins import QuotaPlugin
from kq.core.quotaviews import QuotaView
from kq.decide import quotafaults
from kq.decide.quotafaults import Fault, Texts
from kq.kube.client import Client
from kq.kube.informer import Informer
from kq.kube.store import Lister
from kq.kube.telemetry import InformerMetrics
from kq.quota.treeview import quota_tree

BY_QUEUE = "queue"
BY_PARENT = "parent"

Quotas = Callable[[], QuotaPlugin]


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of quota objects.

    `faults` are told as events of the objects, beside which Queue they are; `texts` are what their
    Queues say themselves.
    """

    kind: ResourceKind
    decode: Callable[[bytes], Any]
    indexes: Mapping[str, Callable[[Any], Iterable[str]]]
    optional: bool = True
    faults: Callable[[str, Lister[Any], QuotaPlugin], Iterator[Fault]]
    texts: Callable[[Iterable[Any]], Texts]


def _of_elastic_quotas(queue: str, quotas: Lister[Any], picture: QuotaPlugin) -> Iterator[Fault]:
    named, children = quotas.by_index(BY_QUEUE, queue), quotas.by_index(BY_PARENT, queue)
    return quotafaults.of_quotas(named, children, picture.chain(queue))


def _of_trees(queue: str, trees: Lister[Any], picture: QuotaPlugin) -> Iterator[Fault]:
    """All of them beside the Queue of any root, as trees are few and their faults are theirs."""
    return quotafaults.of_trees(trees.values() if trees.by_index(BY_QUEUE, queue) else ())


def _of_resource_quotas(queue: str, quotas: Lister[Any], picture: QuotaPlugin) -> Iterator[Fault]:
    return quotafaults.of_resource_quotas(quotas.by_index(BY_QUEUE, queue))


_ELASTIC = Source(
    kind=ELASTIC_QUOTA,
    decode=quotaviews.quota,
    indexes={BY_QUEUE: lambda quota: (quota.name,), BY_PARENT: lambda quota: (quota.parent,)},
    faults=_of_elastic_quotas,
    texts=quotafaults.texts_of_quotas,
)
SOURCES = {
    "": _ELASTIC,
    "ElasticQuotaV2": _ELASTIC,
    "ElasticQuota": Source(
        kind=ELASTIC_QUOTA_TREE,
        decode=quota_tree,
        indexes={
            BY_QUEUE: lambda tree: [quotaviews.queue_name(each.name) for each in tree.nodes[:1]]
        },
        faults=_of_trees,
        texts=quotafaults.texts_of_trees,
    ),
    "ResourceQuota": Source(
        kind=RESOURCE_QUOTA,
        decode=quotaviews.resource_quota,
        indexes={BY_QUEUE: lambda quota: (quota.namespace,)},
        optional=False,
        faults=_of_resource_quotas,
        texts=quotafaults.texts_of_resource_quotas,
    ),
}
"""By the quota plugin of the configuration."""


def quota_informer(client: Client, mode: str, metrics: InformerMetrics) -> Informer[QuotaView]:
    """Watches the objects that quotas are read from in that mode, and no others."""
    source = SOURCES[mode]
    return Informer(
        client=client,
        kind=source.kind,
        decode=source.decode,
        indexes=source.indexes,
        optional=source.optional,
        metrics=metrics,
    )
