"""The life of a unit: the table of spec 9.5, the only source of its phases."""

from dataclasses import dataclass
from enum import StrEnum

from kq.core.model import HOLDING, Phase


class Event(StrEnum):
    """What happens to a unit; values are the words of spec 9.5."""

    FITS = "fits, no check applies"
    FITS_WITH_CHECKS = "fits, at least one check applies"
    CHECKS_READY = "all checks Ready"
    CHECK_RETRY = "a check is Retry"
    CHECK_REJECTED = "a check is Rejected"
    PREEMPTED = "preempted, reclaimed, drained, or moved to another quota"
    RUNS = "job state Running"
    START_TIMEOUT = "not Running within the start time-out"
    DEACTIVATED = "spec.active: false"
    TIME_OVER = "maximum execution time over"
    PAUSED = "suspended by somebody else"
    BACKOFF_OVER = "requeueAt passed"
    REACTIVATED = "spec.active set true"
    SUCCEEDED = "job Succeeded"
    FAILED = "job Failed"
    RUNS_AGAIN = "job runs again"
    FOUND_RUNNING = "slipped job counted"
    FOUND_RELEASED = "slipped job without pods counted"
    HOLD_INEFFECTIVE = "hold proves ineffective"
    REPAIRED = "granted above the limit by an old leader"
    JOB_DELETED = "job is being deleted, no pod of it is live"
    STARTED_ANEW = "run started anew"


@dataclass(frozen=True, slots=True)
class Transition:
    """One row: `once_gone` means the phase stays until the job is suspended and no pod is live."""

    row: str
    sources: frozenset[Phase]
    event: Event
    target: Phase
    once_gone: bool = False
    inactive: bool = False


WAITING = frozenset({Phase.ENQUEUED})
RESERVED = frozenset({Phase.RESERVED})
DEQUEUED = frozenset({Phase.DEQUEUED})
RELEASED = frozenset({Phase.DEQUEUED, Phase.RUNNING})
BACKED_OFF = frozenset({Phase.BACKOFF})
ENDED = frozenset({Phase.SUCCEED, Phase.FAILED})
UNFINISHED = frozenset(Phase) - ENDED

TRANSITIONS: tuple[Transition, ...] = (
    Transition("a", WAITING, Event.FITS, Phase.DEQUEUED),
    Transition("b", WAITING, Event.FITS_WITH_CHECKS, Phase.RESERVED),
    Transition("c", RESERVED, Event.CHECKS_READY, Phase.DEQUEUED),
    Transition("d", RESERVED, Event.CHECK_RETRY, Phase.BACKOFF),
    Transition("e", RESERVED, Event.CHECK_REJECTED, Phase.BACKOFF, inactive=True),
    Transition("f", RESERVED, Event.PREEMPTED, Phase.ENQUEUED),
    Transition("g", DEQUEUED, Event.RUNS, Phase.RUNNING),
    Transition("h", RELEASED, Event.START_TIMEOUT, Phase.BACKOFF, once_gone=True),
    Transition("i", RELEASED, Event.PREEMPTED, Phase.ENQUEUED, once_gone=True),
    Transition("j", RELEASED, Event.CHECK_RETRY, Phase.BACKOFF, once_gone=True),
    Transition("k", RELEASED, Event.CHECK_REJECTED, Phase.BACKOFF, True, True),
    Transition("l", WAITING | HOLDING, Event.DEACTIVATED, Phase.ENQUEUED, True, True),
    Transition("m", RELEASED, Event.TIME_OVER, Phase.ENQUEUED, True, True),
    Transition("n", RELEASED, Event.PAUSED, Phase.ENQUEUED, True, True),
    Transition("o", BACKED_OFF, Event.BACKOFF_OVER, Phase.ENQUEUED),
    Transition("p", BACKED_OFF, Event.REACTIVATED, Phase.ENQUEUED),
    Transition("q", UNFINISHED, Event.SUCCEEDED, Phase.SUCCEED),
    Transition("q", UNFINISHED, Event.FAILED, Phase.FAILED),
    Transition("r", ENDED, Event.RUNS_AGAIN, Phase.RUNNING),
    Transition("s", WAITING | RESERVED, Event.FOUND_RUNNING, Phase.RUNNING),
    Transition("s", WAITING | RESERVED, Event.FOUND_RELEASED, Phase.DEQUEUED),
    Transition("t", WAITING | RESERVED, Event.HOLD_INEFFECTIVE, Phase.RUNNING),
    Transition("u", DEQUEUED, Event.REPAIRED, Phase.ENQUEUED),
    Transition("v", UNFINISHED, Event.JOB_DELETED, Phase.FAILED),
    Transition("w", RELEASED, Event.STARTED_ANEW, Phase.ENQUEUED, once_gone=True),
)
"""First match counts; no other transition exists (spec 9.5)."""

WEIGHT = tuple("klnmjhwi")
"""Of two causes to take grants back the one named earlier decides (spec 9.5)."""


def advance(phase: Phase | None, event: Event) -> Transition | None:
    """The row for that event in that phase; None: the phase stays. Unknown phases stay (9.3)."""
    return next((row for row in TRANSITIONS if row.event is event and phase in row.sources), None)


def weight(event: Event) -> int:
    """The weight of an event that takes grants back: of two the smaller decides."""
    rows = [row.row for row in TRANSITIONS if row.event is event]
    return min(WEIGHT.index(row) for row in rows if row in WEIGHT)


def diagram() -> str:
    """The table as lines `from --row: event--> to`, for ARCHITECTURE.md."""
    lines = []
    for row in TRANSITIONS:
        sources = ", ".join(phase.value for phase in Phase if phase in row.sources)
        gone = " (then gone)" if row.once_gone else ""
        lines.append(f"{row.row}  {sources}  --{row.event.value}{gone}-->  {row.target.value}")
    return "\n".join(lines)
