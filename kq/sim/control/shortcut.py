"""Writes that an API server would let through as they are, done in its storage at once.

Statuses of built-in kinds, and pods that are let go of: most of what controllers write. The rules
of the server change nothing about them, and no webhook of kq looks at them.
"""

from collections.abc import Mapping
from typing import Any

from kq.sim.api.kinds import Kind
from kq.sim.api.status import conflict, not_found
from kq.sim.api.storage import Storage
from kq.sim.control.following import Following
from kq.sim.control.objects import finalizers_of, place_of, uid_of
from kq.sim.control.view import Seen
from kq.sim.control.writes import Outcome, Patch, PatchForm, Replace, Write
from kq.sim.write.meta import is_to_go

STATUS = "status"
_LET_GO = "$deleteFromPrimitiveList/finalizers"


class Shortcut:
    """A way past the rules of a server into its storage."""

    def __init__(self, storage: Storage, following: Following) -> None:
        self._storage = storage
        self._following = following

    def take(self, write: Write, kind: Kind) -> Outcome | None:
        """What came of a write; None if it has to go the long way."""
        if kind.custom:
            return None
        match write:
            case Replace(subresource="status"):
                return self._replace(write, kind)
            case Patch(subresource="status", form=PatchForm.MERGE):
                return self._patch(write, kind)
            case Patch(subresource="", form=PatchForm.STRATEGIC):
                return self._let_go(write, kind)
            case _:
                return None

    def _replace(self, write: Replace, kind: Kind) -> Outcome:
        namespace, name = place_of(write.body)
        old = self._following.newest(kind.key, (namespace, name))
        if old is None:
            return not_found(kind, name)
        version = write.body["metadata"].get("resourceVersion")
        if version != old["metadata"]["resourceVersion"] or uid_of(write.body) != uid_of(old):
            return conflict(kind, name)
        return self._keep(kind, old, {**old, STATUS: write.body[STATUS]})

    def _patch(self, write: Patch, kind: Kind) -> Outcome | None:
        patch: Mapping[str, Any] = write.body[STATUS]
        if any(value is None or isinstance(value, Mapping) for value in patch.values()):
            return None
        old = self._following.newest(kind.key, (write.namespace, write.name))
        if old is None:
            return not_found(kind, write.name)
        return self._keep(kind, old, {**old, STATUS: {**old.get(STATUS, {}), **patch}})

    def _let_go(self, write: Patch, kind: Kind) -> Outcome | None:
        if list(write.body) != ["metadata"] or list(write.body["metadata"]) != [_LET_GO]:
            return None
        old = self._following.newest(kind.key, (write.namespace, write.name))
        if old is None:
            return not_found(kind, write.name)
        dropped = write.body["metadata"][_LET_GO]
        kept = [each for each in finalizers_of(old) if each not in dropped]
        meta = {**old["metadata"], "finalizers": kept}
        if not kept:
            del meta["finalizers"]
        return self._keep(kind, old, {**old, "metadata": meta})

    def _keep(self, kind: Kind, old: Seen, new: dict[str, Any]) -> Outcome:
        if new == old:
            return new
        new["metadata"] = dict(new["metadata"])
        if is_to_go(new, old) and not new["spec"].get("finalizers"):
            self._storage.remove(kind, new)
            return new
        with self._following.handing(new):
            self._storage.put(kind, new)
        return new
