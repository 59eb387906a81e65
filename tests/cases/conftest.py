"""Virtual time for the cases, and the way to what the neighbouring folders offer."""

import random
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

TESTS = Path(__file__).parents[1]
NEIGHBOURS = ("webhook", "reconcile", "kube", "manifests")

# Run alone, this folder would be the only one whose modules can be imported.
sys.path.extend(path for name in NEIGHBOURS if (path := str(TESTS / name)) not in sys.path)

from case_stage import ticks, virtual_now  # noqa: E402 - found by the path above


@pytest.fixture
def virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The manager's clocks are the loop's; the garbage collector is the tests' own."""
    random.seed(0)  # the jitter of informers
    clock = SimpleNamespace(monotonic=ticks)
    for module in ("kq.app.controllers", "kq.app.manager"):
        monkeypatch.setattr(f"{module}.utc_now", virtual_now)
    monkeypatch.setattr("kq.app.controllers.time", clock)
    monkeypatch.setattr("kq.app.manager.quiet_collector", nullcontext)


@pytest.fixture
def logs() -> Iterator[list[Any]]:
    """What is logged, as long as the test runs."""
    with capture_logs() as captured:
        yield captured
