"""ElasticQuota: the nodes of one ElasticQuotaTree (spec 11.4, 5.3, 5.5, 15.4)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from kq.core.messages import Reason, m4
from kq.core.model import NamespaceView, Quota
from kq.core.options import QuotaOptions
from kq.core.plugins import AutoMade, Level, Problem
from kq.core.quotaviews import QuotaTree, queue_name
from kq.core.resources import Resources
from kq.quota.byrequest import ByRequest
from kq.quota.levels import counted, level_of
from kq.quota.permission import barred
from kq.quota.resolve import labelled_quota


@dataclass(frozen=True)
class ElasticQuotaTrees(ByRequest):
    """The oldest tree at one moment; a quota's name is the path of its node."""

    nodes: Sequence[Quota]
    options: QuotaOptions

    @classmethod
    def build(cls, options: QuotaOptions, trees: Iterable[QuotaTree]) -> "ElasticQuotaTrees":
        """The picture of the oldest of these trees (spec 4.3)."""
        oldest = min(trees, key=lambda each: (each.created, each.name), default=None)
        return cls(oldest.nodes if oldest else (), options)

    def quota_of(self, labels: Mapping[str, str], namespace: NamespaceView) -> str | None:
        """By label, by the namespace's label or the tree, else the configured default."""
        labelled = labelled_quota(labels)
        if labelled:
            return self._by_label.get(labelled, labelled)
        mapped = self._mapped(namespace)
        if mapped or not self.options.default_quota:
            return mapped
        return self._by_spelling.get(self.options.default_quota, self.options.default_quota)

    def chain(self, quota: str) -> Sequence[Level] | Problem:
        """The node and its ancestors, the root included; or why it takes no units."""
        if quota not in self._by_path:
            return Problem(Reason.NOT_FOUND, m4(quota, quota))
        path = self.ancestry(quota)
        twice = next((each for each in reversed(path) if self._paths[each] > 1), None)
        if twice is not None:
            return Problem(Reason.INVALID, f"quota {twice} stands twice in its tree: rename one")
        return self._chains[quota]

    def ancestry(self, quota: str) -> Sequence[str]:
        """The paths of the node and of those above it."""
        return self._ancestries.get(quota, (quota,))

    def barred(self, namespace: NamespaceView, quota: str) -> Problem | None:
        """M5 if the node's list leaves the namespace out, or the namespace has another node."""
        known = self._by_path.get(quota)
        if known is None:
            return None
        mapped = self._mapped(namespace) if self.options.enforce_namespaces else None
        return barred(known, namespace, mapped)

    def of_job(self, labels: Mapping[str, str], counts: Resources) -> Resources:
        """Firm as well, if nobody may preempt it and min is to bound that (spec 11.13)."""
        return counted(counts, labels, self.options)

    def names(self) -> Sequence[str]:
        """All paths, in document order."""
        return tuple(self._by_path)

    def spellings(self, quota: str) -> Sequence[str]:
        """Bare name and Queue's name, as far as no other node is called so; then the path."""
        if quota not in self._by_path:
            return (quota,)
        forms = (quota.rpartition("/")[2], queue_name(quota), quota, _below_root(quota))
        unique = (each for each in forms if each and self._called[each] == 1)
        return tuple(dict.fromkeys((*unique, quota)))

    def queue_of(self, quota: str) -> str:
        """The path as a name."""
        return queue_name(quota)

    def auto_made(self, queue: str) -> AutoMade | None:
        """The node whose Queue is called so; that of an inner one is made on demand."""
        known = self._by_queue.get(queue)
        if known is None:
            return None
        follows = msgspec.structs.replace(known, name=queue)
        return AutoMade(known.name, follows, on_demand=known.is_parent)

    def _mapped(self, namespace: NamespaceView) -> str | None:
        """The node of a namespace by spec 5.3 steps 2 and 3."""
        labelled = labelled_quota(namespace.labels)
        if labelled:
            return self._by_label.get(labelled, labelled)
        return self._by_namespace.get(namespace.name)

    @cached_property
    def _by_path(self) -> Mapping[str, Quota]:
        """The first node of each path."""
        found: dict[str, Quota] = {}
        for node in self.nodes:
            found.setdefault(node.name, node)
        return found

    @cached_property
    def _ancestries(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for path, node in self._by_path.items():  # those above come first in a document
            found[path] = (path, *found.get(node.parent, ()))
        return found

    @cached_property
    def _chains(self) -> Mapping[str, Sequence[Level]]:
        """By path. The min of a root is no limit for units below it (spec 11.13)."""
        nodes, options = self._by_path, self.options
        own = {path: level_of(node, options) for path, node in nodes.items()}
        roots = {
            path: level_of(node, options, guarantees=False)
            for path, node in nodes.items()
            if not node.parent
        }
        above = own | roots
        return {
            path: (own[path], *map(above.__getitem__, ancestry[1:]))
            for path, ancestry in self._ancestries.items()
        }

    @cached_property
    def _paths(self) -> Counter[str]:
        return Counter(each.name for each in self.nodes)

    @cached_property
    def _by_namespace(self) -> Mapping[str, str]:
        """Namespaces that nodes list; the first node in document order wins (spec 11.6)."""
        found: dict[str, str] = {}
        for node in self.nodes:
            for namespace in node.namespaces:
                found.setdefault(namespace, node.name)
        return found

    @cached_property
    def _by_queue(self) -> Mapping[str, Quota]:
        """Nodes by their Queue; of two with one Queue that which has it for its own."""
        found: dict[str, Quota] = {}
        for node in sorted(self._by_path.values(), key=lambda each: each.is_parent):
            found.setdefault(queue_name(node.name), node)
        return found

    @cached_property
    def _called(self) -> Counter[str]:
        """How many nodes each spelling could mean."""
        return Counter(
            spelling
            for path in self._by_path
            for spelling in {path.rpartition("/")[2], queue_name(path), path, _below_root(path)}
        )

    @cached_property
    def _by_label(self) -> Mapping[str, str]:
        """What a label may say: bare names that one node has, names of Queues (spec 5.5)."""
        bare = Counter(path.rpartition("/")[2] for path in self._by_path)
        by_queue = {queue: node.name for queue, node in self._by_queue.items()}
        by_name = {path.rpartition("/")[2]: path for path in self._by_path}
        return by_queue | {name: path for name, path in by_name.items() if bare[name] == 1}

    @cached_property
    def _by_spelling(self) -> Mapping[str, str]:
        """What may be said where no label is: paths too, with or without the root."""
        below = {_below_root(path): path for path in self._by_path if "/" in path}
        return {**below, **{path: path for path in self._by_path}, **self._by_label}


def _below_root(path: str) -> str:
    """The path without its root; empty for the root itself."""
    return path.partition("/")[2]
