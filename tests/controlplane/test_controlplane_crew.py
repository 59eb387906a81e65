"""Operators beside a control plane: found, started once, ended, and told of when they crash."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane import build, cli, plane, probes, processes
from controlplane.cluster import Cluster
from controlplane.errors import ControlPlaneError, Crashed
from controlplane.operators import OPERATORS, chosen, program
from controlplane.operators.crew import Crew, check_served
from controlplane.operators.program import Program
from controlplane.processes import Process

MPI_JOBS = "/apis/kubeflow.org/{}/mpijobs"


def process_of(crew: Crew, name: str) -> Process:
    [found] = [
        each
        for each in processes.load(plane.state_file(crew.folder))
        if each.name == OPERATORS[name].process
    ]
    return found


def test_an_unknown_operator_is_told_with_those_that_there_are() -> None:
    with pytest.raises(ControlPlaneError, match="no operator is called bogus; there are training,"):
        chosen(["jobset", "bogus"])


def test_who_is_needed_comes_along_and_first() -> None:
    assert [each.name for each in chosen(["trainer"])] == ["jobset", "trainer"]


@pytest.mark.operators("jobset")
def test_what_runs_already_is_not_started_again(crew: Crew) -> None:
    before = process_of(crew, "jobset")
    crew.ensure("jobset")
    assert process_of(crew, "jobset") == before


@pytest.mark.operators("jobset")
def test_one_that_another_process_started_is_found(crew: Crew) -> None:
    stranger = Crew(cluster=crew.cluster, folder=crew.folder, environ={}, say=cli.tell)
    assert "jobset" in stranger.running()


@pytest.mark.operators("jobset")
def test_one_that_was_ended_is_started_anew_when_it_is_asked_for(crew: Crew) -> None:
    before = process_of(crew, "jobset")
    crew.end("jobset")
    assert not processes.is_running(before)
    assert "jobset" not in crew.running()
    crew.ensure("jobset")
    assert process_of(crew, "jobset").pid != before.pid


@pytest.mark.operators("jobset")
def test_a_cluster_that_is_not_ours_has_to_bring_the_operator(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_served(crew.cluster, "jobset")
    monkeypatch.setattr(probes, "serves", lambda cluster, kind: "rayjobs" not in kind)
    with pytest.raises(ControlPlaneError, match=r"lacks ray: it does not serve /apis/ray\.io"):
        check_served(crew.cluster, "ray")


@pytest.mark.operators("jobset")
def test_one_that_crashes_at_its_start_is_told_and_forgotten(
    crew: Crew, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = program.ensure(OPERATORS["jobset"], os.environ, cli.tell).source
    impostor = tmp_path / "jobset-operator"
    impostor.write_text("#!/bin/sh\necho no such flag: --madness; exit 3\n")
    impostor.chmod(0o755)
    crew.end("jobset")
    made = Program(binary=impostor, source=source)
    monkeypatch.setattr(program, "ensure", lambda operator, environ, say: made)
    with pytest.raises(Crashed, match=r"(?s)jobset-operator ended with exit code 3;.*--madness"):
        crew.ensure("jobset")
    assert "jobset" not in crew.running()
    crew.check()


@pytest.mark.operators("mpi", "training")
def test_an_mpi_job_is_of_the_version_that_was_asked_for_last(
    control_plane: Cluster, crew: Crew, operators: Callable[..., None]
) -> None:
    assert served(control_plane) == {"v2beta1"}
    operators("training")
    assert served(control_plane) == {"v1"}
    assert "mpi" not in crew.running()
    operators("mpi")
    assert served(control_plane) == {"v2beta1"}
    assert crew.running() >= {"mpi", "training"}


def served(cluster: Cluster) -> set[str]:
    return {each for each in ("v1", "v2beta1") if probes.serves(cluster, MPI_JOBS.format(each))}


@pytest.mark.operators("mpi")
def test_up_adds_operators_and_starts_those_anew_that_ended(
    crew: Crew,
    binaries: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kept = build.cache_folder(os.environ) / "operators"
    (tmp_path / "up").mkdir()
    (tmp_path / "up" / "it").symlink_to(crew.folder)
    (tmp_path / "operators").symlink_to(kept)
    monkeypatch.setenv("KQ_CACHE", str(tmp_path))
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(binaries))
    crew.end("mpi")
    try:
        assert cli.main(["up", "it", "--operators", "mpi"]) == 0
        assert cli.main(["status", "it"]) == 0
        assert "mpi-operator " in capsys.readouterr().out
        processes.kill(process_of(crew, "mpi"))
        assert cli.main(["status", "it"]) == cli.NOT_RUNNING
        assert cli.main(["up", "it", "--operators", "mpi"]) == 0
        assert cli.main(["status", "it"]) == 0
    finally:
        crew.end("mpi")


def test_up_refuses_an_operator_that_it_does_not_know_before_it_starts_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KQ_CACHE", str(tmp_path))
    assert cli.main(["up", "--operators", "ray,bogus"]) == 1
    assert "no operator is called bogus; there are training, mpi," in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_up_starts_no_operator_beside_a_cluster_that_is_not_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KQ_TEST_KUBECONFIG", "/home/anna/.kube/config")
    assert cli.main(["up", "--operators", "ray"]) == 1
    assert "operators are started beside our own only" in capsys.readouterr().err
