"""Who waits for another process is let in when that one dies, and told when it does not go on."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controlplane import leash, lock, probes
from controlplane.errors import Blocked

TESTS = Path(__file__).parents[1]
HOLDS = """
import sys, time
from pathlib import Path
from controlplane import lock
lock.BEAT_SECONDS = 0.02
with lock.held(Path(sys.argv[1]), "building", print):
    time.sleep(float(sys.argv[2]))
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(lock, "POLL_SECONDS", 0.01)
    return tmp_path / "it.lock"


@contextmanager
def holder(path: Path, *, seconds: float = 60.0) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that has the lock."""
    command = leash.leashed([sys.executable, "-c", HOLDS, str(path), str(seconds)])
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    process = subprocess.Popen(command, env=environment)
    try:
        probes.until(lambda: path.exists() and path.read_text() != "", "it has the lock", 30)
        yield process
    finally:
        process.kill()
        process.wait()


def quiet(line: str) -> None:
    pass


def test_the_lock_of_a_process_that_was_killed_is_free(path: Path) -> None:
    with holder(path) as process:
        said: list[str] = []

        def say(line: str) -> None:
            said.append(line)
            process.kill()

        with lock.held(path, "building", say):
            assert path.read_text() == f"{os.getpid()}\n"
    assert said == ["another process is building; waiting (0 s)"]


def test_one_that_was_stopped_is_waited_for_no_longer_than_it_may_be_silent(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "SILENT_SECONDS", 0.2)
    with holder(path) as process:
        os.kill(process.pid, signal.SIGSTOP)
        told = f"process {process.pid}, which holds {path}, has shown no life for 0 s; .*kill -CONT"
        with pytest.raises(Blocked, match=told), lock.held(path, "building", quiet):
            pass


def test_one_that_shows_that_it_lives_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "SILENT_SECONDS", 0.5)
    with holder(path, seconds=1.5) as process:
        with lock.held(path, "building", quiet):
            assert path.read_text() == f"{os.getpid()}\n"
        assert process.wait() == 0


def test_one_that_lives_and_never_ends_is_not_waited_for_either(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "WAIT_SECONDS", 0.2)
    with holder(path) as process:
        told = f"process {process.pid}, which holds {path}, did not let go within 0 s"
        with pytest.raises(Blocked, match=told), lock.held(path, "building", quiet):
            pass


def test_a_lock_that_is_let_go_names_nobody(path: Path) -> None:
    with lock.held(path, "building", quiet):
        pass
    assert path.read_text() == ""


def test_a_file_that_is_deleted_meanwhile_harms_nobody(path: Path) -> None:
    with lock.held(path, "building", quiet):
        path.unlink()
    with lock.held(path, "building", quiet):
        assert path.read_text() == f"{os.getpid()}\n"


def test_those_who_wait_in_one_process_hold_it_one_after_the_other(path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        with lock.held(path, "building", quiet):
            inside.append(1)
            most.append(len(inside))
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    run_all(threads)
    assert most == [1] * len(threads)


def run_all(threads: list[threading.Thread]) -> None:
    each: Callable[[threading.Thread], None]
    for each in (threading.Thread.start, threading.Thread.join):
        for thread in threads:
            each(thread)
