"""What is wrong with quotas, in sentences for their owners (spec 11.6, 22.1)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from kq.core import keys
from kq.core.messages import Reason
from kq.core.model import Quota
from kq.core.plugins import Level, Problem, QuotaPlugin
from kq.core.quotaviews import QuotaTree, QuotaView, ResourceQuota
from kq.core.resources import format_amount, in_order

INVALID = "InvalidQuota"

Texts = Mapping[str, Sequence[str]]
"""What is wrong with quotas, by the names that chains have for them."""


class Fault(msgspec.Struct, frozen=True):
    """What is wrong with an object, and the reason of the events that tell it."""

    about: QuotaView
    reason: str
    texts: tuple[str, ...]


def of_quotas(
    named: Sequence[Quota], children: Sequence[Quota], chain: Sequence[Level] | Problem
) -> Iterator[Fault]:
    """Of all ElasticQuotas of one name: the oldest counts (spec 4.2)."""
    quota = min(named, key=lambda each: (each.created, each.namespace), default=None)
    if quota is None:
        return
    for other in named:
        if other is not quota:
            text = f"quota {quota.name} exists in namespace {quota.namespace} already"
            yield Fault(other, "DuplicateQuota", (text,))
    yield Fault(quota, INVALID, faults(quota, children, chain))


def of_trees(trees: Iterable[QuotaTree]) -> Iterator[Fault]:
    """Of all ElasticQuotaTrees: the oldest counts (spec 4.3)."""
    in_order_of_age = sorted(trees, key=lambda each: (each.created, each.name))
    if not in_order_of_age:
        return
    oldest, *others = in_order_of_age
    text = f"tree {oldest.name} is older and counts: this one is ignored"
    for other in others:
        yield Fault(other, "DuplicateQuotaTree", (text,))
    yield Fault(oldest, INVALID, (*oldest.defects, *(text for _, text in _in_tree(oldest.nodes))))


def of_resource_quotas(quotas: Iterable[ResourceQuota]) -> Iterator[Fault]:
    """What of ResourceQuotas cannot be read."""
    for each in quotas:
        yield Fault(each, INVALID, each.defects)


def texts_of_quotas(quotas: Iterable[Quota]) -> Texts:
    """Of each ElasticQuota that counts, but for what keeps its units waiting."""
    by_age = sorted(quotas, key=lambda each: (each.created, each.namespace), reverse=True)
    counting = {each.name: each for each in by_age}
    children = _by_parent(counting.values())
    return {name: faults(each, children.get(name, ()), ()) for name, each in counting.items()}


def texts_of_trees(trees: Iterable[QuotaTree]) -> Texts:
    """Of each node of the tree that counts."""
    oldest = min(trees, key=lambda each: (each.created, each.name), default=None)
    nodes = oldest.nodes if oldest is not None else ()
    found: dict[str, list[str]] = {}
    for node in nodes:
        found.setdefault(node.name, []).extend(node.defects)
    for path, text in _in_tree(nodes):
        found[path].append(text)
    return found


def texts_of_resource_quotas(quotas: Iterable[ResourceQuota]) -> Texts:
    """Of each ResourceQuota."""
    return {f"{each.namespace}/{each.name}": each.defects for each in quotas}


class QuotaRemarks:
    """What is wrong with a quota and those above it; all is looked for once a picture."""

    def __init__(self, find: Callable[[], Texts]) -> None:
        self._find = find
        self._picture: QuotaPlugin | None = None
        self._texts: Texts = {}

    def of(self, quota: str, picture: QuotaPlugin) -> tuple[str, ...]:
        """In sentences, those of the quota itself first."""
        if picture is not self._picture:
            self._picture, self._texts = picture, self._find()
        levels = picture.ancestry(quota)
        return tuple(text for level in levels for text in self._texts.get(level, ()))


def _by_parent(quotas: Iterable[Quota]) -> Mapping[str, Sequence[Quota]]:
    found: dict[str, list[Quota]] = {}
    for each in quotas:
        found.setdefault(each.parent, []).append(each)
    return found


def _in_tree(nodes: Sequence[Quota]) -> Iterator[tuple[str, str]]:
    """What does not fit together between the nodes of one tree, and of which node that is so."""
    for path, count in Counter(each.name for each in nodes).items():
        if count > 1:
            yield path, f"quota {path} stands {count} times in the tree: its units wait"
    children = _by_parent(nodes)
    first: dict[str, str] = {}
    for node in nodes:
        for text in (*_listed(node, first), *_shared(node, children.get(node.name, ()))):
            yield node.name, text


def _listed(node: Quota, first: dict[str, str]) -> Iterator[str]:
    """What is wrong with the namespaces of a node; `first` has those of nodes before it."""
    for namespace in node.namespaces:
        if first.setdefault(namespace, node.name) != node.name:
            yield (
                f"namespace {namespace} is listed by {first[namespace]} already: "
                f"it does not count for {node.name}"
            )
    if node.is_parent and node.namespaces:
        yield f"quota {node.name} has children and lists namespaces: list them on a child"


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
