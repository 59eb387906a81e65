"""Measures a manager on a crowd: PYTHONPATH=tests:. python -m bench.crowd --units 100000."""

import argparse
import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from bench import failure
from bench.crowd import crowd, figures, ground, sample
from bench.outcome import Outcome, table
from bench.progress import tell
from kq.log import LogFormat, configure

INTERRUPTED = 130
WIDTH = 140
LOAD_SECONDS = 60.0
SECONDS_A_UNIT = 0.005


def main(arguments: Sequence[str]) -> int:
    """Tells the figures; 0 if all went well, 1 if not, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="bench.crowd", description=__doc__)
    parser.add_argument("--units", type=int, default=100_000, help="how many wait")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    configure("error", LogFormat("console"))
    folder = Path(tempfile.mkdtemp(prefix="kq-crowd-"))
    load_average = os.getloadavg()[0]
    try:
        outcome = _run(options.units, folder)
    except KeyboardInterrupt:
        shutil.rmtree(folder)
        tell("interrupted; nothing was left running, nothing was left behind")
        return INTERRUPTED
    except Exception as err:  # whatever it was, a log is named
        for line in failure.report(err, folder):
            tell(line)
        return 1
    shutil.rmtree(folder)
    _show(outcome, round(load_average, 2), options.json)
    return 0


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
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    title = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in conditions.items())
    console.print(table([outcome], title))
    if path is not None:
        path.write_text(json.dumps({**outcome.figures, "conditions": conditions}, indent=2) + "\n")
        tell(f"the figures are in {path}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
