"""Webhooks asked: in order, with their time-outs, and what their failures mean."""

import asyncio
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Protocol

import msgspec

from kq.errors import DecodeError, KqError
from kq.sim.admit.hooks import Hook, hooks_of
from kq.sim.admit.reviews import InvalidAnswer, NoReview, Verdict, denied, question, verdict
from kq.sim.api.admission import Operation, Review
from kq.sim.api.kinds import Kind, Registry
from kq.sim.api.status import bad_request, internal, telling
from kq.sim.api.storage import Storage
from kq.sim.patch.operations import DoesNotApply, apply_operations
from kq.sim.write.rulebook import Rulebook
from kq.sim.write.uids import uid

_GROUP = "admissionregistration.k8s.io"
_PLURALS = {True: "mutatingwebhookconfigurations", False: "validatingwebhookconfigurations"}


class CallFailed(KqError):
    """A webhook was not reached, or did not answer with 200; the text says why."""


def refused_with(code: int) -> str:
    """What an answer without success is called."""
    match code:
        case 404:
            return "the server could not find the requested resource"
        case _ if code >= 500:
            return 'an error on the server ("unknown") has prevented the request from succeeding'
        case _:
            return f"the server responded with the status code {code}"


class Caller(Protocol):
    """The way to webhooks."""

    async def call(self, hook: Hook, body: bytes) -> bytes:
        """The body of the answer to a review; CallFailed if there is none."""


class Nowhere:
    """The way to webhooks where none can be reached."""

    async def call(self, hook: Hook, body: bytes) -> bytes:
        """Fails as a connection to a closed port does."""
        raise CallFailed("connect: connection refused")


class _Failed(KqError):
    """A call that failed, as the failure policy of its webhook takes it."""


