"""Views by key and by index; read-only to everyone but the informer that fills it."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar


class View(Protocol):
    """What every view of an object tells: which one it is, and in which version."""

    @property
    def namespace(self) -> str:
        """Its namespace; empty for what is cluster-scoped."""
        ...

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def uid(self) -> str:
        """Its UID."""
        ...

    @property
    def resource_version(self) -> str:
        """Its version, opaque."""
        ...


V = TypeVar("V", bound=View)

Indexer = Callable[[V], Iterable[str]]
"""The values under which a view is found in one index."""


class Lister(Protocol[V]):
    """The read-only face of a store; what it returns is a copy, the views are shared."""

    def get(self, namespace: str, name: str) -> V | None:
        """The view of that object; cluster-scoped ones have namespace `""`."""

    def by_index(self, index: str, value: str) -> list[V]:
        """The views that the index files under the value."""

    def values(self) -> list[V]:
        """Every view."""

    def __len__(self) -> int: ...


_NONE: Mapping[str, Any] = MappingProxyType({})


def key_of(namespace: str, name: str) -> str:
    """`namespace/name`, or the name alone of a cluster-scoped object."""
    return f"{namespace}/{name}" if namespace else name


class Store(Generic[V]):
    """The views of one kind, each under its key and under the values of every index."""

    def __init__(self, indexes: Mapping[str, Indexer[V]] | None = None) -> None:
        # By namespace, and there by name: that is a string which the view has anyway, a key is not.
        self._views: dict[str, dict[str, V]] = {}
        self._count = 0
        self._indexers = dict(indexes or {})
        self._indexes: dict[str, dict[str, dict[str, V]]] = {name: {} for name in self._indexers}

    def get(self, namespace: str, name: str) -> V | None:
        """The view of that object, None if there is none."""
        return self._views.get(namespace, _NONE).get(name)

    def by_key(self, key: str) -> V | None:
        """The view under that key, None if there is none."""
        namespace, _, name = key.rpartition("/")
        return self._views.get(namespace, _NONE).get(name)

    def by_index(self, index: str, value: str) -> list[V]:
        """The views that the index files under the value; KeyError for an unknown index."""
        return list(self._indexes[index].get(value, {}).values())

    def values(self) -> list[V]:
        """Every view."""
        return [view for named in self._views.values() for view in named.values()]

    def all_keys(self) -> list[str]:
        """Every key."""
        return [key_of(space, name) for space, named in self._views.items() for name in named]

    def __len__(self) -> int:
        return self._count

    def put(self, key: str, view: V) -> V | None:
        """The view that was under the key; an index function that raises changes nothing."""
        filed = {name: set(indexer(view)) for name, indexer in self._indexers.items()}
        old = self.delete(key, keep=filed)
        for name, values in filed.items():
            index = self._indexes[name]
            for value in values:
                index.setdefault(value, {})[key] = view
        namespace, _, name = key.rpartition("/")
        named = self._views.setdefault(namespace, {})
        named[view.name if view.name == name else name] = view
        self._count += 1
        return old

    def delete(self, key: str, *, keep: Mapping[str, set[str]] | None = None) -> V | None:
        """The view that was under the key and no longer is; it stays filed under `keep`."""
        namespace, _, name = key.rpartition("/")
        named = self._views.get(namespace, {})
        old = named.pop(name, None)
        if old is None:
            return None
        self._count -= 1
        if not named and keep is None:
            del self._views[namespace]
        self._unfile(key, old, keep=keep or {})
        return old

    def _unfile(self, key: str, old: V, *, keep: Mapping[str, set[str]]) -> None:
        for name, indexer in self._indexers.items():
            index = self._indexes[name]
            for value in set(indexer(old)) - keep.get(name, set()):
                bucket = index[value]
                del bucket[key]
                if not bucket:
                    del index[value]
