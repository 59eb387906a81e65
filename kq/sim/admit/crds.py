"""CustomResourceDefinitions: what the server makes of them, and which kinds it serves by them."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from kq.core.kinds import Object
from kq.sim.api.admission import Operation, Review
from kq.sim.api.kinds import Kind, Registry, kinds_of_crd
from kq.sim.api.status import invalid, invalid_value
from kq.sim.api.storage import Change, Event, Storage
from kq.sim.write.meta import stamp


class Definitions:
    """Serves a kind from the moment its definition is kept, until that is deleted."""

    def __init__(
        self,
        *,
        storage: Storage,
        registry: Registry,
        kind: Kind,
        clock: Callable[[], datetime],
    ) -> None:
        self._storage = storage
        self._registry = registry
        self._kind = kind
        self._clock = clock
        storage.subscribe(kind.key, self._follow)

    def mutate(self, review: Review) -> None:
        """Fills in the names and the status of a new definition."""
        if review.call.kind.key != self._kind.key or review.obj is None:
            return
        _complete(review.obj["spec"])
        if review.operation is Operation.CREATE:
            review.obj["status"] = _established(review.obj["spec"], self._clock())

    def check(self, review: Review) -> None:
        """Refuses a definition whose name does not say what it defines."""
        obj = review.obj
        if review.call.kind.key != self._kind.key or obj is None:
            return
        spec, name = obj["spec"], obj["metadata"]["name"]
        wanted = f"{spec['names']['plural']}.{spec['group']}"
        if name != wanted:
            text = 'must be spec.names.plural+"."+spec.group'
            raise invalid(self._kind, name, [invalid_value("metadata.name", name, text)])

    def _follow(self) -> None:
        # Told within each write: what is new is the last version alone, whatever was compacted.
        for event in self._storage.events_since(self._kind.key, self._storage.version - 1):
            self._registry.remove(event.stored.name)
            if event.change is Change.DELETED:
                self._empty(event)
            else:
                self._registry.add(kinds_of_crd(event.stored.read()))

    def _empty(self, event: Event) -> None:
        """With a definition all its objects go, whatever holds them."""
        for kind in kinds_of_crd(event.stored.read())[:1]:
            for stored in self._storage.list(kind):
                self._storage.remove(kind, stored.read())


def _complete(spec: dict[str, Any]) -> None:
    names = spec["names"]
    names.setdefault("singular", names["kind"].lower())
    names.setdefault("listKind", f"{names['kind']}List")
    spec.setdefault("conversion", {"strategy": "None"})


def _established(spec: Object, now: datetime) -> dict[str, Any]:
    return {
        "conditions": [
            _condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
            _condition(
                "Established", "InitialNamesAccepted", "the initial names have been accepted", now
            ),
        ],
        "acceptedNames": spec["names"],
        "storedVersions": [each["name"] for each in spec["versions"] if each.get("storage")],
    }


def _condition(type_: str, reason: str, message: str, now: datetime) -> dict[str, Any]:
    return {
        "type": type_,
        "status": "True",
        "lastTransitionTime": stamp(now),
        "reason": reason,
        "message": message,
    }
