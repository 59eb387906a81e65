"""Objects put onto a simulated cluster: `kubectl get -o json` of a real one, say."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kq.core.kinds import Object
from kq.errors import ConfigError
from kq.kube.errors import ApiError
from kq.sim.api.kinds import Kind
from kq.sim.api.server import ApiServer
from kq.sim.control.objects import owners_of
from kq.sim.control.view import View
from kq.sim.install import create, kind_of, replace
from kq.sim.operators import serving

NAMESPACE = "Namespace"
DEFINITION = "CustomResourceDefinition"
MADE = (DEFINITION, NAMESPACE)
"""Kinds that are made anew, if they are not there: much hangs on how they come to be."""

AT_ONCE = 256
"""After so many objects others get the event loop."""

_LEFT_OUT = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")


class Loader:
    """Puts objects onto a server, and remembers what has to be said of them.

    What carries a UID was an object already: it is put back as it was, with owners and status,
    and nobody is asked. What carries none is created, or takes the place of what the cluster has
    under that name. Missing namespaces are made.
    """

    def __init__(self, server: ApiServer, *, waits: Collection[str] = ()) -> None:
        """`waits` are kinds whose new objects are created by `finish` only."""
        self.count = 0
        self.namespaces: set[str] = set()
        """Those that were made because objects are in them."""
        self.repeated: list[str] = []
        """Objects that came again, with the UID that they had before."""
        self._server = server
        self._waits = waits
        self._waiting: list[Object] = []
        self._uids: dict[str, str] = {}

    async def load(self, objects: Iterable[Object]) -> None:
        """Puts them there, but those that wait; a ConfigError names one that cannot be."""
        for obj in objects:
            kind = self._kind_of(obj)
            if fault := _fault(obj):
                raise ConfigError(f"{named(obj)} cannot be put there: {fault}")
            self._note(kind, obj)
            if self.count % AT_ONCE == 0:
                await asyncio.sleep(0)
            await self._make_namespace(kind, obj)
            if obj["metadata"].get("uid") and kind.kind not in MADE:
                self._server.storage.put(kind, _as_it_was(kind, obj))
            elif kind.key in self._waits:
                self._waiting.append(obj)
            else:
                await self._make(kind, _as_new(obj))

    async def finish(self) -> None:
        """Creates those that wait."""
        for obj in self._waiting:
            await self._make(self._kind_of(obj), _as_new(obj))
        self._waiting = []

    def _kind_of(self, obj: Object) -> Kind:
        try:
            return kind_of(self._server, obj["apiVersion"], obj["kind"])
        except ConfigError as err:
            operator = serving(obj["apiVersion"], obj["kind"])
            what = f"--operators {operator} serves it" if operator else "leave it out"
            raise ConfigError(f"{named(obj)} cannot be put there: {err}; {what}") from err

    def _note(self, kind: Kind, obj: Object) -> None:
        self.count += 1
        name = obj["metadata"].get("name")
        if not name or kind.kind in MADE:
            return
        key, uid = f"{kind.key} {_namespace(kind, obj)}/{name}", obj["metadata"].get("uid", "")
        if key not in self._uids:
            self._uids[key] = uid
        elif uid and self._uids[key] == uid:
            self.repeated.append(named(obj))
        else:
            raise ConfigError(f"{named(obj)} is there twice, as two objects: leave one of them out")

    async def _make_namespace(self, kind: Kind, obj: Object) -> None:
        if kind.kind == NAMESPACE:
            self.namespaces.discard(obj["metadata"].get("name", ""))
        name = _namespace(kind, obj)
        known = kind_of(self._server, "v1", NAMESPACE)
        if name and not self._server.storage.get(known, "", name):
            await self._make(known, {**_HEAD, "metadata": {"name": name}})
            self.namespaces.add(name)

    async def _make(self, kind: Kind, obj: Object) -> None:
        name, namespace = obj["metadata"].get("name", ""), _namespace(kind, obj)
        present = self._server.storage.get(kind, namespace, name) if name else None
        try:
            if present is None:
                await create(self._server, obj)
            elif kind.kind == NAMESPACE:
                self._server.storage.put(kind, _told(present.read(), obj))
            elif kind.kind != DEFINITION:
                await replace(self._server, obj, present.version)
        except ApiError as err:
            raise ConfigError(f"{named(obj)} is refused: {err}") from err


@dataclass(frozen=True, slots=True, kw_only=True)
class Bereft:
    """An object none of whose owners is there."""

    kind: str
    place: str
    owner: str
    """The kind of its owner."""
    owners: str
    """That kind as `kubectl get` names it."""
    is_served: bool
    """Whether the cluster has that kind, and so deletes what has lost its owner."""
    operator: str
    """Which operator would serve that kind."""


def bereft(view: View) -> list[Bereft]:
    """What is on a cluster without its owners."""
    found = []
    for known in view.bereft():
        owners = owners_of(known.obj)
        if any(view.known(each["uid"]) for each in owners):
            continue
        is_served = all(view.is_served(each["apiVersion"], each["kind"]) for each in owners)
        version, kind = owners[0]["apiVersion"], owners[0]["kind"]
        found.append(
            Bereft(
                kind=known.obj["kind"],
                place=_place(known.obj),
                owner=kind,
                owners=f"{kind.lower()}s",
                is_served=is_served,
                operator="" if is_served else serving(version, kind),
            )
        )
    return found


def named(obj: Object) -> str:
    """How a person finds an object: `Job default/a`."""
    return f"{obj['kind']} {_place(obj)}"


_HEAD: Mapping[str, str] = {"apiVersion": "v1", "kind": NAMESPACE}


def _place(obj: Object) -> str:
    meta = obj["metadata"]
    name = meta.get("name") or meta.get("generateName")
    return f"{meta['namespace']}/{name}" if meta.get("namespace") else str(name)


def _namespace(kind: Kind, obj: Object) -> str:
    return (obj["metadata"].get("namespace") or "default") if kind.namespaced else ""


def _fault(obj: Object) -> str:
    """What makes it no object at all; the server looks at the rest of what it is asked to make."""
    meta = obj["metadata"]
    for field in ("name", "namespace", "uid"):
        if not isinstance(meta.get(field, ""), str):
            return f"metadata.{field} is {meta[field]!r}, not a text"
    for field in ("labels", "annotations"):
        if not isinstance(meta.get(field) or {}, Mapping):
            return f"metadata.{field} is no map"
    for field in ("spec", "status"):
        if not isinstance(obj.get(field) or {}, Mapping):
            return f"{field} is no map"
    return ""


def _as_it_was(kind: Kind, obj: Object) -> dict[str, Any]:
    meta = {each: value for each, value in obj["metadata"].items() if each != "managedFields"}
    if kind.namespaced:
        meta["namespace"] = _namespace(kind, obj)
    return {**obj, "metadata": meta}


def _as_new(obj: Object) -> Object:
    meta = {each: value for each, value in obj["metadata"].items() if each not in _LEFT_OUT}
    return {**obj, "metadata": meta}


def _told(namespace: dict[str, Any], obj: Object) -> dict[str, Any]:
    """A namespace with what another of its name says of itself."""
    meta = namespace["metadata"]
    for field in ("labels", "annotations"):
        meta[field] = {**(meta.get(field) or {}), **(obj["metadata"].get(field) or {})}
    return namespace
