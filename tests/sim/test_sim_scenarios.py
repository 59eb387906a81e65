"""The end-to-end scenarios on the simulated cluster: word for word those of the real one."""

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest
import test_e2e_bad_jobs
import test_e2e_bad_queues
import test_e2e_bad_quotas
import test_e2e_bad_units
import test_e2e_hand_made
import test_e2e_life
import test_e2e_managed
import test_e2e_order
import test_e2e_quick_start
import test_e2e_quotas
from simulated_ground import simulated_ground
from test_e2e_bad_queues import own_queue
from world import World

from kq.core.kinds import NAMESPACE, ResourceKind

__all__ = ["own_queue"]  # a fixture of scenarios

PLAYED = (
    test_e2e_bad_jobs,
    test_e2e_bad_queues,
    test_e2e_bad_quotas,
    test_e2e_bad_units,
    test_e2e_hand_made,
    test_e2e_life,
    test_e2e_managed,
    test_e2e_order,
    test_e2e_quick_start,
    test_e2e_quotas,
)
OF_A_REAL_CLUSTER = {"control_plane", "kq", "mortal_kq"}
"""What a scenario asks for if it needs more than a ground."""
SERVICE_ACCOUNT = ResourceKind("", "v1", "ServiceAccount", "serviceaccounts")
NAME = "test-a"


@pytest.fixture
def world() -> Iterator[World]:
    """A namespace on a cluster of its own."""
    with simulated_ground() as ground:
        ground.create(NAMESPACE, {"metadata": {"name": NAME}})
        ground.wait(SERVICE_ACCOUNT, NAME, "default", bool)
        yield World(ground=ground, namespace=NAME)


def scenarios(module: ModuleType) -> Iterator[tuple[str, Callable[..., None]]]:
    """Those of a module that any ground will do for."""
    for name, each in vars(module).items():
        if name.startswith("test_") and inspect.isfunction(each):
            asks = inspect.signature(each).parameters.keys()
            if "world" in asks and not asks & OF_A_REAL_CLUSTER:
                yield name, each


for _module in PLAYED:
    globals().update(scenarios(_module))
