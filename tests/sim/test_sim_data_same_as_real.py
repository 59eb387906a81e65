"""Jobs of Ray, Spark and Argo fare as with the real operators: the same scenes, played on both."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from controlplane.cluster import Cluster
from data_scenes import PARTS
from data_stage import NAMES, played, simulated
from data_stories import Step, Story, differing

from kq.kube.auth import load_connection
from kq.kube.client import Client

# Starting all of them, and playing all scenes, takes its time where much else runs.
pytestmark = [pytest.mark.operators(*NAMES), pytest.mark.timeout(300)]


async def all_played(cluster: Cluster) -> dict[str, Story | BaseException]:
    """The stories of all scenes, played on the real cluster at the same time."""
    connection = await load_connection(str(cluster.kubeconfig), None)
    async with Client(connection) as client:
        plays = [played(client, part) for part in PARTS.values()]
        told = await asyncio.gather(*plays, return_exceptions=True)
    return dict(zip(PARTS, told, strict=True))


@pytest.fixture(scope="module")
def real_stories(
    control_plane: Cluster, operators: Callable[..., None]
) -> Iterator[dict[str, Story | BaseException]]:
    """What real operators do in each scene."""
    operators(*NAMES)
    with ThreadPoolExecutor(1) as thread:
        yield thread.submit(asyncio.run, all_played(control_plane)).result()


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
async def test_jobs_fare_as_with_real_operators(
    name: str, real_stories: dict[str, Story | BaseException]
) -> None:
    real = real_stories[name]
    if isinstance(real, BaseException):
        raise real
    told, failures = await simulated(PARTS[name])

    assert failures == []
    assert told.jobs.keys() == real.jobs.keys()
    for kind, steps in real.jobs.items():
        assert not differing(states(name, kind, steps), states(name, kind, told.jobs[kind])), kind
    assert told.ends == real.ends
    assert told.made == real.made
    assert not differing(real.pods, told.pods)
