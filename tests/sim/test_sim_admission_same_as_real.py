"""Admission webhooks that answer oddly: the simulated server takes it as a real one does."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import odd_hooks
import pytest
from aiohttp import web
from controlplane.cluster import Cluster
from controlplane.pki import Authority
from odd_requests import Ask
from same import Real, Simulated, differing, shown

from kq.sim.local import LocalCaller

HOOKS = "/apis/admissionregistration.k8s.io/v1"
KINDS = {True: "MutatingWebhookConfiguration", False: "ValidatingWebhookConfiguration"}


def webhook(path: str, port: int, bundle: str, **more: Any) -> dict[str, Any]:
    """A webhook that is asked about config maps whose label `case` is its path."""
    return {
        "name": f"{path.strip('/') or 'root'}.odd.kq.example",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": 5,
        "clientConfig": {"url": f"https://127.0.0.1:{port}{path}", "caBundle": bundle},
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["configmaps"],
                "operations": ["CREATE", "UPDATE", "DELETE"],
            }
        ],
        "objectSelector": {"matchLabels": {"case": path.strip("/")}},
        **more,
    }


def configuration(name: str, mutating: bool, webhooks: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": KINDS[mutating],
        "metadata": {"name": name},
        "webhooks": webhooks,
    }


ODD = ["/fails", "/missing", "/garbage", "/other-uid", "/absent", "/other-kind", "/echo"]


def mutating(namespace: str, port: int, bundle: str) -> list[dict[str, Any]]:
    """One webhook a path, and some that are asked together."""
    scope = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    single = [webhook(path, port, bundle, **scope) for path in [*odd_hooks.RESPONSES, *ODD]]
    again = {"objectSelector": {"matchLabels": {"case": "again"}}, **scope}
    loose = {"failurePolicy": "Ignore", **scope}
    return [
        *single,
        webhook("/count", port, bundle, reinvocationPolicy="IfNeeded", **again),
        webhook("/patch-twice", port, bundle, **again) | {"name": "second.odd.kq.example"},
        webhook("/count", port, bundle, **again) | {"name": "third.odd.kq.example"},
        *(
            webhook(path, port, bundle, **loose)
            | {
                "name": f"loose-{path.strip('/')}.odd.kq.example",
                "objectSelector": {"matchLabels": {"case": f"loose-{path.strip('/')}"}},
            }
            for path in ["/fails", "/garbage", "/patch-nowhere", "/patch-untyped", "/deny"]
        ),
        webhook("/allow", 1, bundle, **scope)
        | {
            "name": "closed.odd.kq.example",
            "objectSelector": {"matchLabels": {"case": "closed"}},
        },
        webhook("/allow", port, bundle, **scope)
        | {
            "name": "effects.odd.kq.example",
            "sideEffects": "NoneOnDryRun",
            "objectSelector": {"matchLabels": {"case": "effects"}},
        },
    ]


CASES = [
    *(path.strip("/") for path in [*odd_hooks.RESPONSES, *ODD]),
    "again",
    *(f"loose-{path}" for path in ("fails", "garbage", "patch-nowhere", "patch-untyped", "deny")),
    "closed",
    "effects",
]
VALIDATED = ["deny", "allow", "patch", "type-unpatched", "fails", "echo", "warn", "warn-and-deny"]


def config_map(case: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": case, "labels": {"case": case}}, "data": data}


def asks(namespace: str, cases: list[str]) -> Iterator[Ask]:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    for case in cases:
        loose = "patch-nowhere" in case or case == "patch-gone"
        body = config_map(case, own="1")
        yield Ask(what=case, method="POST", path=path, body=body, loose=loose)
    body = config_map("echo") | {"metadata": {"generateName": "g-", "labels": {"case": "echo"}}}
    yield Ask(what="a generated name", method="POST", path=path, body=body)
    for case in ("echo", "deny"):
        body = config_map("allow", own="2")
        body["metadata"]["labels"]["case"] = case
        yield Ask(what=f"update to {case}", method="PUT", path=f"{path}/allow", body=body)
    yield Ask(what="dry run", method="POST", path=path, query={"dryRun": "All"},
              body=config_map("patch", own="3"))  # fmt: skip
    yield Ask(what="delete", method="DELETE", path=f"{path}/allow")


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[tuple[int, str]]:
    """The odd webhook over TLS: its port, and the bundle to trust it by."""

    async def handle(request: web.Request) -> web.Response:
        code, body = odd_hooks.answer(request.path, await request.read())
        return web.Response(status=code, body=body, content_type="application/json")

    authority = Authority("odd")
    pair = authority.server()
    (folder / "pair.pem").write_bytes(pair.certificate + pair.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "pair.pem")
    app = web.Application()
    app.router.add_post("/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        port = runner.addresses[0][1]
        yield port, base64.b64encode(authority.certificate).decode()
    finally:
        await runner.cleanup()


async def effective(real: Real, namespace: str) -> None:
    """Returns once the real server asks the webhooks of new configurations."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    probe = Ask(what="probe", method="POST", path=path, query={"dryRun": "All"},
                body=config_map("deny"))  # fmt: skip
    for _ in range(400):
        if (await asyncio.to_thread(real.ask, probe)).code == 400:
            return
        await asyncio.sleep(0.05)
    pytest.fail("the webhooks are not asked")


@pytest.mark.parametrize("is_mutating", [True, False], ids=["mutating", "validating"])
async def test_webhooks_that_answer_oddly_are_taken_as_a_real_server_takes_them(
    is_mutating: bool, control_plane: Cluster, namespace: str, tmp_path: Path
) -> None:
    real = Real(control_plane)
    path = f"{HOOKS}/{KINDS[is_mutating].lower()}s"
    async with serving(tmp_path) as (port, bundle):
        hooks = mutating(namespace, port, bundle)
        cases = CASES
        if not is_mutating:
            cases = VALIDATED
            hooks = [each for each in hooks if each["name"].partition(".")[0] in VALIDATED]
        body = configuration(f"odd-{namespace}", is_mutating, hooks)
        made = await asyncio.to_thread(
            real.ask, Ask(what="configure", method="POST", path=path, body=body)
        )
        assert made.code == 201, made
        try:
            await effective(real, namespace)
            truths = [await asyncio.to_thread(real.ask, ask) for ask in asks(namespace, cases)]
        finally:
            away = Ask(what="away", method="DELETE", path=f"{path}/odd-{namespace}")
            await asyncio.to_thread(real.ask, away)

    async def answered(path: str, body: bytes) -> tuple[int, bytes]:
        return odd_hooks.answer(path, body)

    simulated = Simulated(caller=LocalCaller({f"127.0.0.1:{port}": answered}))
    await simulated.start(namespace)
    made = await simulated.ask(Ask(what="configure", method="POST", path=path, body=body))
    assert made.code == 201, made
    told = [await simulated.ask(ask) for ask in asks(namespace, cases)]
    differences = [
        f"{ask.what}: {each}"
        for ask, truth, ours in zip(asks(namespace, cases), truths, told, strict=True)
        for each in differing(shown(ask, truth), shown(ask, ours))
    ]
    assert not differences, "\n".join(differences)