class Webhooks:
    """Asks the webhooks that the stored configurations name."""

    def __init__(
        self,
        *,
        storage: Storage,
        registry: Registry,
        rulebook: Rulebook,
        caller: Caller,
        random: Random,
    ) -> None:
        self._storage = storage
        self._registry = registry
        self._rulebook = rulebook
        self._caller = caller
        self._random = random
        self._hooks: dict[bool, list[Hook]] = {}
        for plural in _PLURALS.values():
            storage.subscribe(f"{plural}.{_GROUP}", self._hooks.clear)

    async def mutate(self, review: Review, round_: "Round") -> list[str]:
        """Lets webhooks change `review.obj`, one after the other; gives their warnings."""
        said: list[str] = []
        with telling(said):
            for hook in self._named(mutating=True):
                kind = self._asked(hook, review)
                if kind is None or not round_.takes(hook):
                    continue
                changed = await self._mutated(hook, kind, review, said)
                round_.asked(hook, changed=changed)
        return said

    async def validate(self, review: Review) -> list[str]:
        """Asks all webhooks at once; the first that denies speaks for all."""
        asked = [
            (hook, kind)
            for hook in self._named(mutating=False)
            if (kind := self._asked(hook, review)) is not None
        ]
        if not asked:
            return []
        said: list[str] = []
        done = await asyncio.gather(
            *(self._validated(hook, kind, review, said) for hook, kind in asked),
            return_exceptions=True,
        )
        with telling(said):
            for refused in filter(None, done):
                raise refused
        return said

    async def _mutated(self, hook: Hook, kind: Kind, review: Review, said: list[str]) -> bool:
        """Whether the webhook changed the object."""
        try:
            answer = await self._verdict(hook, kind, review, mutating=True)
            said += answer.warnings
            if not answer.allowed:
                raise denied(hook, answer.result)
            operations = _operations(answer.patch)
        except _Failed as err:
            _fail(hook, err)
            return False
        return bool(operations) and self._patched(hook, kind, review, operations)

    async def _validated(self, hook: Hook, kind: Kind, review: Review, said: list[str]) -> None:
        try:
            answer = await self._verdict(hook, kind, review, mutating=False)
        except _Failed as err:
            _fail(hook, err)
            return
        said += answer.warnings
        if not answer.allowed:
            raise denied(hook, answer.result)

    async def _verdict(self, hook: Hook, kind: Kind, review: Review, *, mutating: bool) -> Verdict:
        if review.dry_run and hook.has_side_effects:
            raise bad_request(f'admission webhook "{hook.name}" does not support dry run')
        if "v1" not in hook.versions:
            raise _Failed(
                "could not create admission objects: webhook does not accept known AdmissionReview"
                " versions (v1, v1beta1)"
            )
        id_ = uid(self._random)
        try:
            async with asyncio.timeout(hook.timeout):
                body = await self._caller.call(hook, question(review, kind, id_))
        except TimeoutError:
            why = f'Post "{hook.url()}": context deadline exceeded'
            raise _Failed(f"failed to call webhook: {why}") from None
        except CallFailed as err:
            raise _Failed(f"failed to call webhook: {err}") from err
        try:
            return verdict(body, id_, mutating=mutating)
        except NoReview as err:
            raise _Failed(f"failed to call webhook: {err}") from err
        except InvalidAnswer as err:
            raise _Failed(f"received invalid webhook response: {err}") from err

    def _patched(
        self, hook: Hook, kind: Kind, review: Review, operations: Sequence[Mapping[str, Any]]
    ) -> bool:
        """Applies a patch to the object; what does not apply is the server's own failure."""
        if review.obj is None:
            raise internal(
                f'admission webhook "{hook.name}" attempted to modify the object, which is not'
                " supported for this operation"
            )
        before = review.obj
        asked = {**before, "apiVersion": kind.api_version}
        try:
            patched = apply_operations(asked, list(operations))
            read = self._rulebook.completed(kind, patched)
        except (DoesNotApply, DecodeError) as err:
            raise internal(str(err)) from err
        review.obj = {**read, "apiVersion": review.call.kind.api_version}
        return review.obj != before

    def _named(self, *, mutating: bool) -> list[Hook]:
        hooks = self._hooks.get(mutating)
        if hooks is None:
            kind = self._registry.find(_GROUP, "v1", _PLURALS[mutating])
            stored = self._storage.list(kind) if kind else []
            hooks = self._hooks[mutating] = hooks_of(each.read() for each in stored)
        return hooks

    def _asked(self, hook: Hook, review: Review) -> Kind | None:
        """The version in which a webhook is asked about a write, if it is."""
        kind = hook.kind_asked(review, self._registry.versions(review.call.kind.key))
        if kind is None or not hook.selects(review, self._namespace_labels(review)):
            return None
        return kind

    def _namespace_labels(self, review: Review) -> Mapping[str, str] | None:
        """The labels that namespace selectors look at; None for what is in no namespace."""
        call = review.call
        is_namespace = call.kind.kind_key == "Namespace"
        if is_namespace and review.operation is not Operation.DELETE and review.obj is not None:
            labels: Mapping[str, str] = review.obj["metadata"].get("labels") or {}
            return labels
        namespace = review.name if is_namespace else call.namespace
        if not namespace:
            return None
        kind = self._registry.find("", "v1", "namespaces")
        stored = self._storage.get(kind, "", namespace) if kind else None
        return stored.labels if stored else {}


class Round:
    """Which webhooks are asked: all in the first round, in the second those asked too early."""

    def __init__(self) -> None:
        self.changed = False
        self._again: set[str] | None = None
        self._early: set[str] = set()
        self._due: set[str] = set()

    def takes(self, hook: Hook) -> bool:
        """Whether a webhook is asked in this round."""
        return self._again is None or hook.id in self._again

    def asked(self, hook: Hook, *, changed: bool) -> None:
        """Notes that a webhook was asked, and whether it changed the object."""
        if changed:
            self.changed = True
            self.object_changed()
        if hook.reinvoked:
            self._early.add(hook.id)

    def object_changed(self) -> None:
        """All who were asked before this have to see the object again."""
        self._due |= self._early
        self._early = set()

    def second(self) -> None:
        """Begins the second round, which is the last."""
        self._again = self._due


def _operations(patch: bytes) -> list[dict[str, Any]]:
    if not patch:
        return []
    try:
        return msgspec.json.decode(patch, type=list[dict[str, Any]])
    except msgspec.DecodeError as err:
        raise _Failed(f"received undecodable patch in webhook response: {err}") from err


def _fail(hook: Hook, err: _Failed) -> None:
    """Refuses the write, unless the webhook's failures are to be ignored."""
    if hook.fails_closed:
        raise internal(f'failed calling webhook "{hook.name}": {err}') from err
