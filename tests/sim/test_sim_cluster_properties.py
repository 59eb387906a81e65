"""What holds of jobs on the simulated cluster, whatever they ask for and is done to them."""

import asyncio
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import looptime
import msgspec
from controller_scenes import job, says
from hypothesis import given, settings
from hypothesis import strategies as st

from kq.core.kinds import JOB, POD, ResourceKind
from kq.kube.client import Client
from kq.kube.connection import Connection
from kq.kube.errors import NotFound
from kq.sim.api.server import ApiServer
from kq.sim.cluster.cluster import controllers, node
from kq.sim.cluster.plays import drawn
from kq.sim.control.running import Running
from kq.sim.local import LocalTransport

START = datetime(2026, 3, 1, tzinfo=UTC)
NODE = ResourceKind("", "v1", "Node", "nodes", namespaced=False)

JOBS = st.fixed_dictionaries(
    {
        "parallelism": st.integers(1, 4),
        "completions": st.integers(1, 6),
        "backoffLimit": st.integers(0, 3),
        "completionMode": st.sampled_from(["NonIndexed", "Indexed"]),
        "suspend": st.booleans(),
    }
)
DEEDS = st.lists(
    st.tuples(
        st.integers(0, 2), st.sampled_from(["suspend", "resume", "kill"]), st.integers(0, 40)
    ),
    max_size=6,
)


def listed(page: bytes) -> list[dict[str, Any]]:
    """The objects of a list."""
    return list(msgspec.json.decode(page)["items"])


async def lived(specs: list[dict[str, Any]], deeds: list[tuple[int, str, int]], seed: int) -> None:
    """A quarter of an hour of these jobs, in which these things are done to them."""
    loop = asyncio.get_running_loop()
    server = ApiServer(clock=lambda: START + timedelta(seconds=loop.time()), random=Random(seed))
    await server.start()
    running = Running(server, controllers(drawn(Random(seed), mean=5.0, failing=0.2)))
    running.start()
    transport = LocalTransport(server)
    async with Client(Connection(base_url="https://sim"), transport=transport) as client:
        await client.create(NODE, node("node-0"))
        await asyncio.sleep(0.1)
        for number, spec in enumerate(specs):
            await client.create(JOB, job(f"j{number}", spec=spec, linger_for="2s"), "default")
        for number, deed, seconds in sorted(deeds, key=lambda each: each[2]):
            await asyncio.sleep(max(0.0, seconds - loop.time()))
            await done(client, f"j{number % len(specs)}", deed)
            judged(listed(await client.list_page(JOB, "default")), await pods_of(client))
        for number in range(len(specs)):
            await done(client, f"j{number}", "resume")
        await asyncio.sleep(900)
        jobs, pods = listed(await client.list_page(JOB, "default")), await pods_of(client)
    await running.stop()
    assert running.failures == []
    judged(jobs, pods)
    assert all(says("Complete")(each) or says("Failed")(each) for each in jobs)
    assert not [each for each in pods if each["metadata"].get("finalizers")]


async def pods_of(client: Client) -> list[dict[str, Any]]:
    return listed(await client.list_page(POD, "default"))


async def done(client: Client, name: str, deed: str) -> None:
    """Does something to a job that may have ended."""
    if deed == "kill":
        for pod in await pods_of(client):
            if pod["metadata"]["name"].startswith(f"{name}-"):
                await client.delete(POD, pod["metadata"]["name"], "default")
                return
        return
    try:
        suspended = {"spec": {"suspend": deed == "suspend"}}
        await client.merge_patch(JOB, name, "default", suspended)
    except NotFound:
        return


def judged(jobs: list[dict[str, Any]], pods: list[dict[str, Any]]) -> None:
    """What holds at every moment."""
    for each in jobs:
        spec, status = each["spec"], each["status"]
        live = [
            pod
            for pod in pods
            if pod["metadata"]["ownerReferences"][0]["uid"] == each["metadata"]["uid"]
            and pod["status"]["phase"] in ("Pending", "Running")
            and "deletionTimestamp" not in pod["metadata"]
        ]
        assert len(live) <= min(spec["parallelism"], spec["completions"])
        assert status.get("succeeded", 0) <= spec["completions"]
        assert status.get("ready", 0) <= status.get("active", 0)
        if says("Complete")(each):
            assert status["succeeded"] == spec["completions"]
            assert "active" not in status
        if says("Failed")(each):
            assert status["failed"] > spec["backoffLimit"]


@settings(max_examples=12)
@given(st.lists(JOBS, min_size=1, max_size=3), DEEDS, st.integers(0, 9))
def test_jobs_end_with_their_pods_counted_whatever_is_done_to_them(specs, deeds, seed):
    loop = looptime.new_event_loop()
    try:
        loop.run_until_complete(lived(specs, deeds, seed))
    finally:
        loop.close()
