"""Admission on virtual time: who is asked about what, in which order, and what time-outs mean."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from simulation import Sim, status, widgets

from kq.sim.api.admission import Operation, Review
from kq.sim.api.status import ApiStatus
from kq.sim.local import LocalCaller

pytestmark = pytest.mark.looptime

MAPS = "/api/v1/namespaces/default/configmaps"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
Respond = Callable[[dict[str, Any]], Awaitable[dict[str, Any]] | dict[str, Any]]


class Hooked:
    """A server with webhooks that answer as the test says, and what they were asked."""

    def __init__(self, **responses: Respond) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self._responses = responses
        self.sim = Sim(caller=LocalCaller({"hooks.kq.svc:443": self._answer}))

    async def _answer(self, path: str, body: bytes) -> tuple[int, bytes]:
        request = json.loads(body)["request"]
        name = path.strip("/")
        self.asked.append((name, request))
        response = self._responses[name](request)
        if not isinstance(response, dict):
            response = await response
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        return 200, json.dumps(review | {"response": {"uid": request["uid"], **response}}).encode()

    async def configure(
        self, *webhooks: dict[str, Any], name: str = "odd", mutating: bool = True
    ) -> None:
        kind = "MutatingWebhookConfiguration" if mutating else "ValidatingWebhookConfiguration"
        body = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": name},
            "webhooks": list(webhooks),
        }
        await self.sim.told("POST", f"{HOOKS}/{kind.lower()}s", body)

    def names(self) -> list[str]:
        return [name for name, _ in self.asked]


def webhook(path: str, **more: Any) -> dict[str, Any]:
    return {
        "name": f"{path}.kq.example",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"service": {"namespace": "kq", "name": "hooks", "path": f"/{path}"}},
        "rules": [rule(resources=["configmaps"])],
        **more,
    }


def rule(**more: Any) -> dict[str, Any]:
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"]}
    return {**everything, "resources": ["*"], **more}


def config_map(name: str = "c", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "data": {"a": "b"}}


def allow(_: dict[str, Any]) -> dict[str, Any]:
    return {"allowed": True}


def deny(_: dict[str, Any]) -> dict[str, Any]:
    return {"allowed": False, "status": {"message": "no"}}


def patching(path: str, value: Any) -> Respond:
    content = json.dumps([{"op": "add", "path": path, "value": value}]).encode()

    def respond(_: dict[str, Any]) -> dict[str, Any]:
        patch = base64.b64encode(content).decode()
        return {"allowed": True, "patchType": "JSONPatch", "patch": patch}

    return respond


async def test_webhooks_are_asked_in_the_order_of_their_configurations_names() -> None:
    hooked = Hooked(first=allow, second=allow, third=allow)
    await hooked.sim.start()
    await hooked.configure(webhook("third"), name="b")
    await hooked.configure(webhook("first"), webhook("second"), name="a")
    await hooked.sim.told("POST", MAPS, config_map())
    assert hooked.names() == ["first", "second", "third"]


async def test_validating_webhooks_see_what_mutating_ones_made() -> None:
    hooked = Hooked(change=patching("/data/x", "y"), look=allow)
    await hooked.sim.start()
    await hooked.configure(webhook("change"))
    await hooked.configure(webhook("look"), mutating=False)
    made = await hooked.sim.told("POST", MAPS, config_map())
    assert made["data"] == {"a": "b", "x": "y"}
    assert hooked.asked[1][1]["object"]["data"] == {"a": "b", "x": "y"}


async def test_a_webhook_that_was_asked_too_early_is_asked_once_more() -> None:
    hooked = Hooked(early=allow, change=patching("/data/x", "y"), late=allow)
    await hooked.sim.start()
    await hooked.configure(
        webhook("early", reinvocationPolicy="IfNeeded"),
        webhook("change", reinvocationPolicy="IfNeeded"),
        webhook("late", reinvocationPolicy="IfNeeded"),
    )
    await hooked.sim.told("POST", MAPS, config_map())
    assert hooked.names() == ["early", "change", "late", "early"]


@pytest.mark.parametrize(
    ("rules", "path", "body", "asked"),
    [
        (rule(resources=["configmaps"]), MAPS, config_map(), True),
        (rule(resources=["*"]), MAPS, config_map(), True),
        (rule(resources=["secrets"]), MAPS, config_map(), False),
        (rule(resources=["configmaps/status"]), MAPS, config_map(), False),
        (rule(operations=["UPDATE", "DELETE"]), MAPS, config_map(), False),
        (rule(apiGroups=["batch"]), MAPS, config_map(), False),
        (rule(apiVersions=["v2"]), MAPS, config_map(), False),
        (rule(scope="Namespaced"), MAPS, config_map(), True),
        (rule(scope="Cluster"), MAPS, config_map(), False),
        (rule(scope="Cluster"), "/api/v1/namespaces", config_map("n"), True),
    ],
    ids=[
        "its resource",
        "any resource",
        "another resource",
        "a subresource",
        "other operations",
        "another group",
        "another version",
        "namespaced",
        "cluster-scoped",
        "a namespace is cluster-scoped",
    ],
)
async def test_rules_say_who_is_asked(
    rules: dict[str, Any], path: str, body: dict[str, Any], asked: bool
) -> None:
    hooked = Hooked(hook=allow)
    await hooked.sim.start()
    await hooked.configure(webhook("hook", rules=[rules]))
    await hooked.sim.told("POST", path, {"metadata": body["metadata"]})
    assert bool(hooked.asked) is asked


@pytest.mark.parametrize(
    ("selectors", "asked"),
    [
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}, True),
        ({"namespaceSelector": {"matchLabels": {"team": "a"}}}, False),
        ({"objectSelector": {"matchLabels": {"x": "1"}}}, True),
        ({"objectSelector": {"matchLabels": {"x": "2"}}}, False),
    ],
    ids=["its namespace", "another namespace", "its label", "another label"],
)
async def test_selectors_say_who_is_asked(selectors: dict[str, Any], asked: bool) -> None:
    hooked = Hooked(hook=allow)
    await hooked.sim.start()
    await hooked.configure(webhook("hook", **selectors))
    await hooked.sim.told("POST", MAPS, config_map(labels={"x": "1"}))
    assert bool(hooked.asked) is asked


async def test_an_object_selector_looks_at_what_was_too() -> None:
    hooked = Hooked(hook=allow)
    await hooked.sim.start()
    await hooked.configure(webhook("hook", objectSelector={"matchLabels": {"x": "1"}}))
    await hooked.sim.told("POST", MAPS, config_map(labels={"x": "1"}))
    await hooked.sim.told("PATCH", f"{MAPS}/c", {"metadata": {"labels": {"x": None}}})
    await hooked.sim.told("PATCH", f"{MAPS}/c", {"data": {"a": "c"}})
    assert [request["operation"] for _, request in hooked.asked] == ["CREATE", "UPDATE"]


async def test_a_status_write_concerns_those_who_name_the_subresource() -> None:
    hooked = Hooked(main=allow, sub=allow)
    await hooked.sim.start()
    await hooked.sim.widget("w")
    await hooked.configure(
        webhook("main", rules=[rule(resources=["widgets"])]),
        webhook("sub", rules=[rule(resources=["widgets/*"])]),
    )
    await hooked.sim.told("PATCH", widgets(name="w") + "/status", {"status": {"a": 1}})
    assert hooked.names() == ["sub"]
    assert hooked.asked[0][1]["subResource"] == "status"


async def test_the_configurations_themselves_concern_no_webhook() -> None:
    hooked = Hooked(hook=deny)
    await hooked.sim.start()
    await hooked.configure(webhook("hook", rules=[rule()]))
    path = f"{HOOKS}/mutatingwebhookconfigurations/odd"
    await hooked.sim.told("DELETE", path)
    assert hooked.asked == []
    await hooked.sim.told("POST", MAPS, config_map())


async def test_a_deletion_can_be_denied() -> None:
    hooked = Hooked(hook=deny)
    await hooked.sim.start()
    await hooked.sim.told("POST", MAPS, config_map())
    await hooked.configure(webhook("hook"), mutating=False)
    refusal = status(await hooked.sim.ask("DELETE", f"{MAPS}/c"))
    assert refusal["message"] == 'admission webhook "hook.kq.example" denied the request: no'
    request = hooked.asked[0][1]
    assert (request["operation"], request["object"]) == ("DELETE", None)
    assert request["oldObject"]["data"] == {"a": "b"}
    await hooked.sim.told("GET", f"{MAPS}/c")


async def never(_: dict[str, Any]) -> dict[str, Any]:
    await asyncio.Event().wait()
    return {}


@pytest.mark.parametrize(
    ("policy", "code"), [("Fail", 500), ("Ignore", 201)], ids=["closed", "open"]
)
async def test_a_webhook_that_does_not_answer_in_time_fails_by_its_policy(
    policy: str, code: int
) -> None:
    hooked = Hooked(hook=never)
    await hooked.sim.start()
    await hooked.configure(webhook("hook", failurePolicy=policy, timeoutSeconds=7))
    started = asyncio.get_running_loop().time()
    answer = await hooked.sim.ask("POST", MAPS, config_map())
    assert answer.code == code
    assert asyncio.get_running_loop().time() - started == 7
    if code == 500:
        assert "context deadline exceeded" in status(answer)["message"]


async def test_a_write_takes_no_longer_than_the_server_gives_it() -> None:
    hooked = Hooked(one=never, two=never)
    await hooked.sim.start()
    await hooked.configure(
        *(webhook(name, failurePolicy="Ignore", timeoutSeconds=30) for name in ("one", "two"))
    )
    started = asyncio.get_running_loop().time()
    refusal = status(await hooked.sim.ask("POST", MAPS, config_map()))
    assert (refusal["code"], refusal["reason"]) == (504, "Timeout")
    assert asyncio.get_running_loop().time() - started == 34


async def test_validating_webhooks_are_asked_at_the_same_time() -> None:
    async def slowly(_: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(3)
        return {"allowed": True, "warnings": ["slow"]}

    hooked = Hooked(one=slowly, two=slowly)
    await hooked.sim.start()
    await hooked.configure(webhook("one"), webhook("two"), mutating=False)
    started = asyncio.get_running_loop().time()
    answer = await hooked.sim.ask("POST", MAPS, config_map())
    assert answer.warnings == ("slow", "slow")
    assert asyncio.get_running_loop().time() - started == 3


async def test_a_patch_is_done_anew_on_what_others_wrote_while_webhooks_looked() -> None:
    async def slowly(_: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(3)
        return {"allowed": True}

    hooked = Hooked(hook=slowly)
    await hooked.sim.start()
    await hooked.sim.told("POST", MAPS, config_map(labels={"slow": "1"}))
    await hooked.configure(webhook("hook", rules=[rule(operations=["UPDATE"])]))
    first = asyncio.create_task(hooked.sim.told("PATCH", f"{MAPS}/c", {"data": {"x": "1"}}))
    second = asyncio.create_task(hooked.sim.told("PATCH", f"{MAPS}/c", {"data": {"y": "2"}}))
    await asyncio.gather(first, second)
    kept = await hooked.sim.told("GET", f"{MAPS}/c")
    assert kept["data"] == {"a": "b", "x": "1", "y": "2"}
    assert len(hooked.asked) == 3


async def test_a_replacement_conflicts_with_what_others_wrote_while_webhooks_looked() -> None:
    async def slowly(_: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(3)
        return {"allowed": True}

    hooked = Hooked(hook=slowly)
    await hooked.sim.start()
    made = await hooked.sim.told("POST", MAPS, config_map())
    await hooked.configure(webhook("hook", rules=[rule(operations=["UPDATE"])]))
    replacing = asyncio.create_task(hooked.sim.ask("PUT", f"{MAPS}/c", {**made, "data": {}}))
    await asyncio.sleep(1)
    hooked.sim.server.storage.put(
        hooked.sim.server.registry.find("", "v1", "configmaps"),  # type: ignore[arg-type]
        {**made, "data": {"meanwhile": "1"}},
    )
    assert status(await replacing)["reason"] == "Conflict"


async def test_a_webhook_gets_the_version_of_a_kind_that_its_rules_name() -> None:
    hooked = Hooked(hook=patching("/metadata/labels", {"x": "y"}))
    await hooked.sim.start()
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.sim.kq.example"
    crd = await hooked.sim.told("GET", path)
    old = {**crd["spec"]["versions"][0], "name": "v1alpha1", "storage": False}
    await hooked.sim.told("PATCH", path, {"spec": {"versions": [*crd["spec"]["versions"], old]}})
    only_old = [rule(apiVersions=["v1alpha1"], resources=["widgets"])]
    await hooked.configure(webhook("hook", rules=only_old))
    made = await hooked.sim.widget("w")
    request = hooked.asked[0][1]
    assert request["kind"]["version"] == "v1alpha1"
    assert request["object"]["apiVersion"] == "sim.kq.example/v1alpha1"
    assert request["requestKind"]["version"] == "v1"
    assert (made["apiVersion"], made["metadata"]["labels"]) == ("sim.kq.example/v1", {"x": "y"})
    await hooked.configure(webhook("hook", rules=only_old, matchPolicy="Exact"), name="exact")
    await hooked.sim.widget("v")
    assert len(hooked.asked) == 2


class Plugin:
    """Labels what is made, and refuses what is called so."""

    def mutate(self, review: Review) -> None:
        if review.operation is Operation.CREATE and review.obj is not None:
            review.obj["metadata"].setdefault("labels", {})["plugged"] = "in"

    def check(self, review: Review) -> None:
        if review.name == "forbidden":
            raise ApiStatus(403, "Forbidden", "the plugin says no")


async def test_plugins_of_the_server_change_and_refuse_writes() -> None:
    sim = await Sim(plugins=[Plugin()]).start()
    made = await sim.told("POST", MAPS, config_map())
    assert made["metadata"]["labels"] == {"plugged": "in"}
    refusal = status(await sim.ask("POST", MAPS, config_map("forbidden")))
    assert refusal["message"] == "the plugin says no"
