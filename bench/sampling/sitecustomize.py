"""Notes where a process of kq spends its processor time, without a change to it.

Python imports this module by itself where this folder is on its path. SIGUSR2 starts the notes,
another ends them and writes them down: a line a stack, `outermost;...;innermost count`.

A timer of processor time, not of time, interrupts: what waits is not seen. The interpreter takes
the signal between two bytecodes of the main thread, so the time of C code counts for its caller.
"""

import os
import signal
import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

INTERVAL_SECONDS = 0.001
"""As often as the kernel's clock allows."""


class Sampler:
    """Counts stacks while its timer runs."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stacks: Counter[tuple[CodeType, ...]] = Counter()
        self._running = False

    def switch(self, number: int, frame: FrameType | None) -> None:
        """Start, or end and write."""
        self._running = not self._running
        if self._running:
            signal.signal(signal.SIGPROF, self._note)
            signal.setitimer(signal.ITIMER_PROF, INTERVAL_SECONDS, INTERVAL_SECONDS)
            return
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, signal.SIG_IGN)
        self._write()

    def _note(self, number: int, frame: FrameType | None) -> None:
        stack = []
        while frame is not None:
            stack.append(frame.f_code)
            frame = frame.f_back
        self._stacks[tuple(stack)] += 1

    def _write(self) -> None:
        lines = [
            f"{';'.join(_name(code) for code in reversed(stack))} {count}"
            for stack, count in self._stacks.most_common()
        ]
        self._stacks.clear()
        # Whole or not at all: whoever waits for the file reads it at once.
        partial = self._path.with_suffix(".partial")
        partial.write_text("\n".join(lines) + "\n")
        partial.rename(self._path)


def _name(code: CodeType) -> str:
    """`kq/reconcile/job.py:JobReconciler.reconcile`; libraries from their package on."""
    path = code.co_filename
    for root in ("/site-packages/", f"/python{sys.version_info[0]}.{sys.version_info[1]}/"):
        path = path.rpartition(root)[2]
    place = path.rfind("/kq/")
    return f"{path[place + 1 :] if place >= 0 else path}:{code.co_qualname}"


if folder := os.environ.get("KQ_SAMPLES"):
    for role in ("manager", "webhook"):
        if role in sys.orig_argv:
            signal.signal(signal.SIGUSR2, Sampler(Path(folder) / f"{role}.stacks").switch)
