"""Runs burst and places on Kueue, then on kq: PYTHONPATH=tests:. python -m bench.peers."""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from controlplane import build, cli
from controlplane.errors import ControlPlaneError
from rich.console import Console

from bench import failure, loads
from bench.outcome import Outcome, merged
from bench.peers import comparison, program
from bench.peers.kueue import of_kueue
from bench.peers.program import Program
from bench.progress import tell
from bench.queues import Opener, of_kq
from bench.stage import Sizes

LOADS = ("burst", "places")
KUEUE, KQ = "Kueue", "kq"
BUSY = 0.7
INTERRUPTED = 130
WIDTH = 140

Outcomes = Mapping[str, Sequence[Outcome]]


def main(arguments: Sequence[str]) -> int:
    """Runs the loads on both; 0 if all went well, 1 if not, 130 after Ctrl-C."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        binaries = build.ensure_binaries(build.control_plane_module(), os.environ, cli.tell)
        kueue = program.ensure(os.environ, cli.tell)
    except ControlPlaneError as err:
        tell(f"error: {err}")
        return 1
    folder = Path(tempfile.mkdtemp(prefix="kq-peers-"))
    try:
        outcomes, conditions = _run_all(options.jobs, binaries, kueue, folder)
    except KeyboardInterrupt:
        shutil.rmtree(folder)
        tell("interrupted; nothing was left running, nothing was left behind")
        return INTERRUPTED
    except Exception as err:  # whatever it was, a log is named
        for line in failure.report(err, folder):
            tell(line)
        return 1
    shutil.rmtree(folder)
    _show(outcomes, conditions, options.json)
    return 0


def _run_all(
    jobs: int, binaries: Path, kueue: Program, folder: Path
) -> tuple[Outcomes, dict[str, object]]:
    queues: Mapping[str, Opener] = {KUEUE: partial(of_kueue, kueue), KQ: of_kq}
    load_average, started = os.getloadavg()[0], time.monotonic()
    if load_average > BUSY:
        tell(f"this machine is busy (load average {load_average:.1f}): figures will be worse")
    sizes = Sizes(jobs=jobs, waiting=0)
    outcomes: dict[str, list[Outcome]] = {}
    for queue, opener in queues.items():
        outcomes[queue] = []
        for load in LOADS:
            tell(f"{queue}, {load}:")
            outcome = loads.run(load, sizes, binaries, folder / queue / load, opener)
            outcomes[queue].append(outcome)
            for row in outcome.rows:
                tell(f"  {row.figure}: {row.value}")
    return outcomes, _conditions(jobs, kueue, load_average, time.monotonic() - started)


def _conditions(
    jobs: int, kueue: Program, load_average: float, seconds: float
) -> dict[str, object]:
    return {
        "jobs": jobs,
        "kueue": kueue.version,
        "cores": os.cpu_count(),
        "load_average_before": round(load_average, 2),
        "seconds": round(seconds),
    }


def _show(outcomes: Outcomes, conditions: dict[str, object], path: Path | None) -> None:
    found = comparison.pairings(outcomes[KUEUE], outcomes[KQ])
    title = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in conditions.items())
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(comparison.table(found, KUEUE, title))
    if path is not None:
        figures = {
            **{queue.lower(): merged(each) for queue, each in outcomes.items()},
            "kq_to_kueue": comparison.ratios(found),
            "conditions": conditions,
        }
        path.write_text(json.dumps(figures, indent=2) + "\n")
        tell(f"the figures are in {path}")


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.peers", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1000, help="jobs of a burst")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error(f"{options.jobs} jobs are no load")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
