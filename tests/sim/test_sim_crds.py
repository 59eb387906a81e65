"""Custom kinds: served with their definition, in each of its versions, and gone with it."""

import copy

import pytest
from odd_requests import CRD_PATH, CRDS
from simulation import WIDGET, Sim, status, widgets

pytestmark = pytest.mark.looptime

WIDGETS_CRD = f"{CRD_PATH}/widgets.sim.kq.example"


async def test_a_definition_is_established_and_its_kind_served_at_once() -> None:
    sim = await Sim().start()
    crd = await sim.told("GET", WIDGETS_CRD)
    assert [each["type"] for each in crd["status"]["conditions"]] == [
        "NamesAccepted",
        "Established",
    ]
    assert crd["status"]["storedVersions"] == ["v1"]
    assert (await sim.ask("GET", widgets())).code == 200


async def test_with_a_definition_its_objects_go_whatever_holds_them() -> None:
    sim = await Sim().start()
    await sim.widget("a", finalizers=["kq.example/hold"])
    kind = sim.server.registry.find(WIDGET.group, WIDGET.version, WIDGET.plural)
    assert kind is not None
    await sim.told("DELETE", WIDGETS_CRD)
    assert (await sim.ask("GET", widgets())).code == 404
    assert sim.server.storage.list(kind) == []
    assert await sim.told("POST", CRD_PATH, CRDS[0])
    assert (await sim.told("GET", widgets()))["items"] == []


async def test_an_object_is_read_in_each_version_that_is_served() -> None:
    sim = await Sim().start()
    crd = await sim.told("GET", WIDGETS_CRD)
    old = {**crd["spec"]["versions"][0], "name": "v1alpha1", "storage": False}
    await sim.told("PATCH", WIDGETS_CRD, {"spec": {"versions": [*crd["spec"]["versions"], old]}})
    made = await sim.widget("a")
    path = widgets(name="a").replace("/v1/", "/v1alpha1/")
    shown = await sim.told("GET", path)
    assert shown == {**made, "apiVersion": "sim.kq.example/v1alpha1"}
    changed = await sim.told("PATCH", path, {"spec": {"x": 1}})
    assert changed["apiVersion"] == "sim.kq.example/v1alpha1"
    listed = await sim.told("GET", widgets())
    assert [each["apiVersion"] for each in listed["items"]] == ["sim.kq.example/v1"]
    await sim.told("PATCH", WIDGETS_CRD, {"spec": {"versions": crd["spec"]["versions"]}})
    assert (await sim.ask("GET", path)).code == 404


async def test_a_definition_is_called_by_what_it_defines() -> None:
    sim = await Sim().start()
    crd = copy.deepcopy(CRDS[0])
    crd["metadata"]["name"] = "gadgets.sim.kq.example"
    refusal = status(await sim.ask("POST", CRD_PATH, crd))
    assert refusal["code"] == 422
    assert 'must be spec.names.plural+"."+spec.group' in refusal["message"]


async def test_a_namespace_ends_when_its_controller_lets_it_go() -> None:
    sim = await Sim().start()
    made = await sim.told("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    assert made["spec"]["finalizers"] == ["kubernetes"]
    assert (await sim.told("DELETE", "/api/v1/namespaces/n"))["status"]["phase"] == "Terminating"
    ended = await sim.told("GET", "/api/v1/namespaces/n")
    assert (await sim.told("DELETE", "/api/v1/namespaces/n")) == ended
    await sim.told("PUT", "/api/v1/namespaces/n/finalize", {**ended, "spec": {}})
    await sim.ask("DELETE", "/api/v1/namespaces/n")
    assert (await sim.ask("GET", "/api/v1/namespaces/n")).code == 404
