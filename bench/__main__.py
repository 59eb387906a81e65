"""Runs the benchmarks: PYTHONPATH=tests:. python -m bench --jobs 1000 --json figures.json."""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from controlplane import build, cli
from controlplane.errors import ControlPlaneError
from rich.console import Console

from bench import failure, loads
from bench.loads import LOADS
from bench.outcome import Outcome, merged, table
from bench.progress import tell
from bench.stage import Sizes

BUSY = 0.7
"""A load average above which other work on the machine spoils figures."""

INTERRUPTED = 130
WIDTH = 140


def main(arguments: Sequence[str]) -> int:
    """Runs the loads that are asked for; 0 if all went well, 1 if not, 130 after Ctrl-C."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        binaries = build.ensure_binaries(build.control_plane_module(), os.environ, cli.tell)
    except ControlPlaneError as err:
        tell(f"error: {err}")
        return 1
    folder = Path(tempfile.mkdtemp(prefix="kq-bench-"))
    try:
        outcomes, conditions = _run_all(options, binaries, folder)
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
    options: argparse.Namespace, binaries: Path, folder: Path
) -> tuple[list[Outcome], dict[str, object]]:
    load_average, started = os.getloadavg()[0], time.monotonic()
    if load_average > BUSY:
        tell(f"this machine is busy (load average {load_average:.1f}): figures will be worse")
    sizes = Sizes(jobs=options.jobs, waiting=options.waiting)
    outcomes = []
    for name in options.only:
        tell(f"{name}:")
        outcomes.append(loads.run(name, sizes, binaries, folder / name))
        for row in outcomes[-1].rows:
            tell(f"  {row.figure}: {row.value}")
    conditions: dict[str, object] = {
        "jobs": sizes.jobs,
        "waiting": sizes.waiting,
        "cores": os.cpu_count(),
        "load_average_before": round(load_average, 2),
        "seconds": round(time.monotonic() - started),
    }
    return outcomes, conditions


def _show(outcomes: Sequence[Outcome], conditions: dict[str, object], path: Path | None) -> None:
    title = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in conditions.items())
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(table(outcomes, title))
    if path is not None:
        figures = {**merged(outcomes), "conditions": conditions}
        path.write_text(json.dumps(figures, indent=2) + "\n")
        tell(f"the figures are in {path}")


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
