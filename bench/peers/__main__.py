"""Runs burst and places on Kueue, then on kq: PYTHONPATH=tests:. python -m bench.peers."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from controlplane import cli

from bench import frame, loads
from bench.frame import Conditions
from bench.outcome import Outcome, merged
from bench.peers import comparison, program
from bench.peers.kueue import of_kueue
from bench.peers.program import Program
from bench.progress import tell
from bench.queues import Opener, of_kq
from bench.stage import Sizes

LOADS = ("burst", "places")
KUEUE, KQ = "Kueue", "kq"
WIDTH = 140

Outcomes = Mapping[str, Sequence[Outcome]]


def main(arguments: Sequence[str]) -> int:
    """Runs the loads on both; 0 if all went well, 1 if not, 130 after Ctrl-C."""
    options = _options(arguments)

    def work(folder: Path) -> Callable[[], None]:
        binaries = frame.control_plane()
        kueue = program.ensure(os.environ, cli.tell)
        outcomes, conditions = _run_all(options.jobs, binaries, kueue, folder)
        return lambda: _show(outcomes, conditions, options.json)

    return frame.framed("peers", work)


def _run_all(
    jobs: int, binaries: Path, kueue: Program, folder: Path
) -> tuple[Outcomes, Conditions]:
    queues: Mapping[str, Opener] = {KUEUE: partial(of_kueue, kueue), KQ: of_kq}
    load_average, started = frame.load_average(), time.monotonic()
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
    conditions = {
        "jobs": jobs,
        "kueue": kueue.version,
        "cores": os.cpu_count(),
        "load_average_before": load_average,
        "seconds": round(time.monotonic() - started),
    }
    return outcomes, conditions


def _show(outcomes: Outcomes, conditions: Conditions, path: Path | None) -> None:
    found = comparison.pairings(outcomes[KUEUE], outcomes[KQ])
    title = frame.title_of(conditions)
    frame.console_of(WIDTH).print(comparison.table(found, KUEUE, title))
    figures = {
        **{queue.lower(): merged(each) for queue, each in outcomes.items()},
        "kq_to_kueue": comparison.ratios(found),
    }
    frame.write_figures(figures, conditions, path)


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
