"""A process is ended by its own pid, and never another one in its place."""

import os
import select
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane import processes
from controlplane.errors import Crashed
from controlplane.processes import Process

SLEEPS = ["/bin/sh", "-c", "echo ready; exec sleep 60"]
IGNORES = ["/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 60; done"]
LEASHES = """
import sys, time
from pathlib import Path
from controlplane import processes
child = processes.start("child", ["/bin/sleep", "60"], Path(sys.argv[1]), leashed=True)
processes.save([child], Path(sys.argv[2]))
time.sleep(60)
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def sleeper(log: Path) -> Iterator[Process]:
    process = processes.start("sleeper", SLEEPS, log, leashed=False)
    yield process
    processes.end(process, 5)


def wait_for_end(pid: int) -> bool:
    """Whether a process, ours or not, ends within some seconds."""
    handle = os.pidfd_open(pid)
    try:
        return bool(select.select([handle], [], [], 10)[0])
    finally:
        os.close(handle)


def wait_for_text(path: Path) -> None:
    while not path.exists() or not path.read_text():
        os.sched_yield()


def test_a_process_runs_until_it_is_ended(sleeper: Process) -> None:
    assert processes.is_running(sleeper)
    processes.end(sleeper, 5)
    assert not processes.is_running(sleeper)
    assert not Path(f"/proc/{sleeper.pid}").exists()


def test_a_process_that_ignores_the_request_is_killed(log: Path) -> None:
    process = processes.start("stubborn", IGNORES, log, leashed=False)
    wait_for_text(log)
    processes.end(process, 0.05)
    assert not processes.is_running(process)


def test_a_later_process_with_the_same_pid_is_left_alone(sleeper: Process) -> None:
    stale = replace(sleeper, started=sleeper.started - 1)
    assert not processes.is_running(stale)
    processes.end(stale, 0.05)
    assert processes.is_running(sleeper)


def test_ending_twice_is_no_error(sleeper: Process) -> None:
    processes.end(sleeper, 5)
    processes.end(sleeper, 5)
    assert not processes.is_running(sleeper)


def test_a_running_process_passes_the_check(sleeper: Process) -> None:
    processes.check(sleeper)
    assert processes.is_running(sleeper)


@pytest.mark.parametrize(
    ("command", "how"),
    [
        pytest.param("echo disk full; exit 7", "exit code 7", id="exit code"),
        pytest.param("echo disk full; kill -9 $$", "signal 9", id="signal"),
    ],
)
def test_a_crash_is_told_with_how_and_the_log(log: Path, command: str, how: str) -> None:
    process = processes.start("etcd", ["/bin/sh", "-c", command], log, leashed=False)
    wait_for_end(process.pid)
    with pytest.raises(Crashed, match=f"(?s)etcd ended with {how};.*{log}.*disk full"):
        processes.check(process)
    processes.end(process, 5)
    assert not Path(f"/proc/{process.pid}").exists()


def test_a_leashed_process_dies_with_its_parent_however_that_ends(
    log: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state.json"
    tests = str(Path(processes.__file__).parent.parent)
    code = f"import sys; sys.path.insert(0, {tests!r}){LEASHES}"
    command = [sys.executable, "-c", code, str(log), str(state)]
    parent = processes.start("parent", command, tmp_path / "parent.log", leashed=True)
    wait_for_text(state)
    [child] = processes.load(state)
    assert processes.is_running(child)
    os.kill(parent.pid, signal.SIGKILL)
    assert wait_for_end(child.pid)
    processes.end(parent, 5)


def test_what_is_saved_comes_back(sleeper: Process, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    assert processes.load(path) == []
    processes.save([sleeper], path)
    assert processes.load(path) == [sleeper]


def test_usage_is_that_of_the_process(sleeper: Process) -> None:
    assert processes.resident_bytes(sleeper) > 0
    assert processes.cpu_seconds(sleeper) < 1
