"""What annotations set on a Queue, and what is wrong with them (spec 3.9, 10.6, 10.10, 22.1)."""

import re
from datetime import timedelta
from functools import lru_cache

from kq.core import keys
from kq.core.messages import m16
from kq.core.model import Queue
from kq.core.options import RetryOptions
from kq.core.plaintext import read_plain
from kq.core.priority import parse_int32
from kq.decide.retry import Pace
from kq.errors import DecodeError

INTERVAL_KEYS = (
    "koord-queue/queue-items-refresh-interval",
    "kube-queue/queue-items-refresh-interval",
)
INTERVAL = 15.0
"""Seconds between two writes of a Queue's line, if it sets nothing else."""

DRAINS = "HoldAndDrain"

THRESHOLD = 4
"""Priorities from it on are high, if nothing else is set."""

NUMBERS = (
    (keys.THRESHOLD, -(2**31), "a whole number", str(THRESHOLD)),
    (keys.MAX_DEPTH, 0, "a whole number of 0 or more", "no limit"),
)
"""What is set in numbers: from which on, how that is said, and what counts in place of others."""

BACK_OFFS = ("podInitialBackoffSeconds", "podMaxBackoffSeconds")
"""What `koord-queue/queue-args` may say: the first back-off, and the longest (spec 10.19)."""

_MICRO = ("us", "\u00b5s", "\u03bcs")
"""In letters, with the micro sign, with the Greek letter."""
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "ns": 1e-9, **dict.fromkeys(_MICRO, 1e-6)}
_PART = rf"(\d{{1,9}}(?:\.\d{{0,9}})?|\.\d{{1,9}})(h|ms|m|s|ns|{'|'.join(_MICRO)})"


def rules(queue: Queue) -> tuple[object, ...]:
    """What of a Queue decides; what kq itself reports in its annotations does not."""
    marks = queue.annotations
    if not marks.keys().isdisjoint(keys.USAGE_ANNOTATIONS):
        marks = {key: text for key, text in marks.items() if key not in keys.USAGE_ANNOTATIONS}
    return (queue.policy, queue.priority, queue.stop_policy, marks, queue.deleting)


def is_stopped(queue: Queue) -> bool:
    """Whether nothing more starts in it (spec 3.1)."""
    return queue.stop_policy in ("Hold", DRAINS)


def drains(queue: Queue | None) -> bool:
    """Whether its units give back what they hold, too."""
    return queue is not None and queue.stop_policy == DRAINS


def interval_of(queue: Queue) -> float:
    """Seconds between two writes of the Queue's line (spec 3.9)."""
    seconds = _seconds(_read(queue, INTERVAL_KEYS)[1])
    return INTERVAL if seconds is None else seconds


def skips_impossible(queue: Queue) -> bool:
    """Whether the Queue passes over units that can never fit (spec 10.10)."""
    return _truth(_read(queue, keys.SKIP_IMPOSSIBLE)[1]) is True


def threshold_of(queue: Queue) -> int:
    """From which priority on units are high under the policy Intelligent (spec 10.11)."""
    found = parse_int32(_read(queue, keys.THRESHOLD)[1] or "")
    return THRESHOLD if found is None else found


def max_depth(queue: Queue) -> int | None:
    """How many candidates a cycle tries at most; None for all (spec 10.12)."""
    found = parse_int32(_read(queue, keys.MAX_DEPTH)[1] or "")
    return found if found is not None and found > 0 else None


def waits_for_pods(queue: Queue) -> bool:
    """Whether one unit at a time may have pods that do not run yet (spec 10.13)."""
    return _truth(_read(queue, keys.WAIT_FOR_PODS)[1]) is True


def preempts(queue: Queue) -> bool:
    """Whether its units take grants from those of lower priority (spec 13.1)."""
    return _truth(_read(queue, keys.ENABLE_PREEMPTION)[1]) is True


def pace_of(queue: Queue, otherwise: RetryOptions) -> Pace:
    """How long those of the Queue that lack quota are in back-off (spec 10.19)."""
    said = _back_offs(_read(queue, keys.QUEUE_ARGS)[1] or "") or {}
    initial, longest = (said.get(each) for each in BACK_OFFS)
    return Pace(
        otherwise.initial if initial is None else initial,
        otherwise.longest if longest is None else longest,
    )


def faults(queue: Queue, policies: tuple[str, ...]) -> tuple[str, ...]:
    """What of its settings cannot be read, and what counts instead."""
    found = []
    if queue.policy and queue.policy not in policies:
        found.append(unknown_policy(queue.policy, policies))
    key, text = _read(queue, INTERVAL_KEYS)
    if text is not None and _seconds(text) is None:
        found.append(f"{m16(key, f'{text:.100}', 'a duration as 15s')}: treated as 15s")
    for spellings in (keys.SKIP_IMPOSSIBLE, keys.WAIT_FOR_PODS, keys.ENABLE_PREEMPTION):
        key, text = _read(queue, spellings)
        if text is not None and _truth(text) is None:
            found.append(f"{m16(key, f'{text:.100}', 'true or false')}: treated as false")
    for spellings, least, wanted, instead in NUMBERS:
        key, text = _read(queue, spellings)
        number = parse_int32(text or "")
        if text is not None and (number is None or number < least):
            found.append(f"{m16(key, f'{text:.100}', wanted)}: treated as {instead}")
    key, text = _read(queue, keys.QUEUE_ARGS)
    if text and _back_offs(text) is None:
        wanted = f"a map of seconds named {' and '.join(BACK_OFFS)}"
        found.append(f"{m16(key, f'{text:.100}', wanted)}: treated as absent")
    return tuple(found)


def unknown_policy(value: str, policies: tuple[str, ...]) -> str:
    """What is wrong, and the right name where only the case is (spec 10.6)."""
    near = next((each for each in policies if each.lower() == value.lower()), None)
    hint = f"; it is written {near}" if near else ""
    return f"queuePolicy {value} is not one of {', '.join(policies)}: treated as Priority{hint}"


def _read(queue: Queue, spellings: tuple[str, ...]) -> tuple[str, str | None]:
    """The spelling that counts, and what it says; None if there is none (spec 10.14)."""
    key = next((each for each in spellings if each in queue.annotations), spellings[0])
    return key, queue.annotations.get(key)


def _seconds(text: str | None) -> float | None:
    """The seconds of a Go duration, which needs no unit only if it is 0; None if it is none."""
    if text == "0":
        return 0.0
    if text is None or re.fullmatch(f"(?:{_PART})+", text, re.ASCII) is None:
        return None
    parts = re.findall(_PART, text, re.ASCII)
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _truth(text: str | None) -> bool | None:
    """True or false in any case (spec 21.2); None if it is neither."""
    return {"true": True, "false": False}.get((text or "").lower())


@lru_cache(1024)
def _back_offs(text: str) -> dict[str, timedelta] | None:
    """The back-offs that a map names, other keys aside; None if it is none, or one is no time."""
    try:
        said = read_plain(text) if text else {}
    except DecodeError:
        return None
    if not isinstance(said, dict):
        return None
    named = {key: _whole_seconds(said[key]) for key in BACK_OFFS if key in said}
    found = {key: timedelta(seconds=each) for key, each in named.items() if each is not None}
    return found if len(found) == len(named) else None


def _whole_seconds(value: object) -> float | None:
    """Seconds as a number of 0 or more, or as a duration."""
    if not isinstance(value, str):
        return None
    number = parse_int32(value)
    return _seconds(value) if number is None else number if number >= 0 else None
