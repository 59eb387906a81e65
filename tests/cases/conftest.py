"""What all cases share, and the way to what the neighbouring folders offer."""

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

TESTS = Path(__file__).parents[1]
NEIGHBOURS = ("webhook", "reconcile", "kube", "manifests")

# Run alone, this folder would be the only one whose modules can be imported.
sys.path.extend(path for name in NEIGHBOURS if (path := str(TESTS / name)) not in sys.path)


@pytest.fixture
def same_jitter() -> None:
    """The jitter of informers is the same each time."""
    random.seed(0)


@pytest.fixture
def logs() -> Iterator[list[Any]]:
    """What is logged, as long as the test runs."""
    with capture_logs() as captured:
        yield captured
