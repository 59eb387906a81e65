"""Pods that are looked for by a list, as no watch has shown them yet (spec 24.3)."""

import builders
import pytest
from simulation import Sim

from kq.core.kinds import NAMESPACE, POD, ResourceKind
from kq.kube.client import Client
from kq.kube.connection import Connection
from kq.reconcile.pods import PAGE, has_pods
from kq.sim.local import LocalTransport

RAY = ResourceKind("ray.io", "v1", "RayJob", "rayjobs")
STOPPED = builders.job_view(kind=RAY, resource_version="50", has_run=True, suspended=True)


async def finds(*labels: dict[str, str], phase: str = "Running") -> bool:
    """Whether pods of the job are found where there are pods with these labels."""
    sim = await Sim().start()
    transport = LocalTransport(sim.server)
    async with Client(Connection(base_url="https://sim"), transport=transport) as client:
        await client.create(NAMESPACE, {"metadata": {"name": "team-a"}})
        for number, each in enumerate(labels):
            meta = {"name": f"p-{number:03}", "labels": each}
            body = {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}]}}
            await client.create(POD, body, "team-a")
            status = {"status": {"phase": phase}}
            await client.merge_patch(POD, meta["name"], "team-a", status, subresource="status")
        return await has_pods(client, STOPPED)


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        pytest.param({"ray.io/cluster": "train-x7k2p"}, True, id="of its cluster"),
        pytest.param({"ray.io/cluster": "train-raycluster-x7k2p"}, True, id="as older KubeRays do"),
        pytest.param({"batch.kubernetes.io/job-name": "train"}, True, id="of the Job that submits"),
        pytest.param({"ray.io/cluster": "train-two-x7k2p"}, False, id="of another's cluster"),
        pytest.param({"ray.io/cluster": "train"}, False, id="of a RayCluster of that name"),
        pytest.param({"batch.kubernetes.io/job-name": "other"}, False, id="of another Job"),
        pytest.param({}, False, id="of nobody"),
    ],
)
@pytest.mark.looptime
async def test_pods_of_a_rayjob_whose_cluster_nobody_names_are_found_by_names(
    labels: dict[str, str], found: bool
) -> None:
    assert await finds(labels) == found
    assert not await finds(labels, phase="Succeeded")


@pytest.mark.looptime
async def test_pods_are_found_on_whatever_page_they_are() -> None:
    others = [{"ray.io/cluster": "other-x7k2p"}] * PAGE
    assert not await finds(*others)
    assert await finds(*others, {"ray.io/cluster": "train-x7k2p"})
