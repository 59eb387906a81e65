"""All objects of the cluster as its controllers see them, kept by events; no I/O."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kq.sim.control.objects import Place, owners_of, place_of, uid_of

Seen = Mapping[str, Any]
"""An object that is shared and never changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """One change of one object: what it was, what it is; None for what did not exist."""

    kind: str
    before: Seen | None
    after: Seen | None

    @property
    def newest(self) -> Seen:
        """The object as it was last."""
        newest = self.after if self.after is not None else self.before
        assert newest is not None  # noqa: S101 - for the type checker; one of them is there
        return newest


@dataclass(frozen=True, slots=True)
class Known:
    """An object and the name of its kind."""

    kind: str
    obj: Seen


class View:
    """Objects by kind and place, by UID, and by owner."""

    def __init__(self, is_served: Callable[[str, str], bool] = lambda version, kind: True) -> None:
        self.is_served = is_served
        """Whether the API server has objects of that apiVersion and kind."""
        self._objects: dict[str, dict[Place, Seen]] = {}
        self._by_namespace: dict[tuple[str, str], dict[str, Seen]] = {}
        self._by_uid: dict[str, Known] = {}
        self._owned: dict[str, dict[str, Known]] = {}

    def get(self, kind: str, namespace: str, name: str) -> Seen | None:
        """The object there."""
        return self._objects.get(kind, {}).get((namespace, name))

    def known(self, uid: str) -> Known | None:
        """The object with that UID, of whatever kind."""
        return self._by_uid.get(uid)

    def within(self, kind: str, namespace: str) -> Iterable[Seen]:
        """The objects of a kind in a namespace, the oldest first."""
        return self._by_namespace.get((kind, namespace), {}).values()

    def kinds_within(self, namespace: str) -> Iterator[str]:
        """The kinds of which there are objects in a namespace."""
        return (kind for (kind, each), objects in self._by_namespace.items()
                if each == namespace and objects)  # fmt: skip

    def owned(self, uid: str) -> list[Known]:
        """What names that UID as an owner, the oldest first."""
        return list(self._owned.get(uid, {}).values())

    def owned_of(self, kind: str, uid: str) -> list[Seen]:
        """What of a kind names that UID as an owner, the oldest first."""
        return [each.obj for each in self._owned.get(uid, {}).values() if each.kind == kind]

    def bereft(self) -> list[Known]:
        """What names owners of which at least one is not there, each once."""
        gone = (owned for uid, owned in self._owned.items() if uid not in self._by_uid)
        return list({uid: known for owned in gone for uid, known in owned.items()}.values())

    def apply(self, happened: Happened) -> None:
        """Takes in one change."""
        if happened.before is not None:
            self._drop_owners(happened.before, happened.after)
        if happened.after is None:
            self._forget(happened.kind, happened.newest)
        else:
            self._keep(happened.kind, happened.after)

    def _keep(self, kind: str, obj: Seen) -> None:
        place, known = place_of(obj), Known(kind, obj)
        self._objects.setdefault(kind, {})[place] = obj
        if place[0]:
            self._by_namespace.setdefault((kind, place[0]), {})[place[1]] = obj
        self._by_uid[uid_of(obj)] = known
        for owner in owners_of(obj):
            self._owned.setdefault(owner["uid"], {})[uid_of(obj)] = known

    def _forget(self, kind: str, obj: Seen) -> None:
        namespace, name = place_of(obj)
        self._objects.get(kind, {}).pop((namespace, name), None)
        if namespace:
            self._by_namespace.get((kind, namespace), {}).pop(name, None)
        self._by_uid.pop(uid_of(obj), None)

    def _drop_owners(self, before: Seen, after: Seen | None) -> None:
        if after is not None and owners_of(before) == owners_of(after):
            return
        kept = {owner["uid"] for owner in owners_of(after)} if after is not None else set()
        for owner in owners_of(before):
            if owner["uid"] in kept:
                continue
            dependents = self._owned.get(owner["uid"], {})
            dependents.pop(uid_of(before), None)
            if not dependents:
                self._owned.pop(owner["uid"], None)
