"""All objects of a server, one version counter over them, and what happened to each kind."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from kq.errors import KqError
from kq.sim.api.kinds import Kind
from kq.sim.read.fields import fields_of

HISTORY = 20_000
"""Events of one kind that are remembered if nobody says otherwise."""


class Change(StrEnum):
    """What happened to an object, in the words of watch events."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Compacted(KqError):
    """The version that was asked for is forgotten; `oldest` is the first that is not."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"version {asked} is forgotten, the oldest kept is {oldest}")
        self.oldest = oldest


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One version of one object: its JSON, and what is asked of it without reading that."""

    raw: bytes
    api_version: str
    version: int
    namespace: str
    name: str
    uid: str
    labels: Mapping[str, str]
    fields: Mapping[str, str]

    @property
    def place(self) -> str:
        """Where it stands among the objects of its kind."""
        return f"{self.namespace}/{self.name}"

    def read(self) -> dict[str, Any]:
        """The object, for the caller to change."""
        obj: dict[str, Any] = msgspec.json.decode(self.raw)
        return obj


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One change; of a deleted object `stored` is the last state with the version of the end."""

    change: Change
    version: int
    stored: Stored
    before: Stored | None


@dataclass(slots=True)
class _Shelf:
    """The objects of one kind, in order, and their history."""

    objects: dict[str, Stored] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    forgotten: int = 0
    """The newest version whose event is forgotten."""
    wakes: list[Callable[[], None]] = field(default_factory=list)


class Storage:
    """Objects by kind, namespace and name; whoever takes one out gets bytes or a copy."""

    def __init__(self, *, history: int = HISTORY) -> None:
        self.version = 1
        """The version of the newest write, whatever its kind."""
        self._history = history
        self._compacted = 0
        self._shelves: dict[str, _Shelf] = {}

    def get(self, kind: Kind, namespace: str, name: str) -> Stored | None:
        """The object as it is now."""
        return self._shelf(kind.key).objects.get(f"{namespace}/{name}")

    def list(self, kind: Kind, namespace: str = "", *, at: int | None = None) -> list[Stored]:
        """The objects in order, now or at a version that is not forgotten; "" is all namespaces."""
        shelf = self._shelf(kind.key)
        if at is not None and at < self.version:
            return _past(shelf, namespace, at)
        begin, end = _bounds(shelf.places, namespace)
        return [shelf.objects[place] for place in shelf.places[begin:end]]

    def part(
        self, kind: Kind, namespace: str, *, at: int, after: str, most: int
    ) -> tuple[Sequence[Stored], int]:
        """So many objects behind a place, as `list` gives them, and how many follow them."""
        shelf = self._shelf(kind.key)
        if at < max(shelf.forgotten, shelf.events[-1].version if shelf.events else 0):
            found = _past(shelf, namespace, at)
            found = found[bisect_right(found, after, key=_place) :]
            return found[:most], max(0, len(found) - most)
        begin, end = _bounds(shelf.places, namespace)
        begin = max(begin, bisect_right(shelf.places, after))
        places = shelf.places[begin : min(end, begin + most)]
        return [shelf.objects[place] for place in places], max(0, end - begin - len(places))

    def put(self, kind: Kind, obj: dict[str, Any]) -> Stored:
        """Keeps an object, new or changed, under the next version."""
        shelf = self._shelf(kind.key)
        version = self.version = self.version + 1
        stored = _stored(kind, obj, version)
        before = shelf.objects.get(stored.place)
        if before is None:
            insort(shelf.places, stored.place)
        shelf.objects[stored.place] = stored
        change = Change.MODIFIED if before else Change.ADDED
        self._tell(shelf, Event(change=change, version=version, stored=stored, before=before))
        return stored

    def remove(self, kind: Kind, obj: dict[str, Any]) -> Stored:
        """Forgets an object that is there; gives its last state, under the next version."""
        shelf = self._shelf(kind.key)
        version = self.version = self.version + 1
        stored = _stored(kind, obj, version)
        before = shelf.objects.pop(stored.place)
        del shelf.places[bisect_left(shelf.places, stored.place)]
        event = Event(change=Change.DELETED, version=version, stored=stored, before=before)
        self._tell(shelf, event)
        return stored

    def events_since(self, key: str, version: int) -> Sequence[Event]:
        """What happened to a kind after a version; Compacted if not all of it is known."""
        shelf = self._shelf(key)
        if version < shelf.forgotten:
            raise Compacted(version, shelf.forgotten)
        return shelf.events[bisect_right(shelf.events, version, key=_version) :]

    def compact(self, version: int | None = None) -> None:
        """Forgets what happened up to a version (all, if None); the objects stay."""
        upto = self._compacted = self.version if version is None else version
        for shelf in self._shelves.values():
            _forget(shelf, upto)

    def subscribe(self, key: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Calls back after each change of a kind, until the function that is returned is called."""
        wakes = self._shelf(key).wakes
        wakes.append(wake)
        return lambda: wakes.remove(wake)

    def _shelf(self, key: str) -> _Shelf:
        shelf = self._shelves.get(key)
        if shelf is None:
            shelf = self._shelves[key] = _Shelf(forgotten=self._compacted)
        return shelf

    def _tell(self, shelf: _Shelf, event: Event) -> None:
        shelf.events.append(event)
        if len(shelf.events) > 2 * self._history:
            _forget(shelf, shelf.events[-self._history - 1].version)
        for wake in shelf.wakes:
            wake()


def _stored(kind: Kind, obj: dict[str, Any], version: int) -> Stored:
    meta = obj["metadata"]
    meta["resourceVersion"] = str(version)
    head = {"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
    return Stored(
        raw=msgspec.json.encode({**head, **obj}),
        api_version=obj["apiVersion"],
        version=version,
        namespace=meta.get("namespace", ""),
        name=meta["name"],
        uid=meta["uid"],
        labels=dict(meta.get("labels") or {}),
        fields=fields_of(kind, obj),
    )


def _bounds(places: Sequence[str], namespace: str) -> tuple[int, int]:
    """Where the places of a namespace begin and end; of all namespaces if it is empty."""
    if not namespace:
        return 0, len(places)
    # "0" is what follows "/".
    return bisect_left(places, f"{namespace}/"), bisect_left(places, f"{namespace}0")


def _past(shelf: _Shelf, namespace: str, version: int) -> list[Stored]:
    """The state at a version: the present one with everything since undone."""
    if version < shelf.forgotten:
        raise Compacted(version, shelf.forgotten)
    objects = dict(shelf.objects)
    for event in reversed(shelf.events[bisect_right(shelf.events, version, key=_version) :]):
        if event.before is None:
            del objects[event.stored.place]
        else:
            objects[event.stored.place] = event.before
    places = sorted(objects)
    begin, end = _bounds(places, namespace)
    return [objects[place] for place in places[begin:end]]


def _forget(shelf: _Shelf, version: int) -> None:
    kept = bisect_right(shelf.events, version, key=_version)
    del shelf.events[:kept]
    shelf.forgotten = max(shelf.forgotten, version)


def _place(stored: Stored) -> str:
    return stored.place


def _version(event: Event) -> int:
    return event.version
