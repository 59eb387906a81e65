"""Arena's own command line against jobs that wait, with the real training operator."""

import os
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from controlplane import cli
from controlplane.arena import Arena, arena_of
from controlplane.cluster import Cluster
from kind_cases_kubeflow import TF_JOB
from world import World

from kq.core import keys

BUILD_SECONDS = 900
"""Arena may have to be built first."""
SUBMIT = ("submit", "tfjob", "--image=example.com/none", "--workers=2", "--ps=1", "--queue")
SIZED = ("--worker-cpu=1", "--ps-cpu=1", "--annotation=run-for=forever")


@pytest.fixture
def arena(control_plane: Cluster, namespace: str, tmp_path: Path) -> Arena:
    return arena_of(control_plane, namespace, tmp_path, os.environ, cli.tell)


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
