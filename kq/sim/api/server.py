"""The API server: requests in, answers out, all state in memory."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from email.utils import format_datetime
from random import Random

import msgspec

from kq.sim.admit.chain import Chain
from kq.sim.admit.plugins import own_plugins
from kq.sim.admit.webhooks import Caller, Nowhere, Webhooks
from kq.sim.api import builtin, discovery
from kq.sim.api.admission import Plugin
from kq.sim.api.call import JSON, Answer, Call, Request, Verb, answer_of
from kq.sim.api.kinds import Kind, Registry
from kq.sim.api.schema import rules_for
from kq.sim.api.status import ApiStatus, not_found, timed_out, too_large_version
from kq.sim.api.storage import HISTORY, Storage, Stored
from kq.sim.api.table import shaped
from kq.sim.read import lists, watching
from kq.sim.read.watching import Pace
from kq.sim.request.options import delete_options, list_options, read_version
from kq.sim.request.paths import Unserved, resolve
from kq.sim.write.acts import act
from kq.sim.write.admitting import Admitting
from kq.sim.write.deletes import Deleter
from kq.sim.write.questions import answered
from kq.sim.write.rulebook import Rulebook
from kq.sim.write.writes import Writer

WRITE_SECONDS = 34.0
"""How long a create, update or patch may take, webhooks included."""
NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


class ApiServer:
    """One API server; everything that it answers is in `storage` and `registry`.

    `tracks_managers` has new objects note who manages which of their fields, as a real server's
    do. Only server-side apply asks for that, and without it writes are several times faster.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], datetime],
        random: Random,
        plugins: Sequence[Plugin] = (),
        caller: Caller | None = None,
        tracks_managers: bool = True,
        history: int = HISTORY,
        pace: Pace | None = None,
    ) -> None:
        self.clock = clock
        self.storage = Storage(history=history)
        self.registry: Registry = builtin.registry()
        self.rulebook = Rulebook(rules_for)
        self._pace = pace or Pace()
        webhooks = Webhooks(
            storage=self.storage,
            registry=self.registry,
            rulebook=self.rulebook,
            caller=caller or Nowhere(),
            random=random,
        )
        gate = Chain(
            plugins=own_plugins(self.storage, self.registry, clock, plugins), webhooks=webhooks
        )
        self._writer = Writer(
            storage=self.storage,
            rulebook=self.rulebook,
            admitting=Admitting(
                storage=self.storage,
                gate=gate,
                rulebook=self.rulebook,
                clock=clock,
                random=random,
                tracks_managers=tracks_managers,
            ),
            clock=clock,
        )
        self._deleter = Deleter(
            storage=self.storage, gate=gate, rulebook=self.rulebook, clock=clock
        )

    async def start(self, namespaces: Iterable[str] = NAMESPACES) -> None:
        """Makes the namespaces that every cluster has."""
        for name in namespaces:
            body = msgspec.json.encode({"metadata": {"name": name}})
            await self.serve(Request(method="POST", path="/api/v1/namespaces", body=body))

    async def serve(self, request: Request) -> Answer:
        """The answer to a request, whatever it asks for."""
        try:
            call = resolve(self.registry, request)
        except Unserved:
            return self._about_itself(request)
        except ApiStatus as refusal:
            return _refused(refusal)
        return await self.handle(call)

    async def handle(self, call: Call) -> Answer:
        """The answer to a call, in the form that its client takes; a refusal is an answer too."""
        try:
            answer = await self._handle(call)
            return answer if call.accept == JSON else shaped(answer, call, self.clock)
        except ApiStatus as refusal:
            return _refused(refusal)

    def date(self) -> str:
        """The `Date` header of an answer of now."""
        return format_datetime(self.clock(), usegmt=True)

    async def _handle(self, call: Call) -> Answer:
        match call.verb:
            case Verb.GET:
                return self._get(call)
            case Verb.LIST:
                return self._list(call)
            case Verb.WATCH:
                return self._watch(call)
            case Verb.DELETE:
                return await self._deleter.delete(call, delete_options(call))
            case Verb.DELETE_COLLECTION:
                return await self._delete_collection(call)
            case _:
                return await self._write_in_time(call)

    async def _write_in_time(self, call: Call) -> Answer:
        """The answer to a write, which takes no longer than the server gives it."""
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                return await self._write(call)
        except TimeoutError:
            raise timed_out() from None

    async def _write(self, call: Call) -> Answer:
        match call.verb:
            case Verb.CREATE if call.kind.is_question:
                return answered(call, self.rulebook)
            case Verb.CREATE if call.subresource:
                return await act(call, writer=self._writer, deleter=self._deleter)
            case Verb.CREATE:
                return await self._writer.create(call)
            case Verb.UPDATE:
                return await self._writer.update(call)
            case _:
                return await self._writer.patch(call)

    def _about_itself(self, request: Request) -> Answer:
        """What the server says of its version, its health, and what it serves."""
        if request.method == "GET":
            said = discovery.answer(request.path, request.accept, self.registry)
            if said is not None:
                return said
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        return Answer(code=404, body=b"404 page not found\n", headers=headers)

    def _get(self, call: Call) -> Answer:
        version = read_version(call.query.get("resourceVersion", ""))
        if version > self.storage.version:
            raise too_large_version(version, self.storage.version)
        stored = self.storage.get(call.kind, call.namespace, call.name)
        if stored is None:
            raise not_found(call.kind, call.name)
        return _raw(self.rulebook.show(call.kind, stored))

    def _list(self, call: Call) -> Answer:
        found = lists.page(self.storage, call, list_options(call))
        return _raw(self._list_body(call.kind, found))

    def _watch(self, call: Call) -> Answer:
        def show(stored: Stored) -> bytes:
            return self.rulebook.show(call.kind, stored)

        lines = watching.open_watch(
            self.storage, call, list_options(call), show=show, pace=self._pace
        )
        return Answer(headers={"Content-Type": JSON}, stream=lines)

    async def _delete_collection(self, call: Call) -> Answer:
        options = delete_options(call)
        found = lists.page(self.storage, call, list_options(call))
        for stored in found.items:
            one = replace(call, name=stored.name, namespace=stored.namespace)
            await self._deleter.delete(one, options)
        return _raw(self._list_body(call.kind, found))

    def _list_body(self, kind: Kind, page: lists.Page) -> bytes:
        meta: dict[str, object] = {"resourceVersion": str(page.version)}
        if page.token or kind.custom:
            meta["continue"] = page.token
        if page.remaining:
            meta["remainingItemCount"] = page.remaining
        head = {"kind": kind.list_kind, "apiVersion": kind.api_version, "metadata": meta}
        items = b",".join(self._item(kind, each) for each in page.items)
        return b'%s,"items":[%s]}' % (msgspec.json.encode(head)[:-1], items)

    def _item(self, kind: Kind, stored: Stored) -> bytes:
        """An object in a list; those of built-in kinds do not repeat what they are."""
        raw = self.rulebook.show(kind, stored)
        if kind.custom:
            return raw
        head = b'{"apiVersion":"%s","kind":"%s",' % (kind.api_version.encode(), kind.kind.encode())
        return b"{" + raw.removeprefix(head) if raw.startswith(head) else raw


def _raw(body: bytes) -> Answer:
    return Answer(body=body, headers={"Content-Type": JSON})


def _refused(refusal: ApiStatus) -> Answer:
    answer = answer_of(refusal.to_body(), code=refusal.code, warnings=refusal.warnings)
    return Answer(
        code=answer.code,
        body=answer.body,
        headers={**answer.headers, **refusal.headers},
        warnings=answer.warnings,
    )
