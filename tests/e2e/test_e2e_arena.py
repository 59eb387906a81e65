"""Arena's own command line against jobs that wait, with the real training operator."""

import os
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import arena_scenes as scenes
import pytest
from controlplane import cli, probes
from controlplane.arena import Arena, arena_of
from controlplane.cluster import Cluster
from ground import ClusterGround, path
from kind_cases_kubeflow import TF_JOB
from world import World

from kq.core import keys
from kq.core.kinds import CRD

BUILD_SECONDS = 900
"""Arena may have to be built first."""
TRAINS = ("--image=example.com/none", "--workers=2", "--queue")
SUBMIT = ("submit", "tfjob", "--ps=1", *TRAINS)
SIZED = ("--worker-cpu=1", "--ps-cpu=1", "--annotation=run-for=forever")


@pytest.fixture
def arena(control_plane: Cluster, namespace: str, tmp_path: Path) -> Arena:
    return arena_of(control_plane, namespace, tmp_path, os.environ, cli.tell)


@pytest.fixture(scope="module")
def its_kinds(control_plane: Cluster) -> Iterator[None]:
    """Elastic jobs and Crons are served."""
    kinds = [
        each
        for each in (scenes.ELASTIC_JOB, scenes.CRON_TAB)
        if not probes.serves(control_plane, path(each))
    ]
    for each in kinds:
        scenes.serve(ClusterGround(cluster=control_plane), each)
    listed = {path(each) for each in kinds}
    probes.until(lambda: listed <= probes.discovered(control_plane), "kinds are found", 30)
    yield
    for each in kinds:
        control_plane.api("DELETE", path(CRD, name=f"{each.plural}.{each.group}"))


def shown(arena: Arena) -> dict[str, str]:
    """The state of each job as Arena lists it."""
    rows = [each.split() for each in said(arena("list")).splitlines()]
    return {row[0]: row[1] for row in rows[1:] if row}


def said(done: CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.timeout(BUILD_SECONDS)
@pytest.mark.operators("training")
def test_arena_submits_lists_and_deletes_jobs_that_wait(world: World, arena: Arena) -> None:
    quota = world.quota("a", cpu=3)
    labelled = f"--label={keys.QUOTA_LABEL}={quota}"
    told = said(arena(*SUBMIT, *SIZED, labelled, "--name=first", "sleep 1"))
    assert f"held by koord-queue until quota {quota} allows" in told
    assert "submitted successfully" in told
    world.wait_phase("first-tf-qu", "Running")
    said(arena(*SUBMIT, *SIZED, labelled, "--name=second", "sleep 1"))
    world.wait_message(
        "second-tf-qu", f"waiting for quota {quota}: 3 cpu requested, not enough free of 3"
    )
    world.ground.until(
        lambda: shown(arena) == {"first": "RUNNING", "second": "QUEUING"}, "Arena shows it"
    )
    said(arena("delete", "second"))
    world.wait_unit_gone("second-tf-qu")
    said(arena(*SUBMIT, *SIZED, labelled, "--name=second", "sleep 1"))
    world.change_unit("first-tf-qu", {"spec": {"active": False}})
    world.wait_phase("second-tf-qu", "Running")
    world.ground.until(
        lambda: shown(arena) == {"first": "QUEUING", "second": "RUNNING"}, "they change places"
    )
    said(arena("delete", "first", "second"))
    world.wait_unit_gone("second-tf-qu")
    assert shown(arena) == {}
    assert world.ground.items(TF_JOB.kind, world.namespace) == []


@pytest.mark.timeout(BUILD_SECONDS)
def test_elastic_jobs_of_arena_are_left_alone(world: World, arena: Arena, its_kinds: None) -> None:
    """Spec 5.6, 8.1: `--queue` or not, nobody says that they are held, and nobody holds them."""
    asks = ("--cpu=1", "--memory=1Gi", "--gpus=1")

    def submit(quota: str) -> None:
        labelled = f"--label={keys.QUOTA_LABEL}={quota}"
        told = said(arena("submit", "etjob", *TRAINS, *asks, labelled, "--name=first", "sleep 1"))
        assert "submitted successfully" in told
        assert "koord-queue" not in told

    scenes.check_elastic_jobs_are_left_alone(world, submit)
    assert shown(arena) == {"first": "PENDING"}
    said(arena("delete", "first"))
    assert shown(arena) == {}


@pytest.mark.timeout(BUILD_SECONDS)
@pytest.mark.operators("training")
def test_each_turn_of_a_cron_of_arena_waits(world: World, arena: Arena, its_kinds: None) -> None:
    """Spec 5.8."""
    asks = ("--worker-cpu=2", "--worker-memory=2Gi", "--gpus=1", "--ps-cpu=1", "--ps-memory=1Gi")
    when = ("--schedule=0 3 * * *", "--ps=1", "--name=nightly")

    def submit(quota: str) -> None:
        labelled = f"--label={keys.QUOTA_LABEL}={quota}"
        told = said(arena("cron", "tfjob", *TRAINS, *asks, *when, labelled, "sleep 1"))
        assert "submitted successfully" in told
        assert "koord-queue" not in told

    scenes.check_turns_of_a_cron_wait(world, submit)
    said(arena("cron", "delete", "nightly"))
