"""Writes carried out by an API server in the same process, as one of the cluster's components."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from itertools import count
from typing import Any, TypeAlias

import msgspec

from kq.core.codec import format_time
from kq.core.kinds import Object
from kq.sim.api.call import Answer, Call, User, Verb
from kq.sim.api.kinds import Kind
from kq.sim.api.server import ApiServer
from kq.sim.api.status import ApiStatus
from kq.sim.control.objects import EVENTS, place_of
from kq.sim.control.shortcut import Shortcut
from kq.sim.control.writes import (
    Create,
    Delete,
    DeleteAll,
    Outcome,
    Patch,
    Record,
    Replace,
    Write,
)

Asked: TypeAlias = Create | Replace | Patch | Delete | DeleteAll

COMPONENTS = ("kube-scheduler", "kubelets")
"""Those that are no controllers with service accounts."""

_ACCOUNTS = "system:serviceaccounts"
_AUTHENTICATED = "system:authenticated"


class Writer:
    """One component's way to write; with `events` off, what it records goes nowhere.

    Without a shortcut every write goes through all rules of the server.
    """

    def __init__(
        self,
        server: ApiServer,
        name: str,
        *,
        events: bool = True,
        shortcut: Shortcut | None = None,
    ) -> None:
        self._server = server
        self._name = name
        self._user = user_of(name)
        self._agent = name if name in COMPONENTS else "kube-controller-manager"
        self._events = events
        self._shortcut = shortcut
        self._recorded = count()
        self._kinds: dict[str, Kind] = {}

    async def write(self, write: Write) -> Outcome:
        """What came of it."""
        if isinstance(write, Record):
            return await self._record(write)
        kind = self._kind(write.kind)
        if kind is None:
            return ApiStatus(404, "NotFound", "the server could not find the requested resource")
        if self._shortcut and (outcome := self._shortcut.take(write, kind)) is not None:
            return outcome
        return await self._ask(write, kind)

    async def _ask(self, write: Asked, kind: Kind) -> Outcome:
        match write:
            case Create():
                call = self._call(Verb.CREATE, kind, write.namespace, write.name, write.body)
                return await self._send(call, write.subresource)
            case Replace():
                namespace, name = place_of(write.body)
                call = self._call(Verb.UPDATE, kind, namespace, name, write.body)
                return await self._send(call, write.subresource)
            case Patch():
                call = self._call(Verb.PATCH, kind, write.namespace, write.name, write.body)
                return await self._send(call, write.subresource, write.form)
            case Delete():
                body = _delete_options(write)
                call = self._call(Verb.DELETE, kind, write.namespace, write.name, body)
                return await self._send(call)
            case DeleteAll():
                body = {"propagationPolicy": "Background"}
                call = self._call(Verb.DELETE_COLLECTION, kind, write.namespace, "", body)
                return await self._send(call)

    async def _record(self, record: Record) -> Outcome:
        kind = self._kind(EVENTS)
        if not self._events or kind is None:
            return {}
        body = self._event(record, self._server.clock())
        call = self._call(Verb.CREATE, kind, body["metadata"]["namespace"], "", body)
        await self._send(call)
        # Nobody waits for an event, nor minds if there is none.
        return {}

    async def _send(self, call: Call, subresource: str = "", content_type: str = "") -> Outcome:
        if subresource or content_type:
            call = replace(
                call, subresource=subresource, content_type=content_type or call.content_type
            )
        return _outcome(await self._server.handle(call))

    def _call(self, verb: Verb, kind: Kind, namespace: str, name: str, body: Object) -> Call:
        return Call(
            verb=verb,
            kind=kind,
            namespace=namespace,
            name=name,
            body=msgspec.json.encode(body),
            user=self._user,
            user_agent=self._agent,
        )

    def _kind(self, key: str) -> Kind | None:
        if key not in self._kinds:
            versions = self._server.registry.versions(key)
            if not versions:
                return None
            self._kinds[key] = versions[0]
        return self._kinds[key]

    def _event(self, record: Record, now: datetime) -> dict[str, Any]:
        about = record.about
        namespace, name = place_of(about)
        # The time alone would not do: many happen at one instant of virtual time.
        number = int(now.timestamp()) * 10**9 + next(self._recorded)
        regarding = {
            "apiVersion": about["apiVersion"],
            "kind": about["kind"],
            "name": name,
            "namespace": namespace,
            "uid": about["metadata"]["uid"],
            "resourceVersion": about["metadata"]["resourceVersion"],
        }
        at = format_time(now)
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{name}.{number:x}", "namespace": namespace or "default"},
            "involvedObject": {key: value for key, value in regarding.items() if value},
            "reason": record.reason,
            "message": record.message,
            "source": {"component": self._name},
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
            "type": "Warning" if record.is_warning else "Normal",
            "eventTime": None,
            "reportingComponent": self._name,
            "reportingInstance": "",
        }


def user_of(name: str) -> User:
    """Whom the server takes a component for."""
    if name in COMPONENTS:
        return User(name=f"system:{name}", groups=(_AUTHENTICATED,))
    groups = (_ACCOUNTS, f"{_ACCOUNTS}:kube-system", _AUTHENTICATED)
    return User(name=f"system:serviceaccount:kube-system:{name}", groups=groups)


def _outcome(answer: Answer) -> Outcome:
    body: dict[str, Any] = msgspec.json.decode(answer.body)
    if answer.code < 400:
        return body
    reason, message = body.get("reason", ""), body.get("message", "")
    return ApiStatus(answer.code, reason, message, body.get("details"))


def _delete_options(delete: Delete) -> Mapping[str, Any]:
    preconditions = {"uid": delete.uid, "resourceVersion": delete.version}
    options = {
        "propagationPolicy": delete.propagation,
        "gracePeriodSeconds": delete.grace,
        "preconditions": {key: value for key, value in preconditions.items() if value},
    }
    return {key: value for key, value in options.items() if value not in (None, {})}
