"""The manager is killed at every write of a scenario, each time at another: the end is the same.

The write took effect, and the manager never knew. KQ_CRASH_EVENTS=1 kills it at each Event too; the
suite does not, as what it finds after that is what it found after the write before.
"""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
import yaml
from controlplane import processes
from controlplane.cluster import Cluster
from controlplane.kq import Kq
from controlplane.kubeconfig import read
from ends import end_of, line_of, wait_idle
from history import History
from toll import Crossing, Toll, Trap, toll_before
from watcher import Watcher
from world import World
from worlds import new_world

from kq.core import keys
from kq.core.kinds import POD

SPARES_EVENTS = os.environ.get("KQ_CRASH_EVENTS", "") != "1"
FEWEST_WRITES = 14
"""So many writes the scenario has always, be the garbage collector late or not."""
SECONDS = 600.0

END = {
    "job": {
        "suspended": False,
        "versions of its spec": 2,
        "pods": 1,
        "succeeded": 1,
        "failed": 0,
        "complete": True,
    },
    "unit": {
        "phase": "Succeed",
        "message": "Succeeded",
        "attempts": 1,
        "grants": [],
        "finished": True,
        "request": {"cpu": "1"},
    },
}
IDLE = {
    "counts": [0, 0, 0],
    "line": [],
    "usage": {"cpu": "0"},
    "conditions": [("Active", "True"), ("Blocked", "False")],
}
ONCE = {"POST queues": 1, "POST queueunits": 3, "PATCH queueunits": 1, "PATCH jobs": 2}
"""Writes that take effect just so often, however often the manager dies."""
OTHERS = {"PATCH queueunits/status", "PATCH queues/status", "POST events"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The scenario, played once in a namespace of its own."""

    world: World
    struck: Crossing | None
    """The write at which the manager was killed; None if it lived."""
    writes: Counter[str]
    """How many of each sort took effect."""
    history: History


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One cluster and one kq for all runs, and a toll between the manager and the API server."""

    cluster: Cluster
    kq: Kq
    toll: Toll
    worlds: list[World] = field(default_factory=list)

    def start_manager(self) -> None:
        """A manager that writes through the toll; it may not be ready yet."""
        config = yaml.safe_load(kubeconfig_of(self.kq).read_text())
        server = self.toll.new_life()
        for each in config["clusters"]:
            each["cluster"] = {"server": server}
        file = self.kq.folder / "toll.kubeconfig"
        file.touch(mode=0o600)
        file.write_text(yaml.safe_dump(config))
        self.kq.start_manager("--kubeconfig", str(file), wait=False)

    def strike(self) -> None:
        """SIGKILL, and a new manager at once."""
        self.kq.kill_manager()
        self.start_manager()

    def run(self, nth: int) -> Run:
        """The scenario with a manager that is killed at the n-th write."""
        if self.kq.manager is not None:
            processes.check(self.kq.manager)
        world = self._new_world()
        trap = Trap(
            scenario=world.namespace, nth=nth, strike=self.strike, spares_events=SPARES_EVENTS
        )
        with Watcher(self.cluster, world.namespace) as watcher, self.toll.armed(trap):
            try:
                play(world)
            except Exception as err:
                err.add_note(f"in namespace {world.namespace}, killed at {trap.struck}")
                raise
            history = watcher.history()
        writes = Counter(each.what for each in trap.crossings)
        return Run(world=world, struck=trap.struck, writes=writes, history=history)

    def _new_world(self) -> World:
        world = new_world(self.cluster, "crash")
        self.worlds.append(world)
        return world


@pytest.fixture(scope="module")
def stage(control_plane: Cluster, kq: Kq) -> Iterator[Stage]:
    kq.stop_manager()
    with toll_before(read(kubeconfig_of(kq))) as toll:
        stage = Stage(cluster=control_plane, kq=kq, toll=toll)
        stage.start_manager()
        yield stage
        kq.stop_manager()
    kq.start_manager()
    for world in stage.worlds:
        control_plane.api("DELETE", f"/api/v1/namespaces/{world.namespace}")


def kubeconfig_of(kq: Kq) -> Path:
    """The manager's own, with the token of its service account and no certificate."""
    return kq.folder / "manager.kubeconfig"


def play(world: World) -> None:
    """One job runs, one waits for its place, one is made more urgent and deleted as it waits."""
    a = world.quota("a", cpu=1, annotations={"koord-queue/queue-items-refresh-interval": "1s"})
    world.job("first", a, cpu=1)
    world.wait_granted("first")
    world.job("second", a, cpu=1, run_for="0s")
    world.job("deleted", a, cpu=2)
    world.unit("deleted")
    world.annotate_job("deleted", {keys.PRIORITY: "7"})
    world.wait_unit("deleted", lambda unit: unit["spec"].get("priority") == 7)
    world.delete_job("deleted")
    world.wait_message("second", f"waiting for quota {a}: 1 cpu requested, not enough free of 1")
    # Whatever the manager was killed at before, it is back: only it writes this.
    world.wait_phase("first", "Running")
    end_pod(world, "first")
    for name in ("first", "second"):
        world.wait_complete(name)
        world.wait_phase(name, "Succeed")


def end_pod(world: World, job: str) -> None:
    """The only pod of a job succeeds."""
    for pod in world.wait_pods(job):
        succeeded = {"status": {"phase": "Succeeded"}}
        world.ground.patch(POD, world.namespace, pod["metadata"]["name"], succeeded, "status")


def until_not_killed(stage: Stage) -> Iterator[Run]:
    """Runs with further and further writes; the last one has fewer than that."""
    for nth in count(FEWEST_WRITES + 1):
        run = stage.run(nth)
        yield run
        if run.struck is None:
            return


def assert_nothing_came_of_it(run: Run) -> None:
    """All ended as it does when nobody is killed."""
    for name in ("first", "second"):
        assert end_of(run.world, name) == END
    assert run.history.excesses == []
    assert run.history.peaks == {run.world.name_of("a"): 1000}
    assert {what: run.writes[what] for what in ONCE} == ONCE


@pytest.mark.parametrize("nth", range(1, FEWEST_WRITES + 1))
def test_a_manager_killed_at_that_write_brings_all_to_their_end(stage: Stage, nth: int) -> None:
    run = stage.run(nth)
    assert run.struck
    assert_nothing_came_of_it(run)


@pytest.mark.timeout(SECONDS)
def test_so_does_one_killed_at_a_later_write_or_not_at_all(stage: Stage) -> None:
    runs = list(until_not_killed(stage))
    for run in runs:
        assert_nothing_came_of_it(run)
    assert runs[-1].writes.keys() == ONCE.keys() | OTHERS
    for world in stage.worlds:
        world.wait_unit_gone("deleted")
        wait_idle(world, "a")
        assert line_of(world, "a") == IDLE
