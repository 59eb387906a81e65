"""Which operators tests ask for, by @pytest.mark.operators("training", ...), and their building."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from controlplane import leash
from controlplane.operators import OPERATORS, chosen, program

TESTS = Path(__file__).parents[2]


def asked_for(items: Iterable[pytest.Item]) -> list[str]:
    """The operators that any of the tests is marked with, and those that they need."""
    marks = (mark for item in items for mark in item.iter_markers("operators"))
    return [each.name for each in chosen(name for mark in marks for name in mark.args)]


def missing(names: Iterable[str], environ: Mapping[str, str]) -> list[str]:
    """Those that are not built yet."""
    return [name for name in names if not program.is_built(OPERATORS[name], environ)]


def build_beside(names: Iterable[str]) -> subprocess.Popen[bytes]:
    """Builds them in a process that gives way to others, and dies with this one."""
    nice = shutil.which("nice")
    command = [sys.executable, "-m", "controlplane", "build", "--operators", ",".join(names)]
    if nice:
        command = [nice, "-n", "10", *command]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    return subprocess.Popen(leash.leashed(command), env=environment, stdout=subprocess.DEVNULL)
