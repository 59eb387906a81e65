"""Jobs fare on the simulated cluster as they do on a real one: the same scenes, played on both."""

import re
import secrets
from collections.abc import Iterator

import pytest
from controller_scenes import SCENES, Scene
from controller_stage import Stage
from controller_stories import Story, is_coalesced, milestones, outlines
from controlplane.cluster import Cluster
from scene_grounds import Clock, RealScenes, real_scenes, simulated

from kq.clock import utc_now
from kq.kube.client import Client

Named = tuple[str, Scene]
Real = RealScenes[Named, Story]


async def played(client: Client, named: Named, now: Clock = utc_now) -> Story:
    """The story of a scene, played in a namespace of its own."""
    name, scene = named
    slug = re.sub("[^a-z]+", "-", name)[:40]
    stage = Stage(client, f"{slug}-{secrets.token_hex(3)}")
    await stage.open()
    try:
        await scene.play(stage, now)
    finally:
        await stage.close()
    return Story.of(stage.namespace, stage.happened)


@pytest.fixture(scope="module")
def real(control_plane: Cluster) -> Iterator[Real]:
    """What a real cluster does in each scene."""
    named = {name: (name, scene) for name, scene in SCENES.items()}
    with real_scenes(control_plane, named, played) as scenes:
        yield scenes


async def told_by_simulation(name: str) -> Story:
    """What the simulated cluster does in a scene, over which its controllers did not stumble."""
    story, failures = await simulated(
        lambda client, clock: played(client, (name, SCENES[name]), clock), nodes=2
    )
    assert failures == []
    return story


@pytest.mark.looptime
@pytest.mark.parametrize("name", SCENES)
async def test_jobs_fare_as_on_a_real_cluster(name: str, real: Real) -> None:
    told = await told_by_simulation(name)

    def same(seen: Story) -> None:
        assert list(told.jobs) == list(seen.jobs)
        for job, steps in seen.jobs.items():
            assert milestones(told.jobs[job]) == milestones(steps)
            assert told.jobs[job][-1] == steps[-1]
        assert outlines(told.pods) == outlines(seen.pods)
        assert seen.events <= told.events
        assert told.quotas[-1:] == seen.quotas[-1:]

    real.agrees(name, same)


@pytest.mark.looptime
@pytest.mark.parametrize("name", [name for name, scene in SCENES.items() if not scene.is_racy])
async def test_each_step_of_the_real_cluster_is_a_step_of_the_simulated_one(
    name: str, real: Real
) -> None:
    told = await told_by_simulation(name)

    def same(seen: Story) -> None:
        for job, steps in seen.jobs.items():
            assert is_coalesced(steps, told.jobs[job])
        for pod, whole in zip(seen.pods, told.pods, strict=True):
            assert is_coalesced(pod, whole)

    real.agrees(name, same)
