"""Writes: what the server adds, keeps and counts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulation import Sim, status, widgets

from kq.sim.api.kinds import Naming
from kq.sim.api.names import labels_faults, name_faults, qualified_faults

pytestmark = pytest.mark.looptime

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


async def test_generated_names_differ_and_begin_as_asked() -> None:
    sim = await Sim().start()
    made = {
        (await sim.told("POST", MAPS, {"metadata": {"generateName": "job-"}}))["metadata"]["name"]
        for _ in range(50)
    }
    assert len(made) == 50
    assert {name[:4] for name in made} == {"job-"}


async def test_a_long_prefix_is_cut_so_that_the_name_stays_a_label() -> None:
    sim = await Sim().start()
    made = await sim.told("POST", MAPS, {"metadata": {"generateName": "x" * 80}})
    assert len(made["metadata"]["name"]) == 63


async def test_the_same_randomness_gives_the_same_uids() -> None:
    uids = [
        (await (await Sim().start()).told("POST", MAPS, {"metadata": {"name": "c"}}))["metadata"]
        for _ in range(2)
    ]
    assert uids[0]["uid"] == uids[1]["uid"]


async def test_the_generation_counts_changes_of_the_content_only() -> None:
    sim = await Sim().start()
    path = widgets(name="w")
    generations = [(await sim.widget("w"))["metadata"]["generation"]]
    for body, where in (
        ({"spec": {"a": 1}}, path),
        ({"spec": {"a": 1}}, path),
        ({"metadata": {"labels": {"a": "b"}}}, path),
        ({"status": {"a": 1}}, f"{path}/status"),
        ({"spec": {"a": True}}, path),
        ({"metadata": {"generation": 9}}, path),
    ):
        told = await sim.told("PATCH", where, body)
        generations.append(told["metadata"]["generation"])
    assert generations == [1, 2, 2, 2, 2, 3, 3]


async def test_a_write_that_changes_nothing_leaves_the_version() -> None:
    sim = await Sim().start()
    made = await sim.widget("w", labels={"a": "b"})
    before = sim.server.storage.version
    assert await sim.told("PATCH", widgets(name="w"), {"metadata": {"labels": {"a": "b"}}}) == made
    assert await sim.told("PUT", widgets(name="w"), made) == made
    assert sim.server.storage.version == before


async def test_true_is_not_one() -> None:
    sim = await Sim().start()
    await sim.widget("w")
    await sim.told("PATCH", widgets(name="w"), {"spec": {"a": 1}})
    told = await sim.told("PATCH", widgets(name="w"), {"spec": {"a": True}})
    assert told["spec"]["a"] is True
    assert (await sim.told("GET", widgets(name="w")))["spec"]["a"] is True


async def test_finalizers_hold_a_deleted_object_until_the_last_is_gone() -> None:
    sim = await Sim().start()
    await sim.widget("w", finalizers=["kq.example/a", "kq.example/b"])
    marked = await sim.told("DELETE", widgets(name="w"))
    assert marked["metadata"]["deletionTimestamp"] == marked["metadata"]["creationTimestamp"]
    one = {"metadata": {"finalizers": ["kq.example/b"]}}
    assert (await sim.told("PATCH", widgets(name="w"), one))["metadata"]["finalizers"] == [
        "kq.example/b"
    ]
    await sim.told("PATCH", widgets(name="w"), {"metadata": {"finalizers": None}})
    assert (await sim.ask("GET", widgets(name="w"))).code == 404
    changes = [each.change for each in sim.server.storage.events_since("widgets.sim.kq.example", 0)]
    assert changes == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]


@pytest.mark.parametrize(
    ("pod", "options", "grace"),
    [
        ({"nodeName": "n"}, {}, 30),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 7}, {}, 7),
        ({"nodeName": "n"}, {"gracePeriodSeconds": 3}, 3),
        ({"nodeName": "n"}, {"gracePeriodSeconds": -5}, 1),
        ({"nodeName": "n"}, {"gracePeriodSeconds": 0}, None),
        ({}, {"gracePeriodSeconds": 9}, None),
    ],
    ids=["default", "its own", "asked for", "negative", "none", "on no node"],
)
async def test_a_pod_has_its_grace_to_end(
    pod: dict[str, Any], options: dict[str, Any], grace: int | None
) -> None:
    sim = await Sim().start()
    spec = {"containers": [{"name": "m", "image": "x"}], **pod}
    await sim.told("POST", PODS, {"metadata": {"name": "p"}, "spec": spec})
    await sim.told("DELETE", f"{PODS}/p", options)
    left = await sim.ask("GET", f"{PODS}/p")
    if grace is None:
        assert left.code == 404
    else:
        meta = (await sim.told("GET", f"{PODS}/p"))["metadata"]
        assert meta["deletionGracePeriodSeconds"] == grace
        assert meta["deletionTimestamp"] == f"2026-01-01T00:00:{grace:02}Z"


async def test_a_collection_is_deleted_by_what_selects_it() -> None:
    sim = await Sim().start()
    for name in "abc":
        await sim.widget(name, labels={"x": name})
    gone = await sim.told("DELETE", widgets(), labelSelector="x in (a,b)")
    assert [each["metadata"]["name"] for each in gone["items"]] == ["a", "b"]
    left = await sim.told("GET", widgets())
    assert [each["metadata"]["name"] for each in left["items"]] == ["c"]


async def test_a_dry_run_answers_and_keeps_nothing() -> None:
    sim = await Sim().start()
    await sim.widget("w")
    before = sim.server.storage.version
    patched = await sim.told("PATCH", widgets(name="w"), {"spec": {"a": 1}}, dryRun="All")
    assert patched["spec"] == {"a": 1}
    await sim.told("DELETE", widgets(name="w"), dryRun="All")
    assert "spec" not in await sim.told("GET", widgets(name="w"))
    assert sim.server.storage.version == before


async def test_what_is_no_object_is_refused() -> None:
    sim = await Sim().start()
    for body in ([], "text", 7, None):
        assert status(await sim.ask("POST", MAPS, body))["reason"] == "BadRequest"


labels = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)


@given(labels, st.sampled_from(Naming))
def test_a_dns_label_is_a_name_of_any_kind(name: str, naming: Naming) -> None:
    assert name_faults(name, naming) == []
    assert name_faults(f"{name}-", naming, prefix=True) == []


@given(st.text(max_size=70), st.text(max_size=70))
def test_a_label_without_faults_is_what_its_rule_says(key: str, value: str) -> None:
    if not labels_faults({key: value}):
        assert key.rpartition("/")[2]
        assert len(value) <= 63
        assert value == value.strip("-_.")
        assert not qualified_faults(key)
