"""The scenarios of the other quota modes on the simulated cluster."""

from collections.abc import Iterator
from types import ModuleType

import pytest
import test_e2e_resource_quotas
import test_e2e_trees
from simulated_ground import manifests, simulated_ground
from test_sim_scenarios import SERVICE_ACCOUNT, scenarios
from world import World

from kq.core.kinds import NAMESPACE
from kq.settings import Settings
from kq.sim.world import Terms

NAME = "test-a"
MODES = {test_e2e_trees: "ElasticQuota", test_e2e_resource_quotas: "ResourceQuota"}


@pytest.fixture
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """A namespace on a cluster of its own, with kq in the mode of the scenario's module."""
    mode = MODES[_module_of(request)]
    terms = Terms(objects=manifests(), settings=Settings(quotaPlugin=mode))
    with simulated_ground(terms=terms) as ground:
        ground.create(NAMESPACE, {"metadata": {"name": NAME}})
        ground.wait(SERVICE_ACCOUNT, NAME, "default", bool)
        yield World(ground=ground, namespace=NAME)


def _module_of(request: pytest.FixtureRequest) -> ModuleType:
    return next(each for each in MODES if each.__name__ == request.function.__module__)


for _module in MODES:
    globals().update(scenarios(_module))
