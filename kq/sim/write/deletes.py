"""Deletions: marked first where something still has to happen, carried out where not."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kq.sim.api.admission import Gate, Operation, Review
from kq.sim.api.call import Answer, Call, answer_of
from kq.sim.api.kinds import Kind
from kq.sim.api.status import conflict, not_found
from kq.sim.api.storage import Storage, Stored
from kq.sim.request.options import DeleteOptions
from kq.sim.write import meta
from kq.sim.write.rulebook import Rulebook

TRIES = 100
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleter:
    """Carries out deletions."""

    storage: Storage
    gate: Gate
    rulebook: Rulebook
    clock: Callable[[], datetime]

    async def delete(self, call: Call, options: DeleteOptions) -> Answer:
        """Deletes one object, or marks it as one to go."""
        warnings: list[str] = []
        for _ in range(TRIES):
            stored = self.storage.get(call.kind, call.namespace, call.name)
            if stored is None:
                raise not_found(call.kind, call.name)
            obj = self.rulebook.read(call.kind, stored)
            _check_preconditions(call, stored, options)
            warnings = await self.gate.validate(_review(call, obj, options))
            if self.storage.get(call.kind, call.namespace, call.name) is stored:
                return self._carry_out(call, obj, options, tuple(warnings))
        raise conflict(call.kind, call.name)

    def _carry_out(
        self, call: Call, obj: dict[str, Any], options: DeleteOptions, warnings: tuple[str, ...]
    ) -> Answer:
        marked = self._marked(call.kind, obj, options)
        if marked is not None:
            if marked != obj and not options.dry_run:
                marked = self.storage.put(call.kind, marked).read()
            code = 202 if options.orphan is False else 200
            return answer_of(marked, code=code, warnings=warnings)
        if not options.dry_run and call.kind.kind_key == "Pod":
            # A pod is marked first, even if it goes at once: watchers see both.
            meta.mark_deleted(obj, self.clock(), 0)
            obj = self.storage.put(call.kind, obj).read()
        if not options.dry_run:
            obj = self.storage.remove(call.kind, obj).read()
        if call.kind.returns_deleted:
            return answer_of(obj, warnings=warnings)
        return answer_of(_success(call, obj), warnings=warnings)

    def _marked(
        self, kind: Kind, obj: dict[str, Any], options: DeleteOptions
    ) -> dict[str, Any] | None:
        """The object as it stays for now; None if it goes at once."""
        if kind.kind_key == "Namespace":
            return self._marked_namespace(obj)
        grace = _grace(kind, obj, options)
        left = obj["metadata"].get("deletionGracePeriodSeconds")
        if (left and options.grace is None) or (left is not None and 0 < left <= grace):
            return obj
        finalizers = meta.deletion_finalizers(obj, options, orphans=kind.orphans)
        if not finalizers and not grace:
            return None
        marked = {**obj, "metadata": {**obj["metadata"], "finalizers": finalizers}}
        if not finalizers:
            del marked["metadata"]["finalizers"]
        meta.mark_deleted(marked, self.clock(), grace)
        return marked

    def _marked_namespace(self, obj: dict[str, Any]) -> dict[str, Any] | None:
        """A namespace stays until its own finalizers are gone, and says so in its phase."""
        if "deletionTimestamp" in obj["metadata"]:
            held = obj.get("spec", {}).get("finalizers") or obj["metadata"].get("finalizers")
            return obj if held else None
        stamp = meta.stamp(self.clock())
        return {
            **obj,
            "metadata": {**obj["metadata"], "deletionTimestamp": stamp},
            "status": {**obj.get("status", {}), "phase": "Terminating"},
        }


def _success(call: Call, obj: dict[str, Any]) -> dict[str, Any]:
    """The Status of a deletion that took effect at once."""
    about = {"name": call.name, "group": call.kind.group, "kind": call.kind.plural}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in about.items() if value}
        | {"uid": obj["metadata"]["uid"]},
    }


def _grace(kind: Kind, obj: dict[str, Any], options: DeleteOptions) -> int:
    """The seconds that an object has to end; only pods have any."""
    if kind.kind_key != "Pod":
        return 0
    spec = obj.get("spec", {})
    if not spec.get("nodeName") or obj.get("status", {}).get("phase") in _ENDED:
        return 0
    own = spec.get("terminationGracePeriodSeconds")
    return int((own or 0) if options.grace is None else options.grace)


def _review(call: Call, obj: dict[str, Any], options: DeleteOptions) -> Review:
    return Review(
        operation=Operation.DELETE,
        call=call,
        name=call.name,
        obj=None,
        old=obj,
        options=options.to_object(),
        dry_run=options.dry_run,
    )


def _check_preconditions(call: Call, stored: Stored, options: DeleteOptions) -> None:
    if call.kind.kind_key == "Namespace":
        _check_namespace(call, stored, options)
    if options.uid is not None and options.uid != stored.uid:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record"
            f" ({stored.uid}). The object might have been deleted and then recreated"
        )
        raise conflict(call.kind, call.name, why, called=call.kind.kind)
    if options.version is not None and options.version != str(stored.version):
        why = (
            f"the ResourceVersion in the precondition ({options.version}) does not match the"
            f" ResourceVersion in record ({stored.version}). The object might have been modified"
        )
        raise conflict(call.kind, call.name, why, called=call.kind.kind)


def _check_namespace(call: Call, stored: Stored, options: DeleteOptions) -> None:
    """The same as for other kinds, in the words that the server has for namespaces."""
    for field, wanted, found in (
        ("UID", options.uid, stored.uid),
        ("ResourceVersion", options.version, str(stored.version)),
    ):
        if wanted is not None and wanted != found:
            why = (
                f"Precondition failed: {field} in precondition: {wanted}, {field} in object meta:"
                f" {found}"
            )
            raise conflict(call.kind, call.name, why)
