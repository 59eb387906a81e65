"""Scenarios of the end-to-end tests are played on the simulated cluster too."""

import sys
from pathlib import Path

E2E = str(Path(__file__).parents[1] / "e2e")

if E2E not in sys.path:
    sys.path.append(E2E)
