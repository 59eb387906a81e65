"""Measures a manager on a crowd: PYTHONPATH=tests:. python -m bench.crowd --units 100000."""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import frame
from bench.crowd import crowd, figures, ground, sample
from bench.outcome import Outcome, table
from bench.progress import tell
from kq.log import LogFormat, configure

WIDTH = 140
LOAD_SECONDS = 60.0
SECONDS_A_UNIT = 0.005


def main(arguments: Sequence[str]) -> int:
    """Tells the figures; 0 if all went well, 1 if not, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="bench.crowd", description=__doc__)
    parser.add_argument("--units", type=int, default=100_000, help="how many wait")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(arguments)
    configure("error", LogFormat("console"))
    load_average = frame.load_average()

    def work(folder: Path) -> Callable[[], None]:
        outcome = _run(options.units, folder)
        return lambda: _show(outcome, load_average, options.json)

    return frame.framed("crowd", work)


def _run(units: int, folder: Path) -> Outcome:
    logs, objects = folder / "kq", folder / "objects.jsonl"
    logs.mkdir()
    tell("a sample of jobs is queued by kq itself")
    count = crowd.write(sample.taken(), units, objects)
    tell(f"kq sim starts with {count} waiting jobs, {objects.stat().st_size / 1e6:.0f} MB")
    limit = LOAD_SECONDS + count * SECONDS_A_UNIT
    with ground.crowded(logs, objects, count, limit) as running:
        tell(f"  it serves after {running.seconds:.0f} s; the manager starts")
        return asyncio.run(figures.measured(running))


def _show(outcome: Outcome, load_average: float, path: Path | None) -> None:
    conditions = {"cores": os.cpu_count(), "load_average_before": load_average}
    frame.console_of(WIDTH).print(table([outcome], frame.title_of(conditions)))
    frame.write_figures(outcome.figures, conditions, path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
