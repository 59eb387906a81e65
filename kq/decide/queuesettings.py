"""What annotations set on a Queue, and what is wrong with them (spec 3.9, 10.6, 10.10, 22.1)."""

import re

from kq.core import keys
from kq.core.messages import m16
from kq.core.model import Queue
from kq.core.priority import parse_int32

INTERVAL_KEYS = (
    "koord-queue/queue-items-refresh-interval",
    "kube-queue/queue-items-refresh-interval",
)
INTERVAL = 15.0
"""Seconds between two writes of a Queue's line, if it sets nothing else."""

THRESHOLD = 4
"""Priorities from it on are high, if nothing else is set."""

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = r"(\d{1,9}(?:\.\d{1,9})?)(h|ms|m|s)"


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
    for spellings, instead in ((keys.THRESHOLD, str(THRESHOLD)), (keys.MAX_DEPTH, "no limit")):
        key, text = _read(queue, spellings)
        if text is not None and parse_int32(text) is None:
            found.append(f"{m16(key, f'{text:.100}', 'a whole number')}: treated as {instead}")
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
    """The seconds of a Go duration of hours, minutes, seconds, milliseconds; None if it is none."""
    if text is None or re.fullmatch(f"(?:{_PART})+", text, re.ASCII) is None:
        return None
    parts = re.findall(_PART, text, re.ASCII)
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _truth(text: str | None) -> bool | None:
    """True or false in any case (spec 21.2); None if it is neither."""
    return {"true": True, "false": False}.get((text or "").lower())
