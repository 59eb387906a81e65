"""Lists: pages of one version, tokens that expire, and versions asked for."""

import json
from typing import Any

import pytest
from simulation import Sim, status, widgets

pytestmark = pytest.mark.looptime


def names(body: Any) -> list[str]:
    return [each["metadata"]["name"] for each in body["items"]]


async def filled(count: int = 5) -> Sim:
    sim = await Sim().start()
    for index in range(count):
        await sim.widget(f"w{index}")
    return sim


async def test_pages_together_are_the_list_at_the_version_of_the_first() -> None:
    sim = await filled()
    first = await sim.told("GET", widgets(), limit="2")
    assert names(first) == ["w0", "w1"]
    assert first["metadata"]["remainingItemCount"] == 3
    await sim.told("DELETE", widgets(name="w2"))
    await sim.widget("w9")
    token = first["metadata"]["continue"]
    second = await sim.told("GET", widgets(), **{"limit": "2", "continue": token})
    token = second["metadata"]["continue"]
    third = await sim.told("GET", widgets(), **{"limit": "2", "continue": token})
    assert names(second) + names(third) == ["w2", "w3", "w4"]
    assert third["metadata"]["continue"] == ""
    versions = {each["metadata"]["resourceVersion"] for each in (first, second, third)}
    assert len(versions) == 1


async def test_a_token_expires_with_the_history_and_says_how_to_go_on() -> None:
    sim = await filled()
    first = await sim.told("GET", widgets(), limit="2")
    await sim.widget("w9")
    sim.server.storage.compact()
    token = first["metadata"]["continue"]
    refusal = status(await sim.ask("GET", widgets(), **{"limit": "2", "continue": token}))
    assert (refusal["code"], refusal["reason"]) == (410, "Expired")
    assert refusal["message"].startswith("The provided continue parameter is too old")
    rest = await sim.told("GET", widgets(), **{"continue": refusal["metadata"]["continue"]})
    assert names(rest) == ["w2", "w3", "w4", "w9"]


async def test_with_a_selector_nobody_knows_how_many_remain() -> None:
    sim = await filled(0)
    for index in range(4):
        await sim.widget(f"w{index}", labels={"even": str(index % 2 == 0).lower()})
    page = await sim.told("GET", widgets(), limit="1", labelSelector="even=true")
    assert names(page) == ["w0"]
    assert "remainingItemCount" not in page["metadata"]
    token = page["metadata"]["continue"]
    rest = await sim.told("GET", widgets(), **{"continue": token, "labelSelector": "even=true"})
    assert names(rest) == ["w2"]


async def test_an_exact_version_is_given_as_it_was_until_it_is_forgotten() -> None:
    sim = await filled(2)
    version = str(sim.server.storage.version)
    await sim.widget("later")
    exactly = {"resourceVersion": version, "resourceVersionMatch": "Exact"}
    then = await sim.told("GET", widgets(), **exactly)
    assert names(then) == ["w0", "w1"]
    assert then["metadata"]["resourceVersion"] == version
    assert names(await sim.told("GET", widgets(), resourceVersion=version)) == [
        "later",
        "w0",
        "w1",
    ]
    sim.server.storage.compact()
    refusal = status(await sim.ask("GET", widgets(), **exactly))
    assert refusal["message"] == "The resourceVersion for the provided list is too old."


async def test_a_version_of_the_future_is_too_large() -> None:
    sim = await filled(1)
    refusal = status(await sim.ask("GET", widgets(), resourceVersion="99999"))
    assert (refusal["code"], refusal["reason"]) == (504, "Timeout")
    assert refusal["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


async def test_items_of_built_in_kinds_do_not_say_what_they_are() -> None:
    sim = await filled(0)
    body = await sim.told("GET", "/api/v1/namespaces")
    assert {"apiVersion", "kind"} & body["items"][0].keys() == set()
    assert (body["apiVersion"], body["kind"]) == ("v1", "NamespaceList")
    await sim.widget("w")
    assert (await sim.told("GET", widgets()))["items"][0]["kind"] == "Widget"


async def test_a_list_of_all_namespaces_has_each_of_them() -> None:
    sim = await filled(1)
    await sim.widget("x", "kube-system")
    answer = await sim.ask("GET", "/apis/sim.kq.example/v1/widgets")
    assert names(json.loads(answer.body)) == ["w0", "x"]
