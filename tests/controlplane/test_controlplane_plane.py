"""A control plane starts whole or not at all, beside others, and leaves nothing running."""

import os
import signal
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane import cli, components, plane, processes
from controlplane.cluster import Cluster
from controlplane.errors import Crashed, StartError
from controlplane.plane import ControlPlane

CRASHES = "#!/bin/sh\necho no such flag: --madness; exit 3\n"
HANGS = "#!/bin/sh\nexec sleep 60\n"


@pytest.fixture
def impostors(binaries: Path, tmp_path: Path) -> Path:
    """A folder of binaries in which only etcd is what it seems."""
    folder = tmp_path / "binaries"
    folder.mkdir()
    (folder / "etcd").symlink_to(binaries / "etcd")
    return folder


def write_apiserver(folder: Path, script: str) -> None:
    (folder / "kube-apiserver").write_text(script)
    (folder / "kube-apiserver").chmod(0o755)


def spy_on_start(monkeypatch: pytest.MonkeyPatch) -> list[processes.Process]:
    """The processes that will be started, as a list that fills."""
    started: list[processes.Process] = []
    start = processes.start

    def noting(name: str, command: list[str], log: Path, *, leashed: bool) -> processes.Process:
        started.append(start(name, command, log, leashed=leashed))
        return started[-1]

    monkeypatch.setattr(processes, "start", noting)
    return started


def running(started: list[processes.Process]) -> list[str]:
    return [process.name for process in started if processes.is_running(process)]


def test_a_process_that_crashes_at_the_start_is_told_and_ends_the_others(
    impostors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = spy_on_start(monkeypatch)
    write_apiserver(impostors, CRASHES)
    with pytest.raises(Crashed, match=r"(?s)kube-apiserver ended with exit code 3;.*--madness"):
        ControlPlane.start(tmp_path / "plane", impostors)
    assert [process.name for process in started] == ["etcd", "kube-apiserver"]
    assert running(started) == []
    assert (tmp_path / "plane" / "logs" / "etcd.log").exists()


def test_a_start_that_takes_too_long_ends_what_it_began(
    impostors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = spy_on_start(monkeypatch)
    write_apiserver(impostors, HANGS)
    monkeypatch.setattr(plane, "_is_healthy", lambda ports: True)
    monkeypatch.setattr(plane, "START_SECONDS", 0.1)
    with pytest.raises(StartError, match=r"not after 0\.1 s: the API server is ready; logs are in"):
        ControlPlane.start(tmp_path / "plane", impostors)
    assert running(started) == []


def test_an_interrupted_start_ends_what_it_began(
    impostors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = spy_on_start(monkeypatch)

    def interrupt(ports: components.Ports) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(plane, "_is_healthy", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ControlPlane.start(tmp_path / "plane", impostors)
    assert [process.name for process in started] == ["etcd"]
    assert running(started) == []


def test_a_port_that_somebody_took_is_given_up_for_another(
    impostors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = spy_on_start(monkeypatch)
    write_apiserver(impostors, CRASHES)
    free_ports = components.free_ports
    with socket.create_server(("127.0.0.1", 0)) as taken:
        bad = replace(free_ports(), etcd=taken.getsockname()[1])
        offers = iter([bad, free_ports()])
        monkeypatch.setattr(components, "free_ports", lambda: next(offers))
        with pytest.raises(Crashed, match="kube-apiserver ended"):
            ControlPlane.start(tmp_path / "plane", impostors)
    assert [process.name for process in started] == ["etcd", "etcd", "kube-apiserver"]
    assert running(started) == []


def test_a_folder_in_use_is_not_started_in(impostors: Path, tmp_path: Path) -> None:
    owner = processes.start("etcd", ["/bin/sleep", "60"], tmp_path / "log", leashed=True)
    processes.save([owner], plane.state_file(tmp_path))
    with pytest.raises(StartError, match="is in use by etcd"):
        ControlPlane.start(tmp_path, impostors)
    assert processes.is_running(owner)
    processes.end(owner, 5)


def test_a_crash_while_running_is_found(
    impostors: Path, tmp_path: Path, control_plane: Cluster
) -> None:
    log = tmp_path / "log"
    process = processes.start("kwok", ["/bin/sh", "-c", "exit 9"], log, leashed=True)
    broken = ControlPlane(folder=tmp_path, cluster=control_plane, processes=[process])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(Crashed, match="kwok ended with exit code 9"):
        broken.check()
    processes.end(process, 5)


def test_up_stays_until_down_and_mends_what_broke(
    binaries: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KQ_CACHE", str(tmp_path))
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(binaries))
    monkeypatch.delenv("KQ_TEST_KUBECONFIG", raising=False)
    state = plane.state_file(tmp_path / "up" / "it")
    kubeconfig = tmp_path / "up" / "it" / "kubeconfig"
    lines = f'export KUBECONFIG={kubeconfig}\nexport PATH={binaries}:"$PATH"\n'
    try:
        assert cli.main(["up", "it"]) == 0
        assert capsys.readouterr().out == lines
        first = processes.load(state)
        assert cli.main(["up", "it"]) == 0
        assert capsys.readouterr().out == lines
        assert processes.load(state) == first
        assert Cluster.of(kubeconfig).api("GET", "/readyz") == {"message": "ok"}

        os.kill(first[-1].pid, signal.SIGKILL)
        processes.end(first[-1], 5)
        assert cli.main(["status", "it"]) == cli.NOT_RUNNING
        assert cli.main(["up", "it"]) == 0
        assert "kwok had ended" in capsys.readouterr().err
        assert running(first) == []
        second = processes.load(state)
        assert cli.main(["status", "it"]) == 0
    finally:
        assert cli.main(["down", "it"]) == 0
    assert running(second) == []
    assert "is down (5 processes ended)" in capsys.readouterr().err
    assert cli.main(["down", "it"]) == 0
    assert "no control plane it is running" in capsys.readouterr().err


def test_down_leaves_a_stranger_with_a_recycled_pid_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KQ_CACHE", str(tmp_path))
    folder = tmp_path / "up" / "dev"
    folder.mkdir(parents=True)
    log = tmp_path / "log"
    stranger = processes.start("sleep", ["/bin/sleep", "60"], log, leashed=True)
    stale = replace(stranger, name="etcd", started=stranger.started - 1)
    processes.save([stale], plane.state_file(folder))
    assert cli.main(["down"]) == 0
    assert "no control plane dev is running" in capsys.readouterr().err
    assert processes.is_running(stranger)
    processes.end(stranger, 5)


def test_up_starts_nothing_if_a_cluster_exists(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KQ_TEST_KUBECONFIG", "/home/anna/.kube/config")
    assert cli.main(["up"]) == 0
    assert capsys.readouterr().out == "export KUBECONFIG=/home/anna/.kube/config\n"


@pytest.mark.parametrize("name", ["../dev", "a/b", "", ".hidden"])
def test_a_name_that_is_no_name_of_a_folder_is_refused(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KQ_CACHE", str(tmp_path))
    assert cli.main(["status", name]) == 1
    assert f"{name!r} is no name for a control plane" in capsys.readouterr().err
