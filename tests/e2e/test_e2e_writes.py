"""How much kq writes and asks, counted at the API server; and that its rights are enough."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from controlplane.cluster import Cluster
from controlplane.kq import Kq
from ground import ClusterGround
from world import World

from kq.core.kinds import QUEUE_UNIT

WRITES = ("create", "update", "patch", "delete")
OURS = "system:serviceaccount:koord-queue:"
JOBS = 5


@pytest.fixture(scope="module")
def audited_kq(
    audited_control_plane: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kq]:
    folder: Path = tmp_path_factory.mktemp("audited-kq")
    with Kq(cluster=audited_control_plane, folder=folder, as_accounts=True) as started:
        yield started


@pytest.fixture
def audited(audited_control_plane: Cluster, audited_kq: Kq) -> World:
    audited_control_plane.api("POST", "/api/v1/namespaces", {"metadata": {"name": "counted"}})
    account = "/api/v1/namespaces/counted/serviceaccounts/default"
    audited_control_plane.wait(account, bool)
    return World(ground=ClusterGround(cluster=audited_control_plane), namespace="counted")


def test_a_job_that_fits_costs_few_writes_and_every_request_is_allowed(
    audited: World, audited_control_plane: Cluster
) -> None:
    a = audited.quota("a", cpu=JOBS)
    names = [f"job-{number}" for number in range(JOBS)]
    for name in names:
        audited.job(name, a, cpu=1, run_for="0s")
    audited.wait_complete(*names)
    for name in names:
        audited.wait_phase(name, "Succeed")
    for name in names:
        audited.wait_event(name, "Resume")
    ours = [
        each for each in audited_control_plane.audit() if each["user"]["username"].startswith(OURS)
    ]
    refused = {each["requestURI"] for each in ours if each["responseStatus"]["code"] == 403}
    assert refused == set()
    writes = [each for each in ours if each["verb"] in WRITES and is_counted(each)]
    per_job = Counter(
        each["objectRef"]["name"] for each in writes if each["objectRef"]["resource"] != "events"
    )
    assert per_job.keys() == set(names)
    assert max(per_job.values()) <= 5
    for name in names:
        told = audited.events(name) + audited.events(name, QUEUE_UNIT)
        assert len([each for each in told if each["source"]["component"] == "koord-queue"]) <= 2


def is_counted(event: dict[str, dict[str, object]]) -> bool:
    return event.get("objectRef", {}).get("namespace") == "counted"
