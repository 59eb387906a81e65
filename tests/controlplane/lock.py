"""One process at a time: a file that whoever works holds locked, and touches to show that it lives.

The kernel takes the lock from a holder that dies. One that was stopped, or hangs, keeps it: those
who wait for it give up, and say whom they waited for.
"""

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from controlplane.errors import Blocked

POLL_SECONDS = 0.2
BEAT_SECONDS = 10.0
"""How often a holder shows that it lives, and one who waits that it waits."""
SILENT_SECONDS = 60.0
"""A holder that shows no life for so long was stopped or hangs."""
WAIT_SECONDS = 3600.0
"""Nobody waits longer, whatever the holder does."""


@contextmanager
def held(path: Path, what: str, say: Callable[[str], None]) -> Iterator[None]:
    """Holds the lock of a file; says what another process does with it while that one has it."""
    with path.open("a+") as lock:
        descriptor = lock.fileno()
        _wait(_Holder(path=path, descriptor=descriptor, seen=time.monotonic()), what, say)
        _name(descriptor, f"{os.getpid()}\n")
        try:
            with _beating(descriptor):
                yield
        finally:
            _name(descriptor, "")


def _name(descriptor: int, text: str) -> None:
    """Leaves word of who holds it."""
    os.ftruncate(descriptor, 0)
    os.write(descriptor, text.encode())


@dataclass(slots=True, kw_only=True)
class _Holder:
    """Who has the lock, as far as one who waits can see."""

    path: Path
    descriptor: int
    seen: float
    """When the last beat was seen, on the clock of the one who waits."""
    beat: int = 0

    def silent(self) -> float:
        """How long it has shown no life; never of one that has not said yet who it is."""
        beat = os.fstat(self.descriptor).st_mtime_ns
        if beat != self.beat or not self.name:
            self.beat, self.seen = beat, time.monotonic()
        return time.monotonic() - self.seen

    @property
    def name(self) -> str:
        return os.pread(self.descriptor, 32, 0).decode().strip()

    def blocks(self, why: str) -> Blocked:
        """That it will not let go, and what a person can do."""
        if not self.name:
            return Blocked(f"whoever holds {self.path} {why}")
        way = f"let it go on (kill -CONT {self.name}) or end it"
        return Blocked(f"process {self.name}, which holds {self.path}, {why}; {way}")


def _wait(holder: _Holder, what: str, say: Callable[[str], None]) -> None:
    started, spoke = time.monotonic(), -BEAT_SECONDS
    while not _try(holder.descriptor):
        waited = time.monotonic() - started
        if waited - spoke >= BEAT_SECONDS:
            spoke = waited
            say(f"another process is {what}; waiting ({waited:.0f} s)")
        if holder.silent() > SILENT_SECONDS:
            raise holder.blocks(f"has shown no life for {SILENT_SECONDS:.0f} s")
        if waited > WAIT_SECONDS:
            raise holder.blocks(f"did not let go within {WAIT_SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _beating(descriptor: int) -> Iterator[None]:
    over = threading.Event()

    def beat() -> None:
        while not over.wait(BEAT_SECONDS):
            os.utime(descriptor)

    thread = threading.Thread(target=beat, name="beat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
