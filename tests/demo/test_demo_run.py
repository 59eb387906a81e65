"""The demo as a person runs it: to its end, into a failure, and broken off."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROCESSES = {
    *("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"),
    *("kq webhook", "kq manager"),
}
WAITS = (
    "waiting for quota team-a: 4 cpu requested, not enough free of 4; "
    "8Gi memory requested, not enough free of 8Gi"
)
BROKEN_MANAGER = """\
import os, sys
if "manager" in sys.orig_argv:
    os.write(2, b"kq: this manager is broken\\n")
    os._exit(1)
"""
ALL_RUN = "A quota with room"


@contextmanager
def demo(folder: Path, *first_on_the_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The demo under way, its temporary files in the folder."""
    path = ":".join(str(each) for each in (*first_on_the_path, ROOT / "tests", ROOT))
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "demo"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def output_until(process: subprocess.Popen[str], text: str) -> str:
    """What it printed, up to the first line with that text."""
    lines: list[str] = []
    for line in process.stdout or ():
        lines.append(line)
        if text in line:
            break
    return "".join(lines)


def last_changes(output: str) -> list[str]:
    """The last that is told of the queue in each round, without the time."""
    rounds = output.split("\nRound ")[1:]
    told = [re.findall(r"^ +\d+\.\d s  (cpu .*)$", each, re.MULTILINE) for each in rounds]
    return [changes[-1] for changes in told]


def pids(output: str) -> dict[str, int]:
    """The processes that it says it started."""
    found = re.findall(r"^  (\S+(?: \S+)*) +pid (\d+) ", output, re.MULTILINE)
    return {name: int(pid) for name, pid in found}


def running(some: Sequence[int]) -> list[int]:
    """Those of the pids that are processes still."""
    return [pid for pid in some if Path(f"/proc/{pid}").exists()]


@pytest.mark.usefixtures("binaries")
def test_two_jobs_take_turns_twice_and_nothing_is_left(tmp_path: Path) -> None:
    with demo(tmp_path) as process:
        output, _ = process.communicate(timeout=110)
    assert process.returncode == 0, output
    for point in ("my-job-blocked  Enqueued", "my-job-blocked  Running", "job Complete"):
        assert output.count(point) >= 2, output
    assert output.count(WAITS) >= 4, output
    assert last_changes(output) == 2 * [
        "cpu 0/4  my-job-blocked  Succeed   job Complete   Succeeded"
    ]
    assert "All jobs are complete, everything is ended and removed" in output
    assert pids(output).keys() == PROCESSES
    assert running([*pids(output).values()]) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("binaries")
def test_a_manager_that_does_not_start_ends_the_demo_and_its_log_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(BROKEN_MANAGER)
    with demo(tmp_path, broken) as process:
        output, _ = process.communicate(timeout=110)
    assert process.returncode == 1, output
    log = re.search(r"kq manager ended with exit code 1; .* its log (\S+):", output)
    assert log is not None, output
    assert Path(log[1]).read_text() == "kq: this manager is broken\n"
    assert "    kq: this manager is broken" in output
    assert running([*pids(output).values()]) == []


@pytest.mark.usefixtures("binaries")
def test_a_process_that_dies_on_the_way_ends_the_demo_and_its_log_is_named(tmp_path: Path) -> None:
    with demo(tmp_path) as process:
        before = output_until(process, ALL_RUN)
        os.kill(pids(before)["kq manager"], signal.SIGKILL)
        after, _ = process.communicate(timeout=60)
    assert process.returncode == 1, after
    assert re.search(r"kq manager ended with signal 9; the end of its log \S+manager\S+:", after)
    assert running([*pids(before).values()]) == []


@pytest.mark.usefixtures("binaries")
def test_ctrl_c_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    with demo(tmp_path) as process:
        before = output_until(process, ALL_RUN)
        process.send_signal(signal.SIGINT)
        after, _ = process.communicate(timeout=60)
    assert process.returncode == 130, after
    assert "interrupted; nothing was left running" in after
    assert pids(before).keys() == PROCESSES
    assert running([*pids(before).values()]) == []
    assert list(tmp_path.iterdir()) == []
