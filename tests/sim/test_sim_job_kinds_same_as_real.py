"""CRDs as large as operators publish them: the simulated API server takes them as a real one does.

And the small ones that the simulator brings say what the published ones say, as far as they go.
"""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest
from controlplane import probes
from controlplane.cluster import Cluster
from odd_requests import CRD_PATH
from operator_kinds import JOBS, Renamed, asks, in_order, published, renamed
from same import Real, Simulated, differing, shown
from simulation import Sim

from kq.sim.crds.definitions import Variant, job_kinds

LIKE_OTHERS = ("tfjobs", "xgboostjobs", "paddlejobs", "mpijobs", "rayclusters")
"""Kinds whose schemas have nothing that those of PyTorchJob and RayJob do not have."""
COMPARED = [each for each in JOBS if each not in LIKE_OTHERS]


@pytest.fixture(scope="module")
def kinds(control_plane: Cluster) -> Iterator[list[Renamed]]:
    """Published kinds that are served, each in a group of its own, and a namespace for jobs."""
    namespace = f"kinds-{secrets.token_hex(3)}"
    control_plane.api("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    made = [renamed(plural, namespace) for plural in COMPARED]
    try:
        for each in made:
            control_plane.api("POST", CRD_PATH, each.crd)
        for each in made:
            path = each.base.replace(f"/namespaces/{namespace}", "")
            probes.until(lambda path=path: probes.serves(control_plane, path), path, 60.0)
        yield made
    finally:
        for each in made:
            control_plane.api("DELETE", f"{CRD_PATH}/{each.crd['metadata']['name']}")
        control_plane.api("DELETE", f"/api/v1/namespaces/{namespace}")


async def test_published_kinds_are_served_as_by_a_real_server(
    control_plane: Cluster, kinds: list[Renamed]
) -> None:
    real, ours = Real(control_plane), Simulated()
    await ours.start(kinds[0].namespace, [each.crd for each in kinds])
    different = []
    for kind in kinds:
        for ask in asks(kind):
            truth, told = real.ask(ask), await ours.ask(ask)
            found = differing(in_order(shown(ask, truth)), in_order(shown(ask, told)))
            different += [f"{kind.job['kind']}, {ask.what}: {each}" for each in found]
    assert not different, "\n".join(different)


@pytest.mark.usefixtures("binaries")
@pytest.mark.parametrize("plural", JOBS)
def test_small_definitions_name_what_the_published_ones_name(plural: str) -> None:
    [ours] = [each for each in job_kinds() if each["spec"]["names"]["plural"] == plural]
    assert outside(ours) == outside(published(plural))


@pytest.mark.usefixtures("binaries")
def test_the_other_mpijob_is_named_as_the_published_one() -> None:
    variants = job_kinds(Variant.TRAINING)
    [ours] = [each for each in variants if each["spec"]["names"]["plural"] == "mpijobs"]
    assert outside(ours) == outside(published("mpijobs", "v1"))


def outside(crd: Any) -> Any:
    """All of a CRD but its schemas."""
    spec = crd["spec"]
    versions = [
        {key: value for key, value in each.items() if key != "schema" and value != {}}
        for each in spec["versions"]
    ]
    return {**spec, "metadata": crd["metadata"]["name"], "versions": versions}


@pytest.mark.usefixtures("binaries")
@pytest.mark.parametrize("plural", JOBS)
async def test_small_definitions_keep_and_add_what_the_published_ones_do(
    plural: str,
) -> None:
    """Only what is in pod templates may differ: the small ones do not know these."""
    [small] = [each for each in job_kinds() if each["spec"]["names"]["plural"] == plural]
    stored = [await spec_of(crd, plural) for crd in (small, published(plural))]
    assert stored[0] == stored[1]


async def spec_of(crd: Any, plural: str) -> Any:
    sim = await Sim().start()
    await sim.told("POST", CRD_PATH, {**crd, "status": None})
    job = JOBS[plural]
    path = f"/apis/{job['apiVersion']}/namespaces/default/{plural}"
    made = await sim.told("POST", path, job)
    return made["spec"]
