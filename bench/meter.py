"""Processor time and memory of processes, by /proc."""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from controlplane import processes
from controlplane.processes import Process

LOAD = "load generator"
"""Ourselves: who submits and watches shares the machine with what is measured."""


def cpu_seconds(of: Iterable[Process]) -> dict[str, float]:
    """What each process has used so far, and what we have."""
    used = {each.name: processes.cpu_seconds(each) for each in of}
    return {**used, LOAD: time.process_time()}


def spent(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """What was used between two readings."""
    return {name: after[name] - before[name] for name in after}


def resident_megabytes(process: Process) -> float:
    """The memory that a process holds now."""
    return processes.resident_bytes(process) / 1e6


def peak_megabytes(process: Process) -> float:
    """The most memory that a process has held."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return peak_kibibytes(status) * 1024 / 1e6


def peak_kibibytes(status: str) -> int:
    """The same out of the text of /proc/<pid>/status."""
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1])
