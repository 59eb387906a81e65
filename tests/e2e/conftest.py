"""A world for each scenario: a namespace of its own on the session's cluster, with kq at work."""

from collections.abc import Iterator

import pytest
from controlplane.cluster import Cluster
from controlplane.kq import Kq
from ground import ClusterGround
from kind_cases import KindCase
from kind_world import KindWorld
from world import World


@pytest.fixture
def world(control_plane: Cluster, kq: Kq, namespace: str) -> World:
    """A namespace that nobody else uses."""
    return World(ground=ClusterGround(cluster=control_plane), namespace=namespace)


@pytest.fixture
def mortal_kq(kq: Kq) -> Iterator[Kq]:
    """kq for tests that end its processes: afterwards both run again."""
    yield kq
    if kq.webhook is None:
        kq.start_webhook()
    if kq.manager is None:
        kq.start_manager()


@pytest.fixture
def kinds_found(request: pytest.FixtureRequest, mortal_kq: Kq) -> None:
    """The manager knows the kind of a scenario's case, though its CRD may be younger."""
    case: KindCase = request.getfixturevalue("case")
    served = f'kq_kind_available{{kind="{case.kind.kind}"}} 1.0'
    if served not in mortal_kq.metrics():
        mortal_kq.stop_manager()
        mortal_kq.start_manager()
    assert served in mortal_kq.metrics()


@pytest.fixture
def jobs(world: World, case: KindCase, kinds_found: None) -> KindWorld:
    """Jobs of the kind that a scenario is about."""
    return KindWorld.of(world, case)
