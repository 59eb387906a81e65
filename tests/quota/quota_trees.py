"""ElasticQuotaTrees as people write them."""

import json
from typing import Any

from builders import stamp

from kq.core import keys
from kq.core.quotaviews import QuotaTree
from kq.quota.treeview import quota_tree

LABEL = keys.QUOTA_LABEL


def node(name: str, *children: Any, cpu: Any = None, **fields: Any) -> dict[str, Any]:
    """A node; `cpu` is its max."""
    limit = {} if cpu is None else {"max": {"cpu": cpu}}
    return {"name": name, "children": list(children) or None, **limit, **fields}


def tree_object(
    root: dict[str, Any], *, name: str = "tree", namespace: str = "kube-system", minute: float = 0
) -> dict[str, Any]:
    """The object as the API server sends it."""
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1beta1",
        "kind": "ElasticQuotaTree",
        "metadata": {
            "namespace": namespace,
            "name": name,
            "uid": f"uid-of-{name}",
            "resourceVersion": "1",
            "creationTimestamp": stamp(minute),
        },
        "spec": {"root": root},
    }


def tree(root: dict[str, Any], **fields: Any) -> QuotaTree:
    """The same, read."""
    found = quota_tree(json.dumps(tree_object(root, **fields)).encode())
    assert found is not None
    return found


_LEAF = {
    "name": "root.defaultQuotaGroup",
    "namespaces": ["default"],
    "max": {
        "cpu": "4",
        "memory": "4Gi",
        "nvidia.com/gpu": "64",
        "aliyun.com/gpu-mem": "16",
    },
    "min": {"cpu": "0", "memory": "0M", "nvidia.com/gpu": "0", "aliyun.com/gpu-mem": "0"},
    "children": None,
}
SEED = tree_object(
    {
        "name": "root",
        "namespaces": [],
        "max": {**_LEAF["max"], "aliyun.com/gpu-mem": "32"},  # type: ignore[dict-item]
        "min": _LEAF["min"],
        "children": [_LEAF],
    }
)
"""The example of the product that this one follows."""
