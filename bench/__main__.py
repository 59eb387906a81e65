"""Runs the benchmarks: PYTHONPATH=tests:. python -m bench --jobs 1000 --json figures.json."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import frame, loads
from bench.frame import Conditions
from bench.loads import LOADS
from bench.outcome import Outcome, merged, table
from bench.progress import tell
from bench.stage import Sizes

WIDTH = 140


def main(arguments: Sequence[str]) -> int:
    """Runs the loads that are asked for; 0 if all went well, 1 if not, 130 after Ctrl-C."""
    options = _parser().parse_args(arguments)

    def work(folder: Path) -> Callable[[], None]:
        binaries = frame.control_plane()
        outcomes, conditions = _run_all(options, binaries, folder)
        return lambda: _show(outcomes, conditions, options.json)

    return frame.framed("bench", work)


def _run_all(
    options: argparse.Namespace, binaries: Path, folder: Path
) -> tuple[list[Outcome], Conditions]:
    load_average, started = frame.load_average(), time.monotonic()
    sizes = Sizes(jobs=options.jobs, waiting=options.waiting)
    outcomes = []
    for name in options.only:
        tell(f"{name}:")
        outcomes.append(loads.run(name, sizes, binaries, folder / name))
        for row in outcomes[-1].rows:
            tell(f"  {row.figure}: {row.value}")
    conditions = {
        "jobs": sizes.jobs,
        "waiting": sizes.waiting,
        "cores": os.cpu_count(),
        "load_average_before": load_average,
        "seconds": round(time.monotonic() - started),
    }
    return outcomes, conditions


def _show(outcomes: Sequence[Outcome], conditions: Conditions, path: Path | None) -> None:
    frame.console_of(WIDTH).print(table(outcomes, frame.title_of(conditions)))
    frame.write_figures(merged(outcomes), conditions, path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--jobs", type=_count, default=1000, help="jobs of a burst")
    parser.add_argument("--waiting", type=_count, default=10_000, help="jobs at a full quota")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument(
        "--only", type=_loads, default=list(LOADS), help=f"some of {','.join(LOADS)}"
    )
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} jobs are no load")
    return number


def _loads(text: str) -> list[str]:
    names = [each.strip() for each in text.split(",")]
    for name in names:
        if name not in LOADS:
            raise argparse.ArgumentTypeError(f"{name} is not one of {', '.join(LOADS)}")
    return names


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
