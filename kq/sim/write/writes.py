"""Creates, replacements and patches: from what a client sent to what is kept."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kq.core.kinds import Object
from kq.sim.api.call import Answer, Call, Verb, answer_of
from kq.sim.api.kinds import Kind
from kq.sim.api.patching import patch, track
from kq.sim.api.status import (
    ApiStatus,
    already_exists,
    conflict,
    not_found,
    telling,
)
from kq.sim.api.storage import Storage, Stored
from kq.sim.request import bodies
from kq.sim.request.bodies import Sent
from kq.sim.request.options import APPLY, check_write_options
from kq.sim.write import merges, meta
from kq.sim.write.admitting import Admitting
from kq.sim.write.rulebook import Rulebook

TRIES = 100
"""How often a write is done anew because the object changed while webhooks looked at it."""

Make = Callable[[dict[str, Any] | None], Sent]
"""The object's next version from its present one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Carries out writes, one after the other."""

    storage: Storage
    rulebook: Rulebook
    admitting: Admitting
    clock: Callable[[], datetime]

    async def create(self, call: Call) -> Answer:
        """Keeps a new object."""
        check_write_options(call)
        sent = self._sent(call, bodies.read_body(call))
        with telling(sent.warnings):
            bodies.check_namespace(call, sent.obj)
        return await self._create(call, sent)

    async def update(self, call: Call) -> Answer:
        """Keeps what was sent in place of what is there."""
        check_write_options(call)
        sent = self._sent(call, bodies.read_body(call))
        with telling(sent.warnings):
            bodies.check_namespace(call, sent.obj)
            bodies.check_name(call, sent.obj)
        namespace = {"namespace": call.namespace} if call.namespace else {}

        def make(old: dict[str, Any] | None) -> Sent:
            merges.check_uid(call, sent.obj, old)
            made = {**sent.obj, "metadata": {**sent.obj["metadata"], **namespace}}
            if old is not None:
                self._track(call, old, made)
            return Sent(made, [])

        with telling(sent.warnings):
            answer = await self._write(call, make, creates=call.kind.create_on_update)
        return replace(answer, warnings=(*sent.warnings, *answer.warnings))

    async def patch(self, call: Call) -> Answer:
        """Keeps the present object as a patch changes it."""
        bodies.check_patch_type(call)
        check_write_options(call)

        def make(old: dict[str, Any] | None) -> Sent:
            patched = patch(
                call.content_type,
                old or {},
                call.body or b"",
                kind=call.kind,
                rules=self.rulebook.rules(call.kind),
                manager=call.manager,
                force=call.query.get("force") == "true",
                now=self.clock(),
                subresource=call.subresource,
                strict=call.query.get("fieldValidation") == "Strict",
            )
            bodies.check_kind(call, patched.object)
            sent = bodies.sent(call, patched)
            with telling(sent.warnings):
                bodies.check_namespace(call, sent.obj)
                bodies.check_name(call, sent.obj)
            return sent

        return await self._write(call, make, creates=call.content_type.startswith(APPLY))

    def change(self, call: Call, make: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Keeps an object as the server itself changes it: nobody is asked, nothing is checked."""
        stored = self.storage.get(call.kind, call.namespace, call.name)
        if stored is None:
            raise not_found(call.kind, call.name)
        self.storage.put(call.kind, make(self.rulebook.read(call.kind, stored)))

    def _sent(self, call: Call, obj: dict[str, Any]) -> Sent:
        return bodies.completed(call, self.rulebook.rules(call.kind), obj)

    async def _write(self, call: Call, make: Make, *, creates: bool) -> Answer:
        for _ in range(TRIES):
            stored = self.storage.get(call.kind, call.namespace, call.name)
            if stored is None and (not creates or call.subresource):
                raise not_found(call.kind, call.name)
            if stored is None:
                return await self._create(call, make(None))
            answer = await self._change(call, stored, make)
            if answer is not None:
                return answer
        raise conflict(call.kind, call.name)

    async def _create(self, call: Call, sent: Sent) -> Answer:
        said = [*sent.warnings]
        with telling(said):
            obj = await self.admitting.new(call, sent.obj, said)
            version = obj["metadata"].pop("resourceVersion", None)
            if version and call.verb is Verb.CREATE and not call.is_dry_run:
                why = "resourceVersion should not be set on objects to be created"
                raise ApiStatus(500, "", why)
            self._check_absence(call.kind, obj)
        if call.is_dry_run:
            return answer_of(obj, code=201, warnings=tuple(said))
        return _answer(self.storage.put(call.kind, obj), code=201, warnings=tuple(said))

    def _check_absence(self, kind: Kind, obj: dict[str, Any]) -> None:
        """Refuses a new object whose name is taken."""
        metadata = obj["metadata"]
        there = self.storage.get(kind, metadata.get("namespace", ""), metadata["name"])
        if there is not None:
            generated = bool(metadata.get("generateName"))
            ending = "deletionTimestamp" in there.read()["metadata"]
            raise already_exists(kind, metadata["name"], generated=generated, is_ending=ending)

    async def _change(self, call: Call, stored: Stored, make: Make) -> Answer | None:
        """The answer to one try; None if the object changed meanwhile."""
        kind = call.kind
        old = self.rulebook.read(kind, stored)
        sent = make(self.rulebook.read(kind, stored))
        said = [*sent.warnings]
        with telling(said):
            obj = await self.admitting.changed(call, stored, (sent.obj, old), said)
        if self.storage.get(kind, call.namespace, call.name) is not stored:
            return None
        if call.is_dry_run or meta.same(kind, obj, old):
            return answer_of(obj, warnings=tuple(said))
        if meta.is_to_go(obj, old) and not (obj.get("spec") or {}).get("finalizers"):
            answer = answer_of(obj, warnings=tuple(said))
            self.storage.remove(kind, obj)
            return answer
        return _answer(self.storage.put(kind, obj), warnings=tuple(said))

    def _track(self, call: Call, old: Object, new: dict[str, Any]) -> None:
        track(
            call.kind,
            old,
            new,
            manager=call.manager,
            now=self.clock(),
            subresource=call.subresource,
        )


def _answer(stored: Stored, *, code: int = 200, warnings: tuple[str, ...] = ()) -> Answer:
    headers = {"Content-Type": "application/json"}
    return Answer(code=code, body=stored.raw, headers=headers, warnings=warnings)
