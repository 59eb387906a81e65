"""A namespace of some cluster, real or simulated: what is done in it, and all that happens."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kq.core.kinds import JOB, NAMESPACE, POD, ResourceKind
from kq.kube.client import Client
from kq.kube.errors import NotFound

Object = dict[str, Any]
Claim = Callable[[Object], object]

CRON_JOB = ResourceKind("batch", "v1", "CronJob", "cronjobs")
RESOURCE_QUOTA = ResourceKind("", "v1", "ResourceQuota", "resourcequotas")
SERVICE_ACCOUNT = ResourceKind("", "v1", "ServiceAccount", "serviceaccounts")
EVENT = ResourceKind("", "v1", "Event", "events")
WATCHED = (JOB, POD, CRON_JOB, RESOURCE_QUOTA, SERVICE_ACCOUNT, EVENT)

PATIENCE = 60.0
WATCH_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Happened:
    """One watch event."""

    kind: str
    type: str
    obj: Object

    @property
    def name(self) -> str:
        """The object's name."""
        return str(self.obj["metadata"]["name"])


@dataclass(slots=True)
class Stage:
    """The namespace; `happened` is everything since `opened`."""

    client: Client
    namespace: str
    watched: Sequence[ResourceKind] = WATCHED
    happened: list[Happened] = field(default_factory=list)
    _now: dict[tuple[str, str], Object] = field(default_factory=dict)
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)
    _watches: list["asyncio.Task[None]"] = field(default_factory=list)

    async def open(self) -> None:
        """Makes the namespace, and follows it from then on."""
        await self.client.create(NAMESPACE, {"metadata": {"name": self.namespace}})
        for kind in self.watched:
            page = msgspec.json.decode(await self.client.list_page(kind, self.namespace))
            for obj in page["items"]:
                await self._note(kind.kind, "ADDED", obj)
            version = page["metadata"]["resourceVersion"]
            self._watches.append(asyncio.create_task(self._follow(kind, version)))
        await self.until(SERVICE_ACCOUNT, "default", bool)

    async def close(self) -> None:
        """Ends the watches, and deletes the namespace without waiting for its end."""
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        with suppress(NotFound):
            await self.client.delete(NAMESPACE, self.namespace)

    async def create(self, kind: ResourceKind, body: Object) -> Object:
        """Makes an object."""
        return await self.client.create(kind, body, self.namespace)

    async def patch(
        self, kind: ResourceKind, name: str, patch: Object, subresource: str | None = None
    ) -> None:
        """Patches an object."""
        await self.client.merge_patch(kind, name, self.namespace, patch, subresource=subresource)

    async def delete(self, kind: ResourceKind, name: str, propagation: str = "Background") -> None:
        """Deletes an object."""
        await self.client.delete(kind, name, self.namespace, propagation=propagation)

    async def evict(self, pod: str) -> None:
        """Evicts a pod."""
        eviction = ResourceKind("policy", "v1", "Eviction", f"pods/{pod}/eviction")
        body = {
            "apiVersion": eviction.api_version,
            "kind": eviction.kind,
            "metadata": {"name": pod, "namespace": self.namespace},
        }
        core = ResourceKind("", "v1", eviction.kind, eviction.plural)
        await self.client.create(core, body, self.namespace, into=bytes)

    async def until(self, kind: ResourceKind, name: str, claim: Claim) -> Object:
        """The object as soon as the claim holds for it."""
        await self._wait(
            lambda: (kind.kind, name) in self._now and claim(self._now[kind.kind, name])
        )
        return self._now[kind.kind, name]

    async def until_all(self, kind: ResourceKind, claim: Callable[[list[Object]], object]) -> None:
        """Returns as soon as the claim holds for all objects of a kind."""
        await self._wait(lambda: claim(self.all(kind)))

    async def until_gone(self, kind: ResourceKind, name: str) -> None:
        """Returns as soon as the object is gone."""
        await self._wait(lambda: (kind.kind, name) not in self._now)

    async def until_namespace_is_gone(self) -> None:
        """Returns as soon as everything watched in the namespace is gone."""
        await self._wait(lambda: not [key for key in self._now if key[0] != EVENT.kind])

    def all(self, kind: ResourceKind) -> list[Object]:
        """The objects of a kind as they are now."""
        return [obj for key, obj in self._now.items() if key[0] == kind.kind]

    async def _wait(self, claim: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(lambda: bool(claim()))

    async def _follow(self, kind: ResourceKind, version: str) -> None:
        watch = self.client.watch(
            kind, self.namespace, resource_version=version, timeout_seconds=WATCH_SECONDS
        )
        async with aclosing(watch) as lines:
            async for line in lines:
                event: Mapping[str, Any] = msgspec.json.decode(line)
                if event["type"] != "BOOKMARK":
                    await self._note(kind.kind, event["type"], event["object"])

    async def _note(self, kind: str, type_: str, obj: Object) -> None:
        async with self._news:
            seen = Happened(kind, type_, obj)
            self.happened.append(seen)
            if type_ == "DELETED":
                self._now.pop((kind, seen.name), None)
            else:
                self._now[kind, seen.name] = obj
            self._news.notify_all()
