"""An API server in memory: the client's methods over objects that a test can look at and change.

Writes are held to their preconditions as the real server holds them, and all of them are noted.
`fail` answers the next request with an error, `weather` slows, refuses and loses at random.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec
from builders import NOW

from kq.core import codec
from kq.core.kinds import EVENT, JOB, QUEUE, QUEUE_UNIT, ResourceKind
from kq.kube.errors import AlreadyExists, Conflict, Gone, Invalid, NotFound
from kq.kube.requests import FIELD_MANAGER

Json = dict[str, Any]
WITH_STATUS = frozenset({QUEUE_UNIT.plural, QUEUE.plural, JOB.plural})


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request, as the client was asked for it."""

    verb: str
    kind: ResourceKind
    key: str
    body: Mapping[str, Any] | None = None
    subresource: str | None = None
    resource_version: str | None = None
    uid: str | None = None
    field_manager: str = FIELD_MANAGER

    @property
    def is_write(self) -> bool:
        return self.verb in ("create", "patch", "delete")

    @property
    def short(self) -> str:
        """`patch queueunits/status team-a/train`."""
        part = f"/{self.subresource}" if self.subresource else ""
        return f"{self.verb} {self.kind.plural}{part} {self.key}"


@dataclass
class Fault:
    """What becomes of the next requests that match: an error, perhaps although it was done."""

    error: Exception
    matches: Callable[[Asked], bool]
    times: int
    applied: bool


@dataclass(frozen=True)
class Happened:
    """One change of an object, as a watch shows it."""

    version: int
    time: float
    key: str
    line: bytes


@dataclass(frozen=True)
class Change:
    """One change of an object, for those who look on."""

    kind: ResourceKind
    key: str
    old: Json | None
    new: Json | None


class Weather:
    """Between the client and the API server; this one is calm."""

    async def before(self, asked: Asked) -> None:
        """On the way there."""

    async def after(self, asked: Asked) -> None:
        """It was done; on the way back."""

    async def on_watch(self, kind: ResourceKind, happened: Happened) -> int:
        """Returns when a watch shows that change, with how often it does."""
        return 1


