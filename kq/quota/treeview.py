"""ElasticQuotaTrees read into views (spec 4.3).

A tree is one object. Each of its nodes becomes a quota that has its path as name, so that what
holds for quotas with parents holds for nodes.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kq.core import codec, keys
from kq.core.codec import listed, mapping
from kq.core.model import Quota
from kq.core.quotaviews import QuotaTree, bounds_of
from kq.core.views import decode_object

NAMESPACE = "kube-system"
"""The only namespace in which trees count."""
DEEPEST = 32
"""Nodes below that many levels are ignored (spec 22.1)."""


class Found(msgspec.Struct, frozen=True):
    """A node as it stands in the tree: its path, its map, and where it hangs."""

    path: str
    parent: str
    body: Mapping[str, Any]
    children: Sequence[object]
    depth: int


def quota_tree(raw: bytes) -> QuotaTree | None:
    """An ElasticQuotaTree; None for one outside of kube-system."""
    body = decode_object(raw)
    meta = codec.metadata(mapping(body, "metadata"))
    if meta["namespace"] != NAMESPACE:
        return None
    created = codec.parse_time(mapping(body, "metadata").get("creationTimestamp")) or codec.EPOCH
    defects: list[str] = []
    nodes = [
        _node(found, meta, created, defects)
        for found in _walk(mapping(mapping(body, "spec"), "root"), defects)
    ]
    return QuotaTree(**meta, created=created, nodes=tuple(nodes), defects=tuple(defects))


def _walk(root: Mapping[str, Any], defects: list[str]) -> Iterator[Found]:
    """All nodes in document order."""
    if not root:
        return
    name = _name(root) or "root"
    waiting = [Found(name, "", root, listed(root, "children"), 1)]
    while waiting:
        found = waiting.pop()
        yield found
        if found.children and found.depth == DEEPEST:
            defects.append(f"nodes below {found.path} are ignored: they lie deeper than {DEEPEST}")
            continue
        below = [_child(each, found) for each in found.children]
        if None in below:
            defects.append(f"a child of {found.path} has no name: it is ignored")
        waiting += [each for each in reversed(below) if each is not None]


def _child(body: object, above: Found) -> Found | None:
    name = _name(body) if isinstance(body, Mapping) else ""
    if not name or not isinstance(body, Mapping):
        return None
    path = f"{above.path}/{name}"
    return Found(path, above.path, body, listed(body, "children"), above.depth + 1)


def _name(body: Mapping[str, Any]) -> str:
    name = body.get("name")
    return name if isinstance(name, str) else ""


def _node(found: Found, meta: Mapping[str, Any], created: Any, defects: list[str]) -> Quota:
    """The node as a quota; its attributes are what labels and annotations are elsewhere."""
    bounds = bounds_of(found.body)
    own = tuple(f"{found.path}: {each}" for each in bounds.defects)
    defects += own
    attributes = codec.strings(found.body.get("attributes"))
    policy = {key: attributes[key] for key in keys.POLICY_LABELS if key in attributes}
    return Quota(
        **{**meta, "name": found.path},
        created=created,
        labels=policy,
        annotations={key: text for key, text in attributes.items() if key not in policy},
        parent=found.parent,
        is_parent=bool(found.children),
        limit=bounds.limit,
        minimum=bounds.minimum,
        defects=own,
        namespaces=tuple(
            each for each in listed(found.body, "namespaces") if isinstance(each, str)
        ),
    )
