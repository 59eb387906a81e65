"""Whatever is done to jobs of Ray, Spark and Argo, they come to what is asked of them at last."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from random import Random

import pytest
from data_scenes import RAY_CLUSTER, RAY_JOB, Part, Play, is_running
from data_stage import simulated

from kq.core.kinds import POD, ResourceKind
from kq.jobs.argo import WORKFLOW
from kq.jobs.spark import SPARK_APPLICATION
from kq.kube.errors import NotFound

pytestmark = pytest.mark.looptime

PODS: Mapping[ResourceKind, int] = {RAY_JOB: 4, RAY_CLUSTER: 3, SPARK_APPLICATION: 3, WORKFLOW: 2}
STEPS = 15


async def troubled(play: Play, random: Random) -> None:
    """Holds, releases, and waits, in some order; of Ray's clusters pods are deleted too."""
    for _ in range(STEPS):
        await asyncio.sleep(random.choice((0.0, 0.01, 0.1, 0.7, 2.1, 4.0)))
        what = random.choice(("suspend", "resume", "lose"))
        if what != "lose":
            await play.suspend(suspended=what == "suspend")
        elif play.kind == RAY_CLUSTER and play.stage.all(POD):
            with suppress(NotFound):
                pod = random.choice(play.stage.all(POD))
                await play.stage.delete(POD, pod["metadata"]["name"])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", PODS, ids=lambda kind: kind.kind)
async def test_jobs_come_to_what_is_asked_of_them_at_last(kind: ResourceKind, seed: int) -> None:
    random = Random(seed)

    async def scene(play: Play) -> None:
        await play.create(linger_for=random.choice(("0s", "1s", "3s")))
        await troubled(play, random)
        if kind != WORKFLOW:
            await play.suspend()
            await play.says("suspended" if kind == RAY_CLUSTER else SUSPENDED[kind])
            await play.no_pods()
        await play.suspend(suspended=False)
        await play.runs(PODS[kind])
        await play.stage.until_all(POD, lambda pods: all(map(is_running, pods)))
        await play.delete()

    story, failures = await simulated(Part(scene=scene, kind=kind))
    assert failures == []
    assert {steps[-1] for steps in map(tuple, story.pods)} == {"gone"}


SUSPENDED = {RAY_JOB: "Suspended", SPARK_APPLICATION: "SUSPENDED"}
