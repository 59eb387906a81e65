"""What arrives from the API server against what is known: the differences, as changes; no I/O."""

from collections.abc import Callable, Mapping
from typing import Generic

import msgspec

from kq.core.nesting import shallow
from kq.errors import DecodeError
from kq.kube.store import Indexer, Store, V
from kq.kube.watch import Event, EventType, ObjectMeta, read_meta


class _ListMeta(msgspec.Struct, frozen=True):
    resourceVersion: str
    continue_: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct, frozen=True):
    kind: str
    metadata: _ListMeta
    items: list[msgspec.Raw] | None


class Page(msgspec.Struct, frozen=True):
    """The items of a page, the version of the whole list, and where it goes on, if it does."""

    version: str
    items: list[msgspec.Raw]
    token: str


_decoder = msgspec.json.Decoder(_Page)


def _decoded(body: bytes) -> _Page:
    try:
        return _decoder.decode(body)
    except RecursionError:
        return _decoder.decode(shallow(body))


def read_page(body: bytes) -> Page:
    """The page; DecodeError for whatever is not one, so that it is never taken for an empty one."""
    try:
        page = _decoded(body)
    except msgspec.DecodeError as err:
        raise DecodeError(f"the answer is no list: {err}") from err
    if not page.kind.endswith("List") or not page.metadata.resourceVersion:
        raise DecodeError(f"the answer is no list: kind {page.kind!r} without a version")
    return Page(page.metadata.resourceVersion, page.items or [], page.metadata.continue_)


class Change(msgspec.Struct, Generic[V], frozen=True):
    """One object came (`old` None), changed, or went (`new` None)."""

    old: V | None
    new: V | None
    initial: bool = False
    """Whether it is part of the first list, or of what a late handler is told."""


class Unreadable(Exception):
    """An object could not be made a view; `key` is empty where not even that can be read."""

    def __init__(self, key: str, cause: Exception) -> None:
        super().__init__(str(cause))
        self.key = key


class Replica(Generic[V]):
    """The store of one kind, kept like the API server's; every method returns what changed."""

    def __init__(
        self,
        decode: Callable[[bytes | msgspec.Raw], V | None],
        indexes: Mapping[str, Indexer[V]] | None = None,
        known: Callable[[str, str, str], V | None] | None = None,
    ) -> None:
        self._decode = decode
        self._known = known
        self._listed: set[str] = set()
        self.store: Store[V] = Store(indexes)

    def apply(self, event: Event) -> list[Change[V]]:
        """What one watch event changes."""
        key = event.meta.key
        if event.type == EventType.DELETED:
            return self._remove(key, uid=event.meta.uid)
        return self._take(key, event.meta, event.raw, initial=False)

    def begin_list(self) -> None:
        """From here on `list_item` is about one list."""
        self._listed = set()

    def list_item(self, raw: msgspec.Raw, *, initial: bool) -> list[Change[V]]:
        """What one item of a list changes; nothing if its version is the known one."""
        try:
            meta = read_meta(raw)
        except msgspec.DecodeError as err:
            raise Unreadable("", err) from err
        self._listed.add(meta.key)
        return self._take(meta.key, meta, raw, initial=initial)

    def end_list(self) -> list[Change[V]]:
        """What vanished: known before, and not an item of the list that is now complete."""
        changes = [
            change
            for key in self.store.all_keys()
            if key not in self._listed
            for change in self._remove(key)
        ]
        self._listed = set()
        return changes

    def clear(self) -> list[Change[V]]:
        """Every object gone."""
        self.begin_list()
        return self.end_list()

    def _take(
        self, key: str, meta: ObjectMeta, raw: msgspec.Raw, *, initial: bool
    ) -> list[Change[V]]:
        known = self.store.by_key(key)
        if known is not None and known.resource_version == meta.resourceVersion:
            return []
        try:
            new = self._known(key, meta.uid, meta.resourceVersion) if self._known else None
            new = new or self._decode(raw)
            if new is None:
                return self._remove(key)
            self.store.put(key, new)
        except Exception as err:  # a decode or index function that fails must not stop the rest
            raise Unreadable(key, err) from err
        if known is not None and known.uid != new.uid:
            return [Change(known, None), Change(None, new, initial)]
        return [Change(known, new, initial)]

    def _remove(self, key: str, *, uid: str = "") -> list[Change[V]]:
        known = self.store.by_key(key)
        if known is None or (uid and known.uid != uid):
            # Another UID: the object that went is not the one that is known.
            return []
        self.store.delete(key)
        return [Change(known, None)]
