"""A seed gives the same history whatever order Python's sets happen to have in a process."""

import os
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

TESTS = Path(__file__).parents[1]
SEEDS = ["1003", "1008", "1009"]
"""Of histories with faults of many kinds."""


def started(hash_seed: str) -> subprocess.Popen[str]:
    places = [TESTS, TESTS / "e2e", TESTS / "sim", TESTS.parent]
    environment = {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "PYTHONPATH": os.pathsep.join(map(str, places)),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "history_trace", *SEEDS],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_histories_are_the_same_in_every_process() -> None:
    running = [started("1"), started("2")]
    first, second = (each.communicate()[0].splitlines() for each in running)
    assert [each.returncode for each in running] == [0, 0]
    differences = [pair for pair in zip_longest(first, second) if pair[0] != pair[1]]
    assert differences[:1] == []
    assert len(first) > 100 * len(SEEDS)