@dataclass
class Api:
    """A cluster's objects by plural name and key, and the client's way to them."""

    weather: Weather = field(default_factory=Weather)
    absent: set[str] = field(default_factory=set)
    asked: list[Asked] = field(default_factory=list)
    listeners: list[Callable[[Change], None]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    clock: Callable[[], datetime] = lambda: NOW
    version: int = 100

    def __post_init__(self) -> None:
        self._objects: dict[str, dict[str, Json]] = {}
        self._history: dict[str, list[Happened]] = {}
        self._forgotten: dict[str, int] = {}
        self._changed: dict[str, asyncio.Event] = {}

    # -- for tests

    def fail(
        self,
        error: Exception,
        on: Callable[[Asked], bool] = lambda asked: asked.is_write,
        *,
        times: int = 1,
        applied: bool = False,
    ) -> None:
        self.faults.append(Fault(error, on, times, applied))

    @property
    def writes(self) -> list[Asked]:
        """All writes but those of Events."""
        return [each for each in self.asked if each.is_write and each.kind is not EVENT]

    def all(self, kind: ResourceKind) -> dict[str, Json]:
        return self._objects.setdefault(kind.plural, {})

    def find(self, kind: ResourceKind, key: str) -> Json:
        return self.all(kind)[key]

    def raw(self, kind: ResourceKind, key: str) -> bytes:
        return msgspec.json.encode(self.find(kind, key))

    def put(self, kind: ResourceKind, body: Mapping[str, Any]) -> Json:
        """An object is created by somebody else, with whatever status it has."""
        meta = dict(body["metadata"])
        key = _key(meta.get("namespace") or "", meta["name"])
        meta.setdefault("uid", f"{kind.plural}-{meta['name']}-{self.version}")
        meta.setdefault("creationTimestamp", codec.format_time(self.clock()))
        return self._store(kind, key, {**body, "metadata": meta})

    def edit(self, kind: ResourceKind, key: str, patch: Mapping[str, Any]) -> Json:
        """An object is changed by somebody else, its status too."""
        old = self.find(kind, key)
        new = _merge(old, patch)
        return old if new == old else self._store(kind, key, new)

    def remove(self, kind: ResourceKind, key: str) -> None:
        """An object goes."""
        old = self.all(kind).pop(key)
        self.version += 1
        meta = {**old["metadata"], "resourceVersion": str(self.version)}
        self._tell(kind, key, "DELETED", {**old, "metadata": meta})
        self._announce(Change(kind, key, old, None))

    def forget_history(self, kind: ResourceKind) -> None:
        """Watches of older versions are told that they are too old."""
        self._forgotten[kind.plural] = self.version
        self._history[kind.plural] = []

    # -- for the client

    async def get(
        self,
        kind: ResourceKind,
        name: str,
        namespace: str | None = None,
        *,
        into: Any = dict,
        **_: Any,
    ) -> Any:
        asked = Asked(verb="get", kind=kind, key=_key(namespace or "", name))
        return await self._serve(asked, lambda: self._found(asked), into)

    async def create(
        self,
        kind: ResourceKind,
        obj: Mapping[str, Any],
        namespace: str | None = None,
        *,
        into: Any = dict,
        **options: Any,
    ) -> Any:
        meta = {**obj["metadata"], "namespace": namespace or ""}
        key = _key(namespace or "", meta["name"])
        asked = Asked(verb="create", kind=kind, key=key, body=obj, **_stated(options))
        body = {k: v for k, v in obj.items() if k != "status" or kind.plural not in WITH_STATUS}
        return await self._serve(
            asked, lambda: self._create(asked, {**body, "metadata": meta}), into
        )

    async def merge_patch(
        self,
        kind: ResourceKind,
        name: str,
        namespace: str | None,
        patch: Mapping[str, Any],
        *,
        into: Any = dict,
        **options: Any,
    ) -> Any:
        key = _key(namespace or "", name)
        asked = Asked(verb="patch", kind=kind, key=key, body=patch, **_stated(options))
        return await self._serve(asked, lambda: self._patch(asked), into)

    async def delete(
        self, kind: ResourceKind, name: str, namespace: str | None = None, **options: Any
    ) -> None:
        key = _key(namespace or "", name)
        asked = Asked(verb="delete", kind=kind, key=key, **_stated(options))
        await self._serve(asked, lambda: self._delete(asked), bytes)

    async def list_page(
        self,
        kind: ResourceKind,
        namespace: str | None = None,
        *,
        label_selector: str | None = None,
        **_: Any,
    ) -> bytes:
        """All of them at once; of the selectors a label with its value counts."""
        asked = Asked(verb="list", kind=kind, key=namespace or "")
        label = (label_selector or "").partition("=")
        answer: bytes = await self._serve(asked, lambda: self._list(asked, label), bytes)
        return answer

    async def watch(
        self,
        kind: ResourceKind,
        namespace: str | None = None,
        *,
        resource_version: str,
        timeout_seconds: int,
        **_: Any,
    ) -> AsyncGenerator[bytes, None]:
        await self._serve(Asked(verb="watch", kind=kind, key=namespace or ""), dict, bytes)
        since = int(resource_version)
        if since < self._forgotten.get(kind.plural, 0):
            raise Gone(f"too old resource version: {since}", code=410)
        ends = asyncio.get_running_loop().time() + timeout_seconds
        while asyncio.get_running_loop().time() < ends:
            fresh = [each for each in self._history.get(kind.plural, ()) if each.version > since]
            if not fresh:
                await self._news(kind, ends)
            for each in fresh:
                since = each.version
                if namespace is None or each.key.startswith(f"{namespace}/"):
                    for _ in range(await self.weather.on_watch(kind, each)):
                        yield each.line

    def server_date(self) -> datetime | None:
        return self.clock().replace(microsecond=0)

    # -- inside

    async def _news(self, kind: ResourceKind, ends: float) -> None:
        changed = self._changed.setdefault(kind.plural, asyncio.Event())
        changed.clear()
        try:
            async with asyncio.timeout_at(ends):
                await changed.wait()
        except TimeoutError:
            # Virtual time may stop a rounding error before the end, and would never come there.
            await asyncio.sleep(2**-10)

    async def _serve(self, asked: Asked, act: Callable[[], Json], into: Any) -> Any:
        self.asked.append(asked)
        await self.weather.before(asked)
        if asked.kind.plural in self.absent:
            raise NotFound("the server could not find the requested resource", code=404)
        fault = next((each for each in self.faults if each.times and each.matches(asked)), None)
        if fault is not None:
            fault.times -= 1
            if not fault.applied:
                raise fault.error
        answer = msgspec.json.encode(act())
        await self.weather.after(asked)
        if fault is not None:
            raise fault.error
        return answer if into is bytes else msgspec.json.decode(answer)

    def _found(self, asked: Asked) -> Json:
        found = self.all(asked.kind).get(asked.key)
        if found is None:
            raise NotFound(f'{asked.kind.plural} "{asked.key}" not found', code=404)
        return found

    def _list(self, asked: Asked, label: tuple[str, str, str]) -> Json:
        items = [
            each
            for key, each in self.all(asked.kind).items()
            if not asked.key or key.startswith(f"{asked.key}/")
            if not label[0] or each["metadata"].get("labels", {}).get(label[0]) == label[2]
        ]
        meta = {"resourceVersion": str(self.version)}
        return {"kind": f"{asked.kind.kind}List", "metadata": meta, "items": items}

    def _create(self, asked: Asked, body: Json) -> Json:
        if asked.key in self.all(asked.kind):
            raise AlreadyExists(f'{asked.kind.plural} "{asked.key}" already exists', code=409)
        return self.put(asked.kind, body)

    def _patch(self, asked: Asked) -> Json:
        old = self._found(asked)
        self._check(asked, old)
        patch = {
            part: value
            for part, value in (asked.body or {}).items()
            if asked.kind.plural not in WITH_STATUS
            or (part == "status") == (asked.subresource == "status")
        }
        return self.edit(asked.kind, asked.key, patch)

    def _delete(self, asked: Asked) -> Json:
        old = self._found(asked)
        if asked.uid not in (None, old["metadata"]["uid"]):
            raise Conflict("Precondition failed: UID in precondition", code=409)
        self._check(asked, old)
        self.remove(asked.kind, asked.key)
        return {}

    @staticmethod
    def _check(asked: Asked, old: Json) -> None:
        meta = old["metadata"]
        if asked.resource_version not in (None, meta["resourceVersion"]):
            raise Conflict(f"{asked.short}: the object has been modified", code=409)
        if asked.uid not in (None, meta["uid"]):
            cause = {"field": "metadata.uid", "reason": "FieldValueInvalid"}
            raise Invalid("field is immutable", code=422, details={"causes": [cause]})

    def _store(self, kind: ResourceKind, key: str, new: Json) -> Json:
        old = self.all(kind).get(key)
        self.version += 1
        new = {**new, "metadata": {**new["metadata"], "resourceVersion": str(self.version)}}
        self.all(kind)[key] = new
        self._tell(kind, key, "MODIFIED" if old else "ADDED", new)
        self._announce(Change(kind, key, old, new))
        return new

    def _tell(self, kind: ResourceKind, key: str, type_: str, obj: Json) -> None:
        shown = {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
        line = msgspec.json.encode({"type": type_, "object": shown})
        time = _loop_time()
        self._history.setdefault(kind.plural, []).append(Happened(self.version, time, key, line))
        if kind.plural in self._changed:
            self._changed[kind.plural].set()

    def _announce(self, change: Change) -> None:
        for listener in self.listeners:
            listener(change)


def on(*parts: str) -> Callable[[Asked], bool]:
    """Requests whose short form contains all of these."""
    return lambda asked: all(part in asked.short for part in parts)


def since_start(start: datetime) -> datetime:
    """The time of day by the running loop's clock."""
    return start + timedelta(seconds=_loop_time())


def _stated(options: Mapping[str, Any]) -> dict[str, Any]:
    names = ("subresource", "resource_version", "uid", "field_manager")
    return {name: options[name] for name in names if name in options}


def _key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def _merge(target: Any, patch: Any) -> Any:
    """RFC 7386, by hand: the code under test has its own."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge(merged.get(key), value)
    return merged


def _loop_time() -> float:
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return 0.0
