"""What objects of a kind must look like, and how the server completes them: for any kind.

The order in which a server uses the rules: `decode` what came in and `fill` it; after admission
`prepare` what is to be stored; then `faults`, and on updates `changes`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from kq.core.kinds import Object
from kq.errors import DecodeError
from kq.sim.api.kinds import Kind
from kq.sim.api.status import Cause
from kq.sim.builtin import defaults, rules
from kq.sim.schemas import structural, validate
from kq.sim.schemas.decode import Decoded, decode
from kq.sim.schemas.definitions import definition_of, object_meta
from kq.sim.schemas.scale import count_faults


class ObjectRules(Protocol):
    """The server's rules for the objects of one kind."""

    def decode(self, obj: Object) -> Decoded:
        """A pruned copy and the paths of what was cut; DecodeError if it cannot be read at all."""

    def fill(self, obj: dict[str, Any]) -> None:
        """Fills all defaults into an object that was decoded."""

    def prepare(self, obj: dict[str, Any], old: Object | None) -> None:
        """Sets in place what the server itself decides, once uid and name are known."""

    def faults(self, obj: Object) -> list[Cause]:
        """What is wrong with the object."""

    def changes(self, obj: Object, old: Object) -> list[Cause]:
        """What may not change as it does."""


class Schema:
    """The rules of a custom kind: all from the structural schema of its CRD."""

    def __init__(self, openapi: Object, counts: Sequence[str] = ()) -> None:
        """`counts` are where its scale subresource finds replicas."""
        self.openapi = openapi
        self._counts = counts
        self._has_rules = validate.has_rules(openapi)

    def decode(self, obj: Object) -> Decoded:
        """A pruned copy and the paths of what was cut; only metadata has to be well-formed."""
        pruned, unknown = structural.prune(self.openapi, obj)
        if obj.get("metadata") is not None:
            meta = _metadata(obj["metadata"])
            pruned["metadata"] = meta.object
            unknown += [f"metadata.{path}" for path in meta.unknown]
        return Decoded(pruned, sorted(unknown))

    def fill(self, obj: dict[str, Any]) -> None:
        """Fills all defaults into an object that was decoded."""
        structural.fill(self.openapi, obj)

    def prepare(self, obj: dict[str, Any], old: Object | None) -> None:
        """Nothing is decided by the server alone."""

    def faults(self, obj: Object) -> list[Cause]:
        """What is wrong with the object by its schema; its CEL rules are not evaluated."""
        found = validate.faults(self.openapi, obj)
        found += count_faults(self._counts, obj)
        return [*found, *validate.unchecked(found)] if self._has_rules else found

    def changes(self, obj: Object, old: Object) -> list[Cause]:
        """Anything may change."""
        return []


class Builtin:
    """The rules of a built-in kind: its published type, and the rules of its own module."""

    def __init__(self, definition: Mapping[str, Any], own: rules.KindRules) -> None:
        self._definition = definition
        self._own = own

    def decode(self, obj: Object) -> Decoded:
        """A pruned copy and the paths of what was cut; DecodeError in the words of Go's decoder."""
        return decode(self._definition, obj)

    def fill(self, obj: dict[str, Any]) -> None:
        """Fills all defaults into an object that was decoded."""
        defaults.fill(self._definition, obj)

    def prepare(self, obj: dict[str, Any], old: Object | None) -> None:
        """Sets in place what the server itself decides, such as the selector of a Job."""
        self._own.prepare(obj, old)

    def faults(self, obj: Object) -> list[Cause]:
        """What is wrong with the object."""
        return self._own.faults(obj)

    def changes(self, obj: Object, old: Object) -> list[Cause]:
        """What may not change as it does."""
        return self._own.changes(obj, old)


def builtin(kind: Kind) -> Builtin | None:
    """The rules of a built-in kind."""
    definition = None if kind.custom else definition_of(kind.api_version, kind.kind)
    return None if definition is None else Builtin(definition, rules.rules_of(kind.kind_key))


def rules_for(kind: Kind) -> ObjectRules:
    """The rules of any kind; a custom one without a schema takes everything."""
    found = builtin(kind)
    if found is not None:
        return found
    anything = {structural.PRESERVE: True, "type": "object"}
    return Schema(kind.openapi or anything, kind.counts)


def _metadata(value: Any) -> Decoded:
    if not isinstance(value, Mapping):
        called = {list: "array", str: "string", bool: "bool"}.get(type(value), "number")
        raise DecodeError(f"json: cannot unmarshal {called} into Go value of type v1.ObjectMeta")
    return decode(object_meta(), value)


def completed(rules: ObjectRules, obj: Object) -> dict[str, Any]:
    """A pruned copy with all defaults filled in."""
    decoded = rules.decode(obj).object
    rules.fill(decoded)
    return decoded
