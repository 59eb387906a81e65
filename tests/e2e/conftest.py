"""A world for each scenario: a namespace of its own on the session's cluster, with kq at work."""

from collections.abc import Iterator

import pytest
from controlplane.cluster import Cluster
from controlplane.kq import Kq
from ground import ClusterGround
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
