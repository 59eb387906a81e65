"""Jobs of Ray, Spark and Argo fare as with the real operators: the same scenes, played on both."""

from collections.abc import Callable, Iterator, Sequence

import pytest
from controlplane.cluster import Cluster
from data_scenes import PARTS, Part
from data_stage import NAMES, played, simulated
from data_stories import Step, Story, differing
from scene_grounds import RealScenes, real_scenes

# Starting all of them, and playing all scenes, takes its time where much else runs.
pytestmark = [pytest.mark.operators(*NAMES), pytest.mark.timeout(300)]


Real = RealScenes[Part, Story]


@pytest.fixture(scope="module")
def real(control_plane: Cluster, operators: Callable[..., None]) -> Iterator[Real]:
    """What real operators do in each scene."""
    operators(*NAMES)
    with real_scenes(control_plane, PARTS, played) as scenes:
        yield scenes


RACY = {("ray job fails", "RayJob")}
"""Scenes that let a job of this kind go before or after its operator has looked, as it happens."""


def states(name: str, kind: str, steps: Sequence[Sequence[Step]]) -> list[list[Step]]:
    """The steps of each object; of a racy scene what its operator said, without who was first."""
    return [_said(each) if (name, kind) in RACY else list(each) for each in steps]


def _said(steps: Sequence[Step]) -> list[Step]:
    said = [step[1] for step in steps if isinstance(step, list) and step[1] is not None]
    return [each for number, each in enumerate(said) if number == 0 or each != said[number - 1]]


@pytest.mark.looptime
@pytest.mark.parametrize("name", PARTS)
async def test_jobs_fare_as_with_real_operators(name: str, real: Real) -> None:
    told, failures = await simulated(PARTS[name])

    def same(seen: Story) -> None:
        assert told.jobs.keys() == seen.jobs.keys()
        for kind, steps in seen.jobs.items():
            assert not differing(states(name, kind, steps), states(name, kind, told.jobs[kind])), (
                kind
            )
        assert told.ends == seen.ends
        assert told.made == seen.made
        assert not differing(seen.pods, told.pods)

    assert failures == []
    real.agrees(name, same)
