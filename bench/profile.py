"""Where manager and webhook spend their processor time under a burst.

PYTHONPATH=tests:. python -m bench.profile --jobs 500
"""

import argparse
import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from controlplane import processes
from controlplane.processes import Process

from bench import frame, objects, stacks, stage
from bench.failure import BenchError
from bench.loads.burst import SETTLE_SECONDS
from bench.metrics import counters
from bench.progress import pause, tell
from bench.rush import rush
from bench.stage import Stage, Wanted

SAMPLING = Path(__file__).with_name("sampling")
WRITING_SECONDS = 10.0
COUNTED = ("kq_reconcile", "workqueue_adds", "rest_client_requests")
WIDTH = 180


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """What was noted of one process."""

    role: str
    cpu_seconds: float
    stacks: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Notes of both processes, and how often the manager did what."""

    jobs: int
    notes: Sequence[Notes]
    done: Mapping[str, float]


def main(arguments: Sequence[str]) -> int:
    """Profiles a burst; 0 if it went well, 1 if not, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="bench.profile", description=__doc__)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--stacks", type=Path, help="a folder for the notes, for flame graphs")
    options = parser.parse_args(arguments)

    def work(folder: Path) -> Callable[[], None]:
        found = _profile(options.jobs, frame.control_plane(), folder)
        return lambda: _show(found, options.stacks)

    return frame.framed("profile", work)


def _profile(jobs: int, binaries: Path, folder: Path) -> Findings:
    path = f"{SAMPLING}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    wanted = Wanted(environment={"PYTHONPATH": path, "KQ_SAMPLES": str(folder)})
    with stage.running(folder, binaries, wanted) as running:
        try:
            return asyncio.run(_burst(running, jobs))
        finally:
            running.check()


async def _burst(running: Stage, jobs: int) -> Findings:
    running.make_quota(jobs)
    observed = {"manager": running.manager, "webhook": running.webhook}
    tell(f"  a burst of {jobs} jobs")
    before = {role: _switch(process) for role, process in observed.items()}
    await rush(running, objects.jobs(jobs, "0s"))
    await pause(SETTLE_SECONDS, running.check)
    used = {role: _switch(process) - before[role] for role, process in observed.items()}
    running.check_ended(jobs)
    notes = [
        Notes(role=role, cpu_seconds=seconds, stacks=_written(running.folder / f"{role}.stacks"))
        for role, seconds in used.items()
    ]
    return Findings(jobs=jobs, notes=notes, done=counters(running.metrics(), COUNTED))


def _switch(process: Process) -> float:
    """Starts the notes of a process, or ends them; its processor time so far."""
    os.kill(process.pid, signal.SIGUSR2)
    return processes.cpu_seconds(process)


def _written(path: Path) -> str:
    deadline = time.monotonic() + WRITING_SECONDS
    while not path.exists():
        if time.monotonic() > deadline:
            raise BenchError(f"{path} was not written")
        time.sleep(0.05)
    return path.read_text()


def _show(found: Findings, folder: Path | None) -> None:
    console = frame.console_of(WIDTH)
    console.print(f"the manager did, a job, in a burst of {found.jobs} (its start included):")
    for name, number in sorted(found.done.items()):
        console.print(f"  {number / found.jobs:8.2f}  {name}", markup=False)
    for notes in found.notes:
        profile = stacks.profile(notes.stacks.splitlines())
        for table in stacks.tables(profile, notes.cpu_seconds, notes.role):
            console.print(table)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{notes.role}.stacks").write_text(notes.stacks)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
