"""A simulated API server on virtual time, and the kinds and objects that its tests use."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import msgspec
from odd_requests import CRD_PATH, CRDS, GROUP, WIDGETS

from kq.core.kinds import ResourceKind
from kq.kube.client import Client
from kq.kube.connection import Connection
from kq.sim.api.call import Answer, Request, User
from kq.sim.api.server import ApiServer
from kq.sim.local import LocalTransport

START = datetime(2026, 1, 1, tzinfo=UTC)
WIDGET = ResourceKind(GROUP, "v1", "Widget", "widgets")


def clock() -> datetime:
    """The loop's time as a date."""
    return START + timedelta(seconds=asyncio.get_running_loop().time())


class Sim:
    """A server, and short ways to ask it."""

    def __init__(self, **options: Any) -> None:
        self.server = ApiServer(clock=clock, random=Random(1), **options)

    async def start(self) -> "Sim":
        await self.server.start()
        for crd in CRDS:
            assert (await self.ask("POST", CRD_PATH, crd)).code == 201
        return self

    async def ask(self, method: str, path: str, body: object = None, **query: str) -> Answer:
        patch = "application/merge-patch+json"
        return await self.server.serve(
            Request(
                method=method,
                path=path,
                query=query,
                body=None if body is None else json.dumps(body).encode(),
                content_type=patch if method == "PATCH" else "application/json",
                user=User(name="somebody", groups=("system:authenticated",)),
            )
        )

    async def told(self, method: str, path: str, body: object = None, **query: str) -> Any:
        """The body of an answer that must be a success."""
        answer = await self.ask(method, path, body, **query)
        assert answer.code < 300, answer.body
        return json.loads(answer.body)

    async def widget(self, name: str, namespace: str = "default", **metadata: Any) -> Any:
        body = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "Widget",
            "metadata": {"name": name, **metadata},
        }
        return await self.told("POST", widgets(namespace), body)

    def client(self) -> Client:
        """kq's own client on this server."""
        return Client(Connection(base_url="https://sim"), transport=LocalTransport(self.server))


def widgets(namespace: str = "default", name: str = "") -> str:
    return f"{WIDGETS}/namespaces/{namespace}/widgets" + (f"/{name}" if name else "")


def status(answer: Answer) -> Mapping[str, Any]:
    """The Status in an answer."""
    body: Mapping[str, Any] = json.loads(answer.body)
    assert body["kind"] == "Status", body
    return body


def line(raw: bytes) -> tuple[str, str]:
    """The type of a watch event, and the name of its object (a bookmark's version, an error)."""
    event = json.loads(raw)
    obj = event["object"]
    meta = obj["metadata"]
    return event["type"], meta.get("name") or meta.get("resourceVersion") or obj["message"]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A widget as the informer keeps it."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    x: str


def seen(raw: bytes) -> Seen:
    meta = msgspec.json.decode(raw)["metadata"]
    return Seen(
        namespace=meta["namespace"],
        name=meta["name"],
        uid=meta["uid"],
        resource_version=meta["resourceVersion"],
        x=meta.get("labels", {}).get("x", ""),
    )
