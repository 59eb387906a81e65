"""Jobs of operators fare as with the real ones: the same scenes, played with both."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from controller_stage import Stage
from controlplane.cluster import Cluster
from operator_scenes import CASTS, PARTS, Part, Play
from operator_stories import Story, differing
from scene_grounds import RealScenes, real_scenes, simulated

from kq.kube.client import Client
from kq.sim.operators import operator_controllers, operator_kinds

NAMES = ("training", "mpi", "trainer")

# All scenes are played at the same time, before the first test; training-operator takes its time.
pytestmark = [pytest.mark.operators(*NAMES), pytest.mark.timeout(300)]


async def played(client: Client, part: Part) -> Story:
    """The story of a scene, played in a namespace of its own."""
    cast = CASTS[part.cast]
    slug = f"{cast.kind.kind.lower()}-{part.scene.__name__.replace('_', '-')}"[:40].rstrip("-")
    stage = Stage(client, f"{slug}-{secrets.token_hex(3)}", cast.watched)
    await stage.open()
    try:
        await part.scene(Play(cast=cast, stage=stage))
    finally:
        await stage.close()
    return Story.of(stage.namespace, stage.happened)


Real = RealScenes[Part, Story]


@pytest.fixture(scope="module")
def real(control_plane: Cluster, operators: Callable[..., None]) -> Iterator[Real]:
    """What real operators do in each scene."""
    operators(*NAMES)
    with real_scenes(control_plane, PARTS, played) as scenes:
        yield scenes


TRANSIENT = {"active", "ready", "terminating"}


def settled(ends: Mapping[str, Any]) -> dict[str, Any]:
    """Without how many pods of child Jobs still run or end: at a JobSet's failure they race it."""
    return {
        name: without_transient(end) if name.startswith("Job ") else end
        for name, end in ends.items()
    }


def without_transient(end: Mapping[str, Any]) -> dict[str, Any]:
    counts = {key: count for key, count in end["counts"].items() if key not in TRANSIENT}
    return {**end, "counts": counts}


@pytest.mark.looptime
@pytest.mark.parametrize("name", PARTS)
async def test_jobs_fare_as_with_real_operators(name: str, real: Real) -> None:
    part = PARTS[name]
    told, failures = await simulated(
        lambda client, clock: played(client, part),
        operators=operator_controllers(NAMES),
        kinds=operator_kinds(NAMES),
    )

    def same(seen: Story) -> None:
        assert sorted(told.jobs) == sorted(seen.jobs)
        for job, steps in seen.jobs.items():
            begin = -1 if part.is_racy else 0
            assert not differing(steps[begin:], told.jobs[job][begin:]), job
        assert settled(told.ends) == settled(seen.ends)
        if not part.is_racy:
            assert told.made == seen.made
            assert not differing(seen.pods, told.pods)

    assert failures == []
    real.agrees(name, same)
