"""Notes of stacks added up, and the counters of a process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.metrics import counters
from bench.stacks import package_of, profile

ROOT = Path(__file__).parents[2]
MAIN = "kq/__main__.py:<module>"
READ = "kq/core/views.py:unit"
LOOP = "asyncio/events.py:Handle._run"
BUSY = """\
import os, signal, sys, time
os.kill(os.getpid(), signal.SIGUSR2)
def spin(until):
    while time.process_time() < until:
        sum(range(100))
spin(time.process_time() + 0.2)
os.kill(os.getpid(), signal.SIGUSR2)
"""


def test_a_function_costs_by_itself_and_with_what_it_calls() -> None:
    found = profile([f"{MAIN};{LOOP};{READ} 3", f"{MAIN};{LOOP} 1"])
    assert found.samples == 4
    assert found.itself == {READ: 3, LOOP: 1}
    assert found.whole == {MAIN: 4, LOOP: 4, READ: 3}
    assert found.packages == {"kq/core": 3, "asyncio": 1}


def test_a_function_that_calls_itself_counts_once_a_sample() -> None:
    found = profile([f"{READ};{READ};{READ} 2"])
    assert found.whole == {READ: 2}


def test_a_foreign_function_is_told_with_the_nearest_of_kq() -> None:
    found = profile([f"{MAIN};{READ};{LOOP} 2", f"{LOOP} 1"])
    assert found.called == {(READ, LOOP): 2, ("", LOOP): 1}


def test_no_lines_are_no_samples() -> None:
    assert profile([""]).samples == 0


@pytest.mark.parametrize(
    ("function", "package"),
    [
        (READ, "kq/core"),
        (MAIN, "kq"),
        (LOOP, "asyncio"),
        ("ssl.py:SSLObject.read", "ssl"),
        ("<frozen abc>:ABCMeta.__instancecheck__", "<frozen abc>"),
    ],
)
def test_the_package_of_a_function(function: str, package: str) -> None:
    assert package_of(function) == package


def test_counters_are_those_named_that_are_not_zero() -> None:
    text = (
        "# TYPE kq_reconcile_total counter\n"
        'kq_reconcile_total{controller="job",result="success"} 12.0\n'
        'kq_reconcile_total{controller="job",result="error"} 0.0\n'
        "# TYPE kq_cycles_total counter\n"
        'kq_cycles_total{queue="a"} 3.0\n'
    )
    assert counters(text, ("kq_reconcile",)) == {
        'kq_reconcile_total{controller="job",result="success"}': 12.0
    }


def test_a_sampled_process_writes_down_where_it_was(tmp_path: Path) -> None:
    program = tmp_path / "busy.py"
    program.write_text(BUSY)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "bench/sampling"),
        "KQ_SAMPLES": str(tmp_path),
    }
    subprocess.run(
        [sys.executable, str(program), "manager"], env=environment, check=True, timeout=30
    )
    lines = (tmp_path / "manager.stacks").read_text().splitlines()
    assert any(":<module>;" in line and ":spin " in line for line in lines), json.dumps(lines)
    assert not (tmp_path / "webhook.stacks").exists()
