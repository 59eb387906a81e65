"""The server in memory is reached over HTTPS, and reaches its webhooks over HTTPS."""

import asyncio
import base64
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest
import yaml
from aiohttp import web

from kq.sim.access import Access
from kq.sim.admit.hooks import Hook, hooks_of
from kq.sim.admit.webhooks import CallFailed
from kq.sim.api.call import User
from kq.sim.api.server import ApiServer
from kq.sim.http import MAX_BODY_BYTES, HttpFront
from kq.sim.outgoing import HttpsCaller
from kq.tls.issue import Pair, Profile, issue_ca, issue_serving
from kq.tls.verify import client_context

NOW = datetime.now(UTC)  # noqa: TID251 - certificates are judged by the wall clock
MAPS = "/api/v1/namespaces/default/configmaps"
OTHER = User(name="other", groups=("workers", "system:authenticated"))


@dataclass(frozen=True)
class Site:
    """A server on loopback, and a session that trusts it."""

    server: ApiServer
    access: Access
    session: aiohttp.ClientSession
    url: str

    def ask(self, method: str, path: str, *, user: User | None = None, **options: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.access.token_of(user or User())}"}
        headers |= options.pop("headers", {})
        return self.session.request(method, f"{self.url}{path}", headers=headers, **options)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    server = ApiServer(clock=lambda: NOW, random=Random(3))
    await server.start()
    access = Access.issue(NOW, [User(), OTHER])
    front = HttpFront(server, tokens=access.tokens, tls=access.context())
    trust = client_context(access.authority.certificate.decode())
    connector = aiohttp.TCPConnector(ssl=trust)
    async with (
        front.serving() as port,
        aiohttp.ClientSession(connector=connector) as session,
    ):
        yield Site(server, access, session, f"https://127.0.0.1:{port}")


async def test_objects_are_made_and_read(site: Site) -> None:
    async with site.ask("POST", MAPS, json={"metadata": {"name": "c"}, "foo": 1}) as answer:
        assert answer.status == 201
        assert answer.headers.getall("Warning") == ['299 - "unknown field \\"foo\\""']
    async with site.ask("GET", f"{MAPS}/c?resourceVersion=0") as answer:
        assert (await answer.json())["metadata"]["name"] == "c"
        assert answer.headers["Date"] == site.server.date()
    async with site.ask("GET", f"{MAPS}/none") as answer:
        assert (answer.status, (await answer.json())["reason"]) == (404, "NotFound")


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Authorization": ""}, id="nothing"),
        pytest.param({"Authorization": "Bearer wrong"}, id="another token"),
        pytest.param({"Authorization": "Basic eDp5"}, id="a password"),
    ],
)
async def test_strangers_are_kept_out(site: Site, headers: dict[str, str]) -> None:
    async with site.ask("GET", MAPS, headers=headers) as answer:
        assert (answer.status, (await answer.json())["message"]) == (401, "Unauthorized")


async def test_health_and_version_are_for_all(site: Site) -> None:
    async with site.session.get(f"{site.url}/readyz") as answer:
        assert (answer.status, await answer.text()) == (200, "ok")


async def test_too_large_a_body_is_refused(site: Site) -> None:
    async with site.ask("POST", MAPS, data=BytesIO(bytes(MAX_BODY_BYTES + 1))) as answer:
        assert (answer.status, (await answer.json())["reason"]) == (413, "RequestEntityTooLarge")


async def test_a_watch_streams_changes_as_they_come(site: Site) -> None:
    async with site.ask("GET", f"{MAPS}?watch=1&timeoutSeconds=20") as watch:
        async with site.ask("POST", MAPS, json={"metadata": {"name": "late"}}) as made:
            assert made.status == 201
        event = json.loads(await watch.content.readline())
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "late")


