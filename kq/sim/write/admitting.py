"""What everybody with a say makes of an object between its writer and the storage."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from typing import Any

from kq.core.kinds import Object
from kq.sim.api.admission import Gate, Operation, Review
from kq.sim.api.call import Call, Verb
from kq.sim.api.kinds import Kind
from kq.sim.api.patching import track
from kq.sim.api.schema import ObjectRules
from kq.sim.api.status import Cause, invalid
from kq.sim.api.storage import Storage, Stored
from kq.sim.write import checks, merges, meta
from kq.sim.write.remarks import remarks
from kq.sim.write.rulebook import Rulebook
from kq.sim.write.uids import uid

NAME_TRIES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitting:
    """Takes objects through plugins, webhooks and the server's own rules."""

    storage: Storage
    gate: Gate
    rulebook: Rulebook
    clock: Callable[[], datetime]
    random: Random
    tracks_managers: bool
    """Whether new objects note who manages which of their fields."""

    async def new(self, call: Call, obj: dict[str, Any], said: list[str]) -> dict[str, Any]:
        """A new object as plugins, webhooks and the server's own rules leave it."""
        kind, rules = call.kind, self.rulebook.rules(call.kind)
        meta.strip(obj, call.namespace)
        if self.tracks_managers and call.verb is not Verb.PATCH:
            track(kind, None, obj, manager=call.manager, now=self.clock())
        review = _review(Operation.CREATE, call, obj, None)
        said += await self.gate.mutate(review)
        obj = review.obj or {}
        meta.begin(obj, uid=uid(self.random), now=self.clock())
        self._name(kind, obj)
        merges.reset_status(kind, obj)
        rules.prepare(obj, None)
        meta.count_generation(kind, obj, None)
        name = obj["metadata"].get("name", "")
        if faults := [*checks.create_faults(kind, obj), *rules.faults(obj)]:
            raise invalid(kind, name, faults)
        said += remarks(kind, obj, None)
        said += await self.gate.validate(replace(review, obj=obj, name=name))
        return obj

    async def changed(
        self,
        call: Call,
        stored: Stored,
        versions: tuple[dict[str, Any], dict[str, Any]],
        said: list[str],
    ) -> dict[str, Any]:
        """A changed object as plugins, webhooks and the server's own rules leave it."""
        kind, rules, (sent, old) = call.kind, self.rulebook.rules(call.kind), versions
        given = sent["metadata"].get("resourceVersion", "")
        # Read once more: what is merged may be changed in place, and old is compared with.
        obj = merges.merged(call, sent, self.rulebook.read(kind, stored))
        review = _review(Operation.UPDATE, call, obj, old)
        said += await self.gate.mutate(review)
        obj = review.obj or {}
        meta.carry(kind, obj, old)
        merges.check_version(call, given, stored)
        obj["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        rules.prepare(obj, old)
        meta.count_generation(kind, obj, old)
        if faults := [*checks.update_faults(obj, old), *_faults(call, rules, obj, old)]:
            raise invalid(kind, call.name, faults)
        said += remarks(kind, obj, old)
        said += await self.gate.validate(replace(review, obj=obj))
        return obj

    def _name(self, kind: Kind, obj: dict[str, Any]) -> None:
        """Generates the name that is left to the server."""
        metadata = obj["metadata"]
        if metadata.get("name") or not metadata.get("generateName"):
            return
        for _ in range(NAME_TRIES):
            letters = self.random.choices(meta.SUFFIX_LETTERS, k=5)
            metadata["name"] = meta.generated_name(metadata["generateName"], letters)
            if not self.storage.get(kind, metadata.get("namespace", ""), metadata["name"]):
                return


def _review(operation: Operation, call: Call, obj: dict[str, Any], old: Object | None) -> Review:
    called = {Verb.CREATE: "CreateOptions", Verb.UPDATE: "UpdateOptions"}
    options: dict[str, Any] = {
        "kind": called.get(call.verb, "PatchOptions"),
        "apiVersion": "meta.k8s.io/v1",
    }
    if manager := call.query.get("fieldManager"):
        options["fieldManager"] = manager
    if call.is_dry_run:
        options["dryRun"] = ["All"]
    return Review(
        operation=operation,
        call=call,
        name=obj["metadata"].get("name", ""),
        obj=obj,
        old=old,
        options=options,
        dry_run=call.is_dry_run,
    )


def _faults(call: Call, rules: ObjectRules, obj: dict[str, Any], old: Object) -> list[Cause]:
    """What is wrong with a changed object, of what the write could change."""
    faults = rules.faults(obj)
    if call.subresource != "status" or call.kind.custom:
        return [*faults, *rules.changes(obj, old)]
    return [each for each in faults if each.field.startswith("status")]
