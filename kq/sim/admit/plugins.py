"""The admission plugins that a server has by itself, in the order in which they are asked."""

from collections.abc import Callable, Sequence
from datetime import datetime

from kq.sim.admit.crds import Definitions
from kq.sim.admit.limitranges import LimitRanger
from kq.sim.admit.namespaces import NamespaceLifecycle
from kq.sim.admit.priorities import Priorities
from kq.sim.admit.quotas import QuotaLimits
from kq.sim.api.admission import Plugin
from kq.sim.api.kinds import Kind, Registry
from kq.sim.api.storage import Storage


def own_plugins(
    storage: Storage,
    registry: Registry,
    clock: Callable[[], datetime],
    others: Sequence[Plugin],
) -> list[Plugin]:
    """All plugins: others come before quotas, which are charged only for what nobody refuses."""
    definitions = Definitions(
        storage=storage,
        registry=registry,
        kind=_kind(registry, "CustomResourceDefinition"),
        clock=clock,
    )
    return [
        NamespaceLifecycle(storage, _kind(registry, "Namespace")),
        definitions,
        LimitRanger(storage, _kind(registry, "LimitRange")),
        Priorities(storage, _kind(registry, "PriorityClass")),
        *others,
        QuotaLimits(storage, _kind(registry, "ResourceQuota")),
    ]


def _kind(registry: Registry, called: str) -> Kind:
    return next(kind for kind in registry if kind.kind == called and not kind.custom)
