"""All changes of an API server's objects, decoded once, in the order in which they happen."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kq.sim.api.server import ApiServer
from kq.sim.api.storage import Change, Event, Stored
from kq.sim.control.objects import Place
from kq.sim.control.packed import Packed
from kq.sim.control.view import Happened, Seen

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"

Tell = Callable[[Happened], None]


class Following:
    """Reads the storage, not a watch: it is never behind, and costs one decoding a change."""

    def __init__(self, server: ApiServer, tell: Tell) -> None:
        self._server = server
        self._tell = tell
        self._kinds: dict[str, _Kind] = {}
        self._handed: Seen | None = None
        self._read: Callable[[Stored], Seen] = Stored.read

    def start(self) -> None:
        """Tells of all objects that there are, and from then on of each change."""
        for kind in list(self._server.registry):
            if kind.key not in self._kinds:
                self._kinds[kind.key] = followed = _Kind(kind.key)
                for stored in self._server.storage.list(kind):
                    followed.version = max(followed.version, stored.version)
                    self._tell(followed.came(stored.read()))
                followed.version = self._server.storage.version
                followed.stop = self._server.storage.subscribe(kind.key, self._waker(followed))

    def newest(self, kind: str, place: Place) -> Seen | None:
        """The object as it is in the storage, shared: not to be changed."""
        followed = self._kinds.get(kind)
        return None if followed is None else followed.objects.get(place)

    @contextmanager
    def handing(self, obj: Seen) -> Iterator[None]:
        """A time in which that object is stored, and need not be decoded to be told of."""
        self._handed = obj
        try:
            yield
        finally:
            self._handed = None

    @contextmanager
    def packing(self) -> Iterator[None]:
        """A time in which very many objects come, of which few will be looked at."""
        self._read = _packed
        try:
            yield
        finally:
            self._read = Stored.read

    def stop(self) -> None:
        """Tells nothing more."""
        for kind in self._kinds.values():
            kind.stop()
        self._kinds.clear()

    def _waker(self, kind: "_Kind") -> Callable[[], None]:
        def wake() -> None:
            # Told within each write: what is new is the last version alone, whatever was compacted.
            since = max(kind.version, self._server.storage.version - 1)
            for event in self._server.storage.events_since(kind.key, since):
                kind.version = event.version
                self._tell(kind.changed(event, self._handed, self._read))
            if kind.key == DEFINITIONS:
                self.start()

        return wake


class _Kind:
    def __init__(self, key: str) -> None:
        self.key = key
        self.version = 0
        self.stop: Callable[[], None] = lambda: None
        self.objects: dict[Place, Seen] = {}

    def came(self, obj: Seen) -> Happened:
        """An object, new or changed."""
        meta = obj["metadata"]
        place = meta.get("namespace", ""), meta["name"]
        before = self.objects.get(place)
        self.objects[place] = obj
        return Happened(kind=self.key, before=before, after=obj)

    def changed(
        self, event: Event, handed: Seen | None, read: Callable[[Stored], Seen]
    ) -> Happened:
        """What an event tells, by the object that was handed if that is it."""
        if event.change is not Change.DELETED:
            is_same = handed is not None and _version(handed) == event.version
            return self.came(handed if handed and is_same else read(event.stored))
        before = self.objects.pop((event.stored.namespace, event.stored.name))
        return Happened(kind=self.key, before=before, after=None)


def _packed(stored: Stored) -> Seen:
    return Packed(stored.raw)


def _version(obj: Seen) -> int:
    return int(obj["metadata"]["resourceVersion"])
