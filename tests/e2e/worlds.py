"""Worlds on a real control plane."""

from controlplane import probes
from controlplane.cluster import Cluster
from ground import ClusterGround
from world import World


def new_world(cluster: Cluster, stem: str = "test") -> World:
    """A namespace that nobody else uses."""
    return World(
        ground=ClusterGround(cluster=cluster), namespace=probes.new_namespace(cluster, stem)
    )
