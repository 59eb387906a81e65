"""Runs the command line: PYTHONPATH=tests python -m controlplane up."""

import sys

from controlplane.cli import main

sys.exit(main(sys.argv[1:]))
