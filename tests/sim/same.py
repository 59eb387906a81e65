"""The real API server and the simulated one, asked in the same way, and answers compared."""

import http.client
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from controlplane.cluster import Cluster
from odd_requests import CRD_PATH, JSON, Ask, Told

from kq.sim.admit.webhooks import Caller
from kq.sim.api.call import Request, User
from kq.sim.api.server import ApiServer

UNCOMPARED = {"uid", "resourceVersion", "managedFields", "lastTransitionTime"}
TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
UIDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
VERSIONS = re.compile(r"(version: |record \(|current: |N \()\d+")
PARSED = re.compile(r"(json parse error: ).*")
"""What Go's JSON parser says of what it cannot read."""
GENERATED = re.compile(r"\bg-[a-z0-9]{5}\b")


def normal(value: Any) -> Any:
    """An answer without what differs from run to run."""
    match value:
        case dict():
            return {
                key: "..." if key == "continue" and each else normal(each)
                for key, each in value.items()
                if key not in UNCOMPARED
            }
        case list():
            return [normal(each) for each in value]
        case str():
            text = PARSED.sub(r"\1...", value)
            text = UIDS.sub("UID", TIMES.sub("TIME", text))
            text = VERSIONS.sub(r"\g<1>N", VERSIONS.sub(r"\g<1>N", text))
            return GENERATED.sub("g-?????", text)
        case _:
            return value


class Real:
    """The real control plane."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def ask(self, ask: Ask) -> Told:
        server = urlsplit(self.cluster.access.server)
        connection = http.client.HTTPSConnection(
            server.netloc, context=self.cluster.access.tls, timeout=20
        )
        try:
            headers = {"Accept": JSON, "Content-Type": ask.content_type, "User-Agent": "odd/1"}
            connection.request(ask.method, ask.target, ask.data, headers)
            response = connection.getresponse()
            if ask.lines and response.status == 200:
                lines = [response.readline() for _ in range(ask.lines)]
                return Told(code=200, body=[json.loads(line) for line in lines if line])
            warnings = tuple(response.headers.get_all("Warning") or ())
            return Told(
                code=response.status,
                body=read(response.read()),
                warnings=tuple(json.loads(each.removeprefix("299 - ")) for each in warnings),
            )
        finally:
            connection.close()


class Simulated:
    """The simulated API server, in process."""

    def __init__(self, *, caller: Caller | None = None) -> None:
        self.server = ApiServer(
            clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
            random=Random(1),
            caller=caller,
            tracks_managers=True,
        )

    async def start(self, namespace: str, crds: Sequence[dict[str, Any]] = ()) -> None:
        """Makes what is there when a group of requests begins."""
        await self.server.start()
        made = {"kind": "Namespace", "metadata": {"name": namespace}}
        for body in [*crds, made]:
            path = "/api/v1/namespaces" if body is made else CRD_PATH
            told = await self.ask(Ask(what="set up", method="POST", path=path, body=body))
            assert told.code == 201, told
        # A real server's history does not reach back to its beginning either.
        self.server.storage.compact()

    async def ask(self, ask: Ask) -> Told:
        answer = await self.server.serve(
            Request(
                method=ask.method,
                path=urlsplit(ask.path).path,
                query=dict(parse_qsl(urlsplit(ask.target).query, keep_blank_values=True)),
                body=ask.data,
                content_type=ask.content_type,
                accept=JSON,
                user=User(name="admin"),
                user_agent="odd/1",
            )
        )
        if answer.stream is None:
            return Told(code=answer.code, body=read(answer.body), warnings=answer.warnings)
        lines: list[Any] = []
        while ask.lines and (line := await anext(answer.stream, b"")):
            lines.append(json.loads(line))
            if len(lines) == ask.lines:
                break
        await answer.stream.aclose()
        return Told(code=answer.code, body=lines)


def read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except json.JSONDecodeError:
        return body.decode()


def differing(real: Any, ours: Any, place: str = "") -> list[str]:
    """Each place in which two answers differ, with what is there."""
    match real, ours:
        case dict(), dict():
            return [
                each
                for key in sorted(real.keys() | ours.keys())
                for each in differing(real.get(key), ours.get(key), f"{place}.{key}")
            ]
        case list(), list() if len(real) == len(ours):
            return [
                each
                for index, (left, right) in enumerate(zip(real, ours, strict=True))
                for each in differing(left, right, f"{place}[{index}]")
            ]
        case _:
            same = real == ours and isinstance(real, bool) == isinstance(ours, bool)
            return [] if same else [f"{place}\n  real: {real}\n  ours: {ours}"]


def shown(ask: Ask, told: Told) -> dict[str, Any]:
    """What is compared of an answer."""
    body = normal(told.body)
    if ask.loose and isinstance(body, dict):
        body = {"reason": body.get("reason")}
    managed = managers_of(told) if ask.managers else []
    return {
        "code": told.code,
        "body": body,
        "warnings": list(told.warnings),
        "managers": managed,
    }


def managers_of(told: Told) -> list[dict[str, Any]]:
    """Who manages which fields of the object that was answered, in the order of names."""
    meta = told.body.get("metadata", {})
    entries = [
        {key: value for key, value in each.items() if key != "time"}
        for each in meta.get("managedFields") or ()
    ]
    return sorted(entries, key=lambda each: (each["manager"], each["operation"]))
