"""The end-to-end scenarios on the simulated cluster: word for word those of the real one."""

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import test_e2e_bad_jobs
import test_e2e_bad_queues
import test_e2e_bad_quotas
import test_e2e_bad_servers
import test_e2e_bad_units
import test_e2e_crash
import test_e2e_drained
import test_e2e_hand_made
import test_e2e_life
import test_e2e_managed
import test_e2e_order
import test_e2e_policies
import test_e2e_quick_start
import test_e2e_quotas
import test_e2e_refused
import test_e2e_updates
from simulated_ground import SimulatedGround, simulated_ground
from test_e2e_bad_queues import own_queue
from world import World

from kq.core.kinds import NAMESPACE, ResourceKind

__all__ = ["own_queue"]  # a fixture of scenarios

PLAYED = (
    test_e2e_bad_jobs,
    test_e2e_bad_queues,
    test_e2e_bad_quotas,
    test_e2e_bad_servers,
    test_e2e_bad_units,
    test_e2e_crash,
    test_e2e_drained,
    test_e2e_hand_made,
    test_e2e_life,
    test_e2e_managed,
    test_e2e_order,
    test_e2e_policies,
    test_e2e_quick_start,
    test_e2e_quotas,
    test_e2e_refused,
    test_e2e_updates,
)
OF_A_REAL_CLUSTER = {"control_plane", "kq", "noisy_kq", "watcher"}
"""What a scenario asks for if it needs more than a ground, and a kq that can be killed."""
OF_A_REAL_CLUSTER_ALONE = {
    "test_e2e_arena": "a program that runs kubectl; what it sends: test_sim_case_arena",
    "test_e2e_crash_points": "killed at each write: test_sim_faults, test_sim_case_restart",
    "test_e2e_defied": "a CRD that drops a field which its real operator reads",
    "test_e2e_kinds_come_and_go": "CRDs of a cluster of its own",
    "test_e2e_kubeflow": "what real operators and kubectl do",
    "test_e2e_load": "processor time of processes; as scenarios: test_sim_case_scale",
    "test_e2e_writes": "the rights of service accounts; counts: test_sim_case_scale",
}
"""Modules that are not played, and why; or where the simulated cluster has their like."""
SERVICE_ACCOUNT = ResourceKind("", "v1", "ServiceAccount", "serviceaccounts")
NAME = "test-a"


@pytest.fixture
def world() -> Iterator[World]:
    """A namespace on a cluster of its own."""
    with simulated_ground() as ground:
        ground.create(NAMESPACE, {"metadata": {"name": NAME}})
        ground.wait(SERVICE_ACCOUNT, NAME, "default", bool)
        yield World(ground=ground, namespace=NAME)


class MortalSimulation:
    """kq on the simulated ground, as something that can be killed and started."""

    def __init__(self, ground: SimulatedGround) -> None:
        self._run = ground.run
        self._simulation = ground.simulation

    def kill_manager(self) -> None:
        self._run(self._simulation.kill_manager())

    def start_manager(self) -> None:
        self._run(self._simulation.start_manager())

    def kill_webhook(self) -> None:
        self._run(self._simulation.kill_webhook())

    def start_webhook(self) -> None:
        self._run(self._simulation.start_webhook())


@pytest.fixture
def mortal_kq(world: World) -> MortalSimulation:
    assert isinstance(world.ground, SimulatedGround)
    return MortalSimulation(world.ground)


def test_every_module_of_scenarios_is_played_or_has_its_like() -> None:
    """Here, or in a module beside this one that imports it."""
    here = Path(__file__)
    beside = (each for each in here.parent.glob("test_sim_*.py") if each != here)
    played = set(re.findall(r"\btest_e2e_\w+", " ".join(each.read_text() for each in beside)))
    written = {each.stem for each in Path(test_e2e_life.__file__).parent.glob("test_e2e_*.py")}
    assert written - played - {each.__name__ for each in PLAYED} == set(OF_A_REAL_CLUSTER_ALONE)


def scenarios(module: ModuleType) -> Iterator[tuple[str, Callable[..., None]]]:
    """Those of a module that any ground will do for."""
    for name, each in vars(module).items():
        if name.startswith("test_") and inspect.isfunction(each):
            marks = getattr(each, "pytestmark", ())
            used = [name for mark in marks if mark.name == "usefixtures" for name in mark.args]
            asks = {*inspect.signature(each).parameters, *used}
            if "world" in asks and not asks & OF_A_REAL_CLUSTER:
                yield name, each


for _module in PLAYED:
    globals().update(scenarios(_module))
