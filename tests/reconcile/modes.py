"""A settled cluster in another quota mode, wired to the work queues."""

from dataclasses import replace
from typing import Any

import builders
from builders import INSTALL_NAMESPACE, NOW, amounts
from shells import Ground, Shown

from kq.core.options import QuotaOptions
from kq.core.plugins import QuotaPlugin
from kq.core.quotaviews import QuotaTree, ResourceQuota, Scope
from kq.quota import QUOTAS
from kq.reconcile.family import Family
from kq.reconcile.wiring import Wiring


def node(path: str, **fields: Any) -> Any:
    """A node of a tree by its path."""
    return builders.quota(path, parent=path.rpartition("/")[0], labels={}, **fields)


def tree(*nodes: Any, **fields: Any) -> QuotaTree:
    """A tree of these nodes."""
    values = {"namespace": "kube-system", "name": "tree", "uid": "tree", "resource_version": "1"}
    return QuotaTree(created=NOW, nodes=nodes, **values | fields)


def resource_quota(name: str = "rq", *, scopes: Any = (), **fields: Any) -> ResourceQuota:
    """A ResourceQuota of team-a for so many cpu."""
    values: dict[str, Any] = {
        "namespace": "team-a",
        "name": name,
        "uid": f"uid-of-{name}",
        "resource_version": "1",
        "created": NOW,
        "limit": amounts(cpu=fields.pop("cpu", 2)),
        "scopes": tuple(map(Scope, scopes)),
    }
    return ResourceQuota(**values | fields)


class Moded(Ground):
    """Informers and work queues of a manager in one quota mode."""

    def __init__(self, mode: str, *quotas: Any) -> None:
        super().__init__(counts_foreign=mode == "ResourceQuota")
        self.watches = replace(self.watches, quotas=Shown())  # type: ignore[arg-type]
        self.shown: Any = self.watches
        self.default_class = ""
        self._mode = mode
        self.wiring = Wiring(
            watches=self.watches,
            family=Family(self.watches),
            hub=self.hub,
            make_quotas=self._make,
            namespace=INSTALL_NAMESPACE,
            forget_queue=lambda queue: None,
            pods_limit=300,
            classes_count=mode == "ResourceQuota",
        )
        self.wiring.connect()
        for each in quotas:
            self.shown.quotas.show(each, initial=True)
        self.shown.namespaces.show(builders.namespace(), initial=True)

    def _make(self, quotas: Any) -> QuotaPlugin:
        return QUOTAS[self._mode](QuotaOptions(default_class=self.default_class), quotas)
