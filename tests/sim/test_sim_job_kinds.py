"""The kinds of jobs that the simulator brings: what is kept of a job, and what is said of it."""

from typing import Any

import pytest
from odd_requests import CRD_PATH
from operator_kinds import CONDITION, JOBS
from simulation import Sim, status

from kq.sim.crds.definitions import Variant, job_kinds

pytestmark = pytest.mark.looptime


async def with_kinds(*variants: Variant) -> Sim:
    sim = await Sim().start()
    for crd in job_kinds(*variants):
        assert (await sim.ask("POST", CRD_PATH, crd)).code == 201
    return sim


def place(plural: str, name: str = "") -> str:
    base = f"/apis/{JOBS[plural]['apiVersion']}/namespaces/default/{plural}"
    return f"{base}/{name}" if name else base


@pytest.mark.parametrize("plural", JOBS)
async def test_a_held_job_is_kept_as_it_was_sent(plural: str) -> None:
    sim, job = await with_kinds(), JOBS[plural]
    answer = await sim.ask("POST", place(plural), job)
    assert (answer.code, answer.warnings) == (201, ())
    made = await sim.told("GET", place(plural, "a"))
    assert contains(made["spec"], job["spec"])
    assert made["metadata"]["generation"] == 1


def contains(whole: Any, part: Any) -> bool:
    match whole, part:
        case dict(), dict():
            return all(key in whole and contains(whole[key], part[key]) for key in part)
        case list(), list():
            pairs = zip(whole, part, strict=True)
            return all(contains(*pair) for pair in pairs)
        case _:
            return bool(whole == part)


@pytest.mark.parametrize("plural", JOBS)
async def test_all_but_workflows_have_a_status_of_its_own(plural: str) -> None:
    sim = await with_kinds()
    await sim.told("POST", place(plural), JOBS[plural])
    body = {"status": {"conditions": [CONDITION], "driverInfo": {}}}
    answer = await sim.ask("PATCH", f"{place(plural, 'a')}/status", body)
    assert answer.code == (404 if plural == "workflows" else 200)
    made = await sim.told("GET", place(plural, "a"))
    assert made["metadata"]["generation"] == 1
    assert ("status" in made) == (plural != "workflows")


@pytest.mark.parametrize("plural", ["tfjobs", "pytorchjobs"])
async def test_arena_keeps_no_run_policy_and_wants_a_whole_status(plural: str) -> None:
    sim = await with_kinds(Variant.ARENA)
    answer = await sim.ask("POST", place(plural), JOBS[plural])
    assert answer.warnings == ('unknown field "spec.runPolicy"',)
    made = await sim.told("GET", place(plural, "a"))
    assert "runPolicy" not in made["spec"]
    at = f"{place(plural, 'a')}/status"
    refused = status(await sim.ask("PATCH", at, {"status": {"conditions": [CONDITION]}}))
    assert "status.replicaStatuses: Required value" in refused["message"]
    whole = {"status": {"conditions": [CONDITION], "replicaStatuses": {}}}
    assert (await sim.told("PATCH", at, whole))["status"] == whole["status"]


async def test_arena_serves_mpijobs_of_the_first_version_alone() -> None:
    sim = await with_kinds(Variant.ARENA)
    path = "/apis/kubeflow.org/v1alpha1/namespaces/default/mpijobs"
    container = {"name": "mpi", "image": "x"}
    job = {
        "apiVersion": "kubeflow.org/v1alpha1",
        "kind": "MPIJob",
        "metadata": {"name": "a", "annotations": {"scheduling.x-k8s.io/suspend": "true"}},
        "spec": {
            "replicas": 2,
            "launcherResources": {},
            "cleanPodPolicy": "All",
            "template": {"spec": {"containers": [container]}},
        },
    }
    assert (await sim.told("POST", path, job))["spec"] == job["spec"]
    body = {"status": {"launcherStatus": "Active", "conditions": [CONDITION]}}
    seen = await sim.told("PATCH", f"{path}/a/status", body)
    assert seen["status"] == {"launcherStatus": "Active"}
    assert (await sim.ask("GET", place("mpijobs"))).code == 404


async def test_definitions_come_and_go_whatever_of_their_history_is_forgotten() -> None:
    sim = await Sim().start()
    sim.server.storage.compact()
    for crd in job_kinds():
        await sim.told("POST", CRD_PATH, crd)
        sim.server.storage.compact()
    assert (await sim.ask("GET", place("tfjobs"))).code == 200
    sim.server.storage.compact()
    await sim.told("DELETE", f"{CRD_PATH}/tfjobs.kubeflow.org")
    assert (await sim.ask("GET", place("tfjobs"))).code == 404
