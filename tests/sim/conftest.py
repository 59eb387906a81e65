"""Scenarios of the end-to-end tests are played on the simulated cluster too, and the cases."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

E2E = str(Path(__file__).parents[1] / "e2e")

if E2E not in sys.path:
    sys.path.append(E2E)

from sim_case import Case, on_stage  # noqa: E402 - what it imports is found by the path above


@pytest.fixture
def case() -> Iterator[Case]:
    """A cluster of one team, with kq at work, for one case."""
    with on_stage() as case:
        yield case
