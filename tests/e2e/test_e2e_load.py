"""Many jobs at once: all end, and no quota is exceeded at any instant.

KQ_LOAD_JOBS says how many; the suite takes few, so that it stays quick.
"""

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from controlplane import processes
from controlplane.cluster import Cluster
from controlplane.kq import Kq
from controlplane.plane import ControlPlane
from ground import ClusterGround, Object
from watcher import Watcher
from world import World
from worlds import new_world

from kq.core.kinds import JOB

JOBS = int(os.environ.get("KQ_LOAD_JOBS", "100"))
CLIENTS = 32
PLACES_OF_THE_TIGHT = 10
SECONDS = 300.0


@pytest.fixture(scope="module")
def loaded_plane(
    binaries: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[ControlPlane]:
    """A control plane of its own, without limits on requests."""
    folder = tmp_path_factory.mktemp("loaded-control-plane")
    with ControlPlane.start(folder, binaries, unlimited=True) as plane:
        yield plane
        plane.check()
    if not request.session.testsfailed:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def loaded_kq(loaded_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kq]:
    with Kq(cluster=loaded_plane.cluster, folder=tmp_path_factory.mktemp("loaded-kq")) as started:
        yield started


@pytest.fixture
def loaded(loaded_plane: ControlPlane, loaded_kq: Kq) -> World:
    return new_world(loaded_plane.cluster, "load")


@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize(
    "places",
    [
        pytest.param(JOBS, id="free quota"),
        pytest.param(max(1, JOBS // PLACES_OF_THE_TIGHT), id="a tenth of the places"),
    ],
)
def test_all_jobs_end_and_no_quota_is_exceeded(
    loaded: World, loaded_plane: ControlPlane, loaded_kq: Kq, places: int
) -> None:
    a = loaded.quota("a", cpu=places)
    manifests = [
        loaded.manifest(f"job-{number}", a, cpu=1, run_for="500ms") for number in range(JOBS)
    ]
    manager = loaded_kq.manager
    assert manager
    cpu = processes.cpu_seconds(manager)
    started = time.monotonic()
    with Watcher(loaded_plane.cluster, loaded.namespace) as watcher:
        submit(loaded_plane.cluster, manifests)
        submitted = time.monotonic() - started
        watcher.wait_succeeded(JOBS, SECONDS)
        seconds = time.monotonic() - started
        history = watcher.history()
    assert history.excesses == []
    assert history.peaks[a] <= places * 1000
    cpu = processes.cpu_seconds(manager) - cpu
    print(
        f"\n{JOBS} jobs into {places} places: submitted in {submitted:.1f} s, "
        f"all ended after {seconds:.1f} s, at most {history.peaks[a] // 1000} at once, "
        f"manager {cpu:.1f} s of cpu and {processes.resident_bytes(manager) >> 20} MiB, "
        f"{history.changes} changes seen"
    )


def submit(cluster: Cluster, manifests: Sequence[Object]) -> None:
    """All of them, by many clients at once."""
    ground = ClusterGround(cluster=cluster)
    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(lambda each: ground.create(JOB, each), manifests))