async def test_open_watches_do_not_hold_up_the_end() -> None:
    server = ApiServer(clock=lambda: NOW, random=Random(3))
    await server.start()
    access = Access.issue(NOW)
    trust = client_context(access.authority.certificate.decode())
    headers = {"Authorization": f"Bearer {access.token_of(User())}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        async with HttpFront(server, tokens=access.tokens, tls=access.context()).serving() as port:
            url = f"https://127.0.0.1:{port}{MAPS}?watch=1"
            watch = await session.get(url, ssl=trust)
        line = await asyncio.gather(watch.content.readline(), return_exceptions=True)
        watch.close()
    assert line[0] == b"" or isinstance(line[0], aiohttp.ClientError)


async def test_a_kubeconfig_leads_to_the_server_as_a_user(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    site.access.write_kubeconfig(path, port=1234, user=OTHER)
    assert path.stat().st_mode & 0o777 == 0o600
    config = yaml.safe_load(path.read_text())
    [cluster], [user] = config["clusters"], config["users"]
    assert cluster["cluster"]["server"] == "https://127.0.0.1:1234"
    assert site.access.tokens[user["user"]["token"]] == OTHER
    assert "PRIVATE" not in path.read_text()


def test_a_new_user_gets_a_token_of_its_own() -> None:
    access = Access.issue(NOW)
    token = access.token_of(OTHER)
    assert (token, access.tokens[token]) == (access.token_of(OTHER), OTHER)
    assert token not in repr(access)


def hook(url: str, authority: Pair | None) -> Hook:
    client: dict[str, Any] = {"url": url}
    if authority:
        client["caBundle"] = base64.b64encode(authority.certificate).decode()
    return hook_at(client)


def hook_at(client: dict[str, Any]) -> Hook:
    webhook = {"name": "a.b.c", "clientConfig": client, "timeoutSeconds": 5, "sideEffects": "None"}
    webhook["admissionReviewVersions"] = ["v1"]
    [made] = hooks_of([{"metadata": {"name": "h"}, "webhooks": [webhook]}])
    return made


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def webhook(
    answer: Handler, names: tuple[str, ...] = ("127.0.0.1",), since: datetime = NOW
) -> AsyncIterator[tuple[int, Pair]]:
    """A webhook's server: its port, and the authority that its certificate is from."""
    authority = issue_ca(since, Profile())
    serving = issue_serving(authority, names, since, Profile())
    access = Access(authority=authority, serving=serving, tokens={})
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=access.context()).start()
        yield runner.addresses[0][1], authority
    finally:
        await runner.cleanup()


async def echo(request: web.Request) -> web.Response:
    seen = {"query": request.query_string, "agent": request.headers["User-Agent"]}
    return web.json_response({**seen, "body": await request.text()})


async def call_failure(made: Hook) -> str:
    async with HttpsCaller() as caller:
        with pytest.raises(CallFailed) as caught:
            await caller.call(made, b"{}")
    return str(caught.value)


async def test_a_webhook_is_called_as_the_real_server_calls_it() -> None:
    async with webhook(echo) as (port, authority), HttpsCaller() as caller:
        made = hook(f"https://127.0.0.1:{port}/mutate", authority)
        assert json.loads(await caller.call(made, b'{"a":1}')) == {
            "query": "timeout=5s",
            "agent": "kube-apiserver-admission",
            "body": '{"a":1}',
        }


async def test_a_service_is_called_where_it_is_and_by_its_name() -> None:
    async with webhook(echo, ("hook.kq.svc",)) as (port, authority):
        bundle = base64.b64encode(authority.certificate).decode()
        service = {"name": "hook", "namespace": "kq", "path": "/mutate"}
        made = hook_at({"service": service, "caBundle": bundle})
        asked: list[tuple[str, str, int]] = []

        def place(namespace: str, name: str, wanted: int) -> tuple[str, int]:
            asked.append((namespace, name, wanted))
            return "127.0.0.1", port

        async with HttpsCaller(services=place) as caller:
            assert json.loads(await caller.call(made, b"x"))["body"] == "x"
        assert asked == [("kq", "hook", 443)]
    assert 'service "hook" not found' in await call_failure(made)


async def test_only_the_bundle_is_trusted() -> None:
    unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    async with webhook(echo) as (port, _):
        url = f"https://127.0.0.1:{port}/x"
        told = await call_failure(hook(url, issue_ca(NOW, Profile())))
        assert told == f'Post "{url}?timeout=5s": {unknown}'
        assert unknown in await call_failure(hook(url, None))
        garbage = hook_at({"url": url, "caBundle": base64.b64encode(b"garbage").decode()})
        assert "unable to parse bytes as PEM block" in await call_failure(garbage)


async def test_a_certificate_of_another_name_or_time_is_refused() -> None:
    async with webhook(echo, ("foo.bar",)) as (port, authority):
        told = await call_failure(hook(f"https://127.0.0.1:{port}/x", authority))
        assert told.endswith(
            "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"
        )
    long_ago = NOW - timedelta(days=200)
    async with webhook(echo, since=long_ago) as (port, authority):
        told = await call_failure(hook(f"https://127.0.0.1:{port}/x", authority))
        assert told.endswith("x509: certificate has expired or is not yet valid")


def status(code: int, text: str = "", **headers: str) -> Handler:
    async def give(request: web.Request) -> web.Response:
        return web.Response(status=code, text=text, headers=headers)

    return give


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        pytest.param(
            status(404, "nope"), "the server could not find the requested resource", id="404"
        ),
        pytest.param(
            status(500, "broken thing\n"),
            'an error on the server ("broken thing") has prevented the request from succeeding',
            id="500",
        ),
        pytest.param(status(403, "forb"), "forb", id="403"),
        pytest.param(status(503), "the server is currently unable to handle the request", id="503"),
        pytest.param(
            status(418),
            "the server responded with the status code 418 but did not return more information",
            id="418",
        ),
        pytest.param(
            status(200),
            "0-length response with status code: 200 and content type: text/plain; charset=utf-8",
            id="nothing",
        ),
    ],
)
async def test_an_answer_that_is_none_is_named(answer: Handler, told: str) -> None:
    async with webhook(answer) as (port, authority):
        assert await call_failure(hook(f"https://127.0.0.1:{port}/x", authority)) == told


async def test_a_webhook_that_asks_for_patience_is_asked_again() -> None:
    asked: list[str] = []

    async def busy_once(request: web.Request) -> web.Response:
        asked.append(request.path)
        if len(asked) == 1:
            return web.Response(status=429, headers={"Retry-After": "0"})
        return web.Response(text="done")

    async with webhook(busy_once) as (port, authority), HttpsCaller() as caller:
        made = hook(f"https://127.0.0.1:{port}/x", authority)
        assert await caller.call(made, b"{}") == b"done"


async def test_a_port_that_nobody_listens_on_refuses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    url = f"https://127.0.0.1:{port}/x"
    told = await call_failure(hook(url, None))
    wanted = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    assert told == f'Post "{url}?timeout=5s": {wanted}'


async def test_plain_http_is_no_answer() -> None:
    async def hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(hello, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        told = await call_failure(hook(f"https://127.0.0.1:{port}/x", None))
    assert told.endswith("http: server gave HTTP response to HTTPS client")
