"""The rules of each kind that is served, made once, and objects read in the version asked for."""

from collections.abc import Callable
from typing import Any

import msgspec

from kq.core.kinds import Object
from kq.sim.api.kinds import Kind
from kq.sim.api.schema import ObjectRules, completed
from kq.sim.api.storage import Stored


class Rulebook:
    """Rules by kind; a kind that a CRD defines anew gets new ones."""

    def __init__(self, make: Callable[[Kind], ObjectRules]) -> None:
        self._make = make
        self._known: dict[tuple[str, str], tuple[Kind, ObjectRules]] = {}

    def rules(self, kind: Kind) -> ObjectRules:
        """The rules for objects of a kind."""
        at = kind.key, kind.version
        known = self._known.get(at)
        if known is None or known[0] is not kind:
            known = self._known[at] = kind, self._make(kind)
        return known[1]

    def completed(self, kind: Kind, obj: Object) -> dict[str, Any]:
        """A copy of the object without what its kind does not know, and with all defaults."""
        return completed(self.rules(kind), obj)

    def read(self, kind: Kind, stored: Stored) -> dict[str, Any]:
        """The object in that version of its kind, for the caller to change."""
        obj = stored.read()
        obj["apiVersion"] = kind.api_version
        return obj

    def show(self, kind: Kind, stored: Stored) -> bytes:
        """The object's JSON in that version of its kind."""
        if stored.api_version == kind.api_version:
            return stored.raw
        return msgspec.json.encode(self.read(kind, stored))
