"""How much kq writes and asks, counted at the API server; and that its rights are enough."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from controlplane.cluster import Cluster
from controlplane.kq import Kq
from world import World
from worlds import new_world

from kq.core.kinds import QUEUE_UNIT

WRITES = ("create", "update", "patch", "delete")
OURS = "system:serviceaccount:koord-queue:"
JOBS = 3
MOST_WRITES = 5
FORBIDDEN = 403
PAUSED = (
    "Paused because the job was suspended by someone else; "
    "set spec.active to true to queue it again"
)


@pytest.fixture(scope="module")
def audited_kq(
    audited_control_plane: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kq]:
    folder: Path = tmp_path_factory.mktemp("audited-kq")
    with Kq(cluster=audited_control_plane, folder=folder, as_accounts=True) as started:
        yield started


@pytest.fixture
def audited(audited_control_plane: Cluster, audited_kq: Kq) -> World:
    return new_world(audited_control_plane, "counted")


def test_a_job_that_fits_costs_few_writes_and_few_events(
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
    writes = [each for each in ours(audited_control_plane) if is_write(each, names)]
    per_job = Counter(each["objectRef"]["name"] for each in writes)
    assert per_job.keys() == set(names)
    assert max(per_job.values()) <= MOST_WRITES
    for name in names:
        told = audited.events(name) + audited.events(name, QUEUE_UNIT)
        assert len([each for each in told if each["source"]["component"] == "koord-queue"]) <= 2


def test_a_job_that_waits_costs_one_write_more_for_each_reason(
    audited: World, audited_control_plane: Cluster
) -> None:
    a = audited.quota("a", cpu=1)
    audited.job("blocks", a, cpu=1)
    audited.wait_granted("blocks")
    names = [f"waits-{number}" for number in range(JOBS)]
    for name in names:
        audited.job(name, a, cpu=1, run_for="0s")
    for name in names:
        audited.wait_phase(name, "Enqueued")
    audited.delete_job("blocks")
    audited.wait_complete(*names)
    for name in names:
        audited.wait_phase(name, "Succeed")
    writes = [each for each in ours(audited_control_plane) if is_write(each, names)]
    assert max(Counter(each["objectRef"]["name"] for each in writes).values()) <= MOST_WRITES + 1


def test_no_right_is_missing_for_what_a_job_may_go_through(
    audited: World, audited_control_plane: Cluster
) -> None:
    a = audited.quota("a", cpu=2)
    for name in ("paused", "waits", "deleted"):
        audited.job(name, a, cpu=1)
    audited.wait_phase("paused", "Running")
    audited.change_job("waits", {"spec": {"suspend": False}})
    audited.change_job("paused", {"spec": {"suspend": True}})
    audited.wait_unit("paused", lambda unit: unit["spec"].get("active") is False)
    audited.change_unit("waits", {"spec": {"active": False}})
    audited.hand_made("place", {"queue": a, "resource": {"cpu": "1"}})
    audited.wait_granted("place")
    audited.delete_job("deleted")
    audited.delete_quota(a)
    audited.wait_message("paused", PAUSED)
    refused = {
        each["requestURI"]
        for each in ours(audited_control_plane)
        if each["responseStatus"]["code"] == FORBIDDEN
    }
    assert refused == set()


def ours(cluster: Cluster) -> Iterator[Mapping[str, Any]]:
    """All requests of both processes so far."""
    for each in cluster.audit():
        if each["user"]["username"].startswith(OURS):
            yield each


def is_write(event: Mapping[str, Any], names: Sequence[str]) -> bool:
    """Whether a job or a unit of one of these names was written, or tried to be."""
    about = event.get("objectRef", {})
    return (
        event["verb"] in WRITES
        and about.get("resource") in ("jobs", "queueunits")
        and about.get("name") in names
    )
