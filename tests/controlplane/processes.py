"""One process of a control plane: started, watched, and ended by its own pid alone."""

import json
import os
import select
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from controlplane import leash
from controlplane.errors import Crashed

LOG_LINES_SHOWN = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process that was started; the start time tells it from a later one with the same pid."""

    name: str
    pid: int
    started: int
    """Clock ticks between boot and start, as in /proc/<pid>/stat."""
    log: str
    expendable: bool = False
    """May be killed without being asked to end first."""


def start(
    name: str,
    command: Sequence[str],
    log: Path,
    *,
    leashed: bool,
    environment: Mapping[str, str] | None = None,
    expendable: bool = False,
) -> Process:
    """Starts a command in a session of its own; leashed, it dies with this process."""
    argv = leash.leashed(command) if leashed else list(command)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawn(
        argv[0],
        argv,
        {**os.environ, **(environment or {})},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigmask=(),
    )
    return Process(
        name=name, pid=pid, started=_stat(pid).started, log=str(log), expendable=expendable
    )


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Holds Ctrl-C back, so that no process is started without being noted."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def is_running(process: Process) -> bool:
    """Whether that very process still runs; a dead one that nobody waited for does not."""
    with suppress(ProcessLookupError, FileNotFoundError):
        stat = _stat(process.pid)
        return stat.started == process.started and stat.state not in "ZX"
    return False


def check(process: Process) -> None:
    """Raises Crashed, with the end of its log, if a child of ours ended by itself."""
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
    ended = os.waitid(os.P_PID, process.pid, flags)
    if ended is None:
        return
    how = "exit code" if ended.si_code == os.CLD_EXITED else "signal"
    raise Crashed(
        f"{process.name} ended with {how} {ended.si_status}; the end of its log {process.log}:\n"
        + log_end(process)
    )


def log_end(process: Process) -> str:
    """The last lines that a process wrote."""
    lines = Path(process.log).read_text(errors="replace").splitlines()
    return "\n".join(f"    {line}" for line in lines[-LOG_LINES_SHOWN:])


def end(process: Process, grace_seconds: float, first: signal.Signals = signal.SIGTERM) -> None:
    """Ends that very process and returns when it is gone: asks first, kills after the grace."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        # The handle means one process for good, so its start time is compared only now.
        if _is_same(process):
            _end(handle, grace_seconds, first)
            with suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)
    finally:
        os.close(handle)


def kill(process: Process) -> None:
    """Ends that very process without asking, and returns when it is gone."""
    end(process, 0.0, first=signal.SIGKILL)


def wait(process: Process) -> int:
    """Waits until a child of ours ends by itself; its exit code, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])


def resident_bytes(process: Process) -> int:
    """The memory that a process holds."""
    pages = Path(f"/proc/{process.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(process: Process) -> float:
    """The processor time that a process has used so far."""
    return _stat(process.pid).cpu_ticks / os.sysconf("SC_CLK_TCK")


def save(processes: Iterable[Process], path: Path) -> None:
    """Writes down which processes to end, whole or not at all."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps([asdict(process) for process in processes], indent=2))
    partial.rename(path)


def load(path: Path) -> list[Process]:
    """The processes that were written down, oldest first; none if there is no such file."""
    if not path.exists():
        return []
    return [Process(**entry) for entry in json.loads(path.read_text())]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stat:
    state: str
    cpu_ticks: int
    started: int


def _stat(pid: int) -> _Stat:
    # The name in parentheses may hold spaces: fields count from behind it, state first.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    cpu_ticks = int(fields[11]) + int(fields[12])
    return _Stat(state=fields[0], cpu_ticks=cpu_ticks, started=int(fields[19]))


def _end(handle: int, grace_seconds: float, first: signal.Signals) -> None:
    gone = select.poll()
    gone.register(handle, select.POLLIN)
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, first)
        if not gone.poll(grace_seconds * 1000):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            gone.poll()


def _is_same(process: Process) -> bool:
    with suppress(ProcessLookupError, FileNotFoundError):
        return _stat(process.pid).started == process.started
    return False
