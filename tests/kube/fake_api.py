"""A small API server in the test's own loop: lists, watches, writes, and faults on demand."""

import asyncio
import copy
import json
import re
from collections.abc import Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

_PATH = re.compile(
    r"^/(?:api|apis/[^/]+)/[^/]+(?:/namespaces/(?P<namespace>[^/]+))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>[^/]+))?$"
)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def status(code: int, reason: str = "", message: str = "", **more: Any) -> web.Response:
    headers = {"Retry-After": str(more.pop("retry_after"))} if "retry_after" in more else {}
    body = {"kind": "Status", "code": code, "reason": reason, "message": message, **more}
    return web.json_response(body, status=code, headers=headers)


def answer(*args: Any, **kwargs: Any) -> Handler:
    """A handler that gives the same Status each time."""

    async def give(_: web.Request) -> web.Response:
        return status(*args, **kwargs)

    return give


def text(code: int, body: str) -> Handler:
    async def give(_: web.Request) -> web.Response:
        return web.Response(status=code, text=body, content_type="text/html")

    return give


def slow(seconds: float) -> Handler:
    async def give(_: web.Request) -> web.Response:
        await asyncio.sleep(seconds)
        return web.json_response({})

    return give


async def hang_up(request: web.Request) -> web.Response:
    """Closes the connection instead of answering."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def stream(*lines: bytes, then: float = 0.0) -> Handler:
    """A watch that sends these lines as they are, stays open for a while, and ends."""

    async def give(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for line in lines:
            await response.write(line + b"\n")
        await asyncio.sleep(then)
        return response

    return give


@dataclass
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    at: float

    @property
    def is_watch(self) -> bool:
        return self.query.get("watch") == "true"


@dataclass
class Fault:
    """What is answered to the next requests that match, instead of the truth."""

    handler: Handler
    times: int
    matches: Callable[[Seen], bool]


@dataclass
class FakeApi:
    """One kind's worth of state for each plural, one version counter for all."""

    url: str = ""
    version: int = 100
    oldest: int = 0
    objects: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    history: list[tuple[int, str, str, dict[str, Any]]] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    absent: set[str] = field(default_factory=set)
    watchers: list["asyncio.Queue[bytes | None]"] = field(default_factory=list)
    snapshots: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    in_flight: int = 0
    most_in_flight: int = 0

    def fail(
        self, handler: Handler, times: int = 1, on: Callable[[Seen], bool] = lambda _: True
    ) -> None:
        self.faults.append(Fault(handler, times, on))

    def lists(self) -> list[Seen]:
        return [s for s in self.seen if s.method == "GET" and not s.is_watch]

    def watches(self) -> list[Seen]:
        return [s for s in self.seen if s.is_watch]

    def put(self, plural: str, name: str, namespace: str = "ns", **fields: Any) -> dict[str, Any]:
        """Creates or changes an object, as if somebody else did."""
        known = self.objects.setdefault(plural, {})
        old = known.get(f"{namespace}/{name}")
        meta = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
        meta |= fields.pop("metadata", {})
        made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, **fields}
        return self.store(plural, made, "MODIFIED" if old else "ADDED")

    def store(self, plural: str, obj: dict[str, Any], type_: str) -> dict[str, Any]:
        self.version += 1
        meta = obj["metadata"]
        meta["resourceVersion"] = str(self.version)
        known = self.objects.setdefault(plural, {})
        key = f"{meta.get('namespace', '')}/{meta['name']}"
        known[key] = obj
        self.tell(plural, type_, copy.deepcopy(obj))
        return obj

    def remove(self, plural: str, name: str, namespace: str = "ns") -> None:
        gone = copy.deepcopy(self.objects[plural].pop(f"{namespace}/{name}"))
        self.version += 1
        gone["metadata"]["resourceVersion"] = str(self.version)
        self.tell(plural, "DELETED", gone)

    def tell(self, plural: str, type_: str, obj: dict[str, Any]) -> None:
        self.history.append((self.version, plural, type_, obj))
        self.send(event(type_, obj))

    def send(self, line: bytes) -> None:
        """Sends a line on every open watch."""
        for watcher in self.watchers:
            watcher.put_nowait(line)

    def bookmark(self, kind: str = "Job") -> None:
        self.version += 1
        meta = {"resourceVersion": str(self.version)}
        self.send(event("BOOKMARK", {"kind": kind, "metadata": meta}))

    def end_watches(self) -> None:
        for watcher in self.watchers:
            watcher.put_nowait(None)

    def compact(self) -> None:
        """Forgets every version before the present one."""
        self.history.clear()
        self.oldest = self.version

    async def handle(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        seen = Seen(
            request.method,
            request.path,
            dict(request.query),
            dict(request.headers),
            json.loads(raw) if raw else None,
            asyncio.get_running_loop().time(),
        )
        self.seen.append(seen)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            for fault in self.faults:
                if fault.times > 0 and fault.matches(seen):
                    fault.times -= 1
                    return await fault.handler(request)
            return await self.dispatch(request, seen)
        finally:
            self.in_flight -= 1

    async def dispatch(self, request: web.Request, seen: Seen) -> web.StreamResponse:
        match = _PATH.match(seen.path)
        if match is None or match["plural"] in self.absent:
            return web.Response(status=404, text="404 page not found")
        plural, name, namespace = match["plural"], match["name"], match["namespace"]
        if seen.is_watch:
            return await self.watch(request, plural, seen)
        if name is None and seen.method == "GET":
            return self.list(plural, namespace, seen)
        if seen.method == "POST":
            return self.create(plural, seen.body)
        key = f"{namespace or ''}/{name}"
        if key not in self.objects.get(plural, {}):
            details = {"name": name, "kind": plural}
            return status(404, "NotFound", f'{plural} "{name}" not found', details=details)
        return self.act(plural, key, seen)

    def act(self, plural: str, key: str, seen: Seen) -> web.Response:
        """GET, PATCH or DELETE of an object that is there."""
        obj = self.objects[plural][key]
        if seen.method == "GET":
            return web.json_response(obj)
        if seen.method == "PATCH":
            return self.patch(plural, obj, seen.body)
        meta = obj["metadata"]
        wanted, uid = (seen.body or {}).get("preconditions", {}).get("uid"), meta["uid"]
        if wanted not in (None, uid):
            text = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {uid}"
            return status(409, "Conflict", text)
        self.remove(plural, meta["name"], meta.get("namespace", ""))
        return status(200)

    def list(self, plural: str, namespace: str | None, seen: Seen) -> web.Response:
        token = seen.query.get("continue")
        if token:
            items, version = self.snapshots.get(token), token.split("@")[1]
            if items is None:
                return status(410, "Expired", "the provided continue parameter is too old")
        else:
            items = [
                obj
                for key, obj in self.objects.get(plural, {}).items()
                if namespace is None or key.startswith(f"{namespace}/")
            ]
            version = str(self.version)
        limit = int(seen.query.get("limit", 0)) or len(items)
        meta = {"resourceVersion": version}
        if len(items) > limit:
            meta["continue"] = f"{len(self.snapshots)}@{version}"
            self.snapshots[meta["continue"]] = copy.deepcopy(items[limit:])
        return web.json_response({"kind": "JobList", "metadata": meta, "items": items[:limit]})

    def create(self, plural: str, body: dict[str, Any]) -> web.Response:
        meta = body["metadata"]
        if f"{meta.get('namespace', '')}/{meta['name']}" in self.objects.get(plural, {}):
            return status(409, "AlreadyExists", f'{plural} "{meta["name"]}" already exists')
        meta["uid"] = f"uid-{self.version}"
        return web.json_response(self.store(plural, body, "ADDED"), status=201)

    def patch(self, plural: str, old: dict[str, Any], body: Any) -> web.Response:
        meta = body.get("metadata", {}) if isinstance(body, dict) else {}
        if (
            meta.get("resourceVersion", old["metadata"]["resourceVersion"])
            != (old["metadata"]["resourceVersion"])
        ):
            return status(409, "Conflict", "the object has been modified")
        if meta.get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
            cause = {"field": "metadata.uid", "reason": "FieldValueInvalid"}
            return status(422, "Invalid", "field is immutable", details={"causes": [cause]})
        fields = {k: v for k, v in body.items() if k != "metadata"} if meta or body else {}
        return web.json_response(self.store(plural, old | fields, "MODIFIED"))

    async def watch(self, request: web.Request, plural: str, seen: Seen) -> web.StreamResponse:
        since = int(seen.query["resourceVersion"])
        if since < self.oldest:
            return status(410, "Expired", f"too old resource version: {since}")
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        for version, of, type_, obj in self.history:
            if version > since and of == plural:
                queue.put_nowait(event(type_, obj))
        self.watchers.append(queue)
        response = web.StreamResponse()
        try:
            await response.prepare(request)
            async with asyncio.timeout(int(seen.query["timeoutSeconds"])):
                while (line := await queue.get()) is not None:
                    await response.write(line)
        except (TimeoutError, ConnectionError):
            pass
        finally:
            self.watchers.remove(queue)
        return response


def event(type_: str, obj: dict[str, Any]) -> bytes:
    return json.dumps({"type": type_, "object": obj}).encode() + b"\n"


@asynccontextmanager
async def serving(api: FakeApi, ssl_context: Any = None) -> Any:
    app = web.Application(client_max_size=2**26)
    app.router.add_route("*", "/{tail:.*}", api.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=ssl_context)
    await site.start()
    host, port = runner.addresses[0][:2]
    api.url = f"{'https' if ssl_context else 'http'}://{host}:{port}"
    try:
        yield api
    finally:
        await runner.cleanup()


async def until(condition: Callable[[], Any], seconds: float = 5.0) -> None:
    """Returns once the condition holds; TimeoutError after so many (virtual) seconds."""
    step = max(0.01, seconds / 1000)
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - the condition is about many things
            await asyncio.sleep(step)


def names(views: Iterable[Any]) -> list[str]:
    return sorted(view.name for view in views)
