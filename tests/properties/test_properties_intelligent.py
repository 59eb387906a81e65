"""Intelligent: low units never lengthen the wait of the high one that is next (spec 10.11c, d).

What a low unit started before that is another matter, and so is what it took from the high ones
behind the next. So each history is played a second time without the low units that started from the
moment on at which a high one was the first to wait: it has to start at the same moment. Unless
another one came that goes before it and took what was kept free for it: nobody can foresee that.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import msgspec
import pytest
from builders import NOW, amounts, book, granted, job_view, pod_set, queue, quota, unit
from hypothesis import given, settings
from hypothesis import strategies as st

from kq.core import keys
from kq.core.model import Phase, QueueUnit
from kq.core.plugins import Blocking
from kq.policies.intelligent import Intelligent

THRESHOLD = 4
LIMITS = {"cpu": 4, "gpu": 2}


@dataclass(frozen=True)
class Job:
    """One that comes at a minute and runs for some."""

    at: int
    priority: int
    cpu: int
    gpu: int
    minutes: int

    @property
    def is_high(self) -> bool:
        return self.priority >= THRESHOLD


@dataclass
class Told:
    """When each job started, and since when each high one was the first to wait."""

    started: dict[int, int] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)


jobs = st.builds(
    Job,
    at=st.integers(0, 8),
    priority=st.sampled_from((1, 2, 3, 4, 5, 9)),
    cpu=st.integers(0, 4),
    gpu=st.integers(0, 2),
    minutes=st.integers(1, 5),
)
histories = st.lists(jobs, min_size=4, max_size=12)
depths = st.sampled_from(("0", "0", "1", "3"))


def unit_of(number: int, job: Job) -> QueueUnit:
    roles = (pod_set(cpu=job.cpu, gpu=job.gpu),)
    return unit(f"u{number:02}", pod_sets=roles, priority=job.priority, minute=job.at)


def play(history: Mapping[int, Job], depth: str) -> Told:
    """All of it, minute by minute: who ends gives back, who comes stands in line, then a pass."""
    settings_of = {keys.THRESHOLD[0]: str(THRESHOLD), keys.MAX_DEPTH[0]: depth}
    line = queue(policy="Intelligent", annotations=settings_of)
    known, told = book(quota(limit=amounts(**LIMITS)), views=(line,)), Told()
    units = {number: unit_of(number, job) for number, job in history.items()}
    numbers = {each.key: number for number, each in units.items()}
    last = max(job.at for job in history.values()) + sum(job.minutes for job in history.values())
    for minute in range(last + 1):
        for number, job in history.items():
            if told.started.get(number, minute) + job.minutes == minute:
                ended = {"phase": Phase.SUCCEED, "raw_phase": "Succeed", "grants": ()}
                known.saw(msgspec.structs.replace(units[number], resource_version="3", **ended))
            if job.at == minute:
                known.saw(job_view(units[number].name))
                known.saw(units[number])
        while known.take_woken():
            for each in known.cycle(line.name, NOW):
                sending, written = known.ledger.sending(each.key), granted(each, grants=each.grants)
                known.wrote(written, sending)
                known.saw(written)
                told.started[numbers[each.key]] = minute
        note_first(history, told, minute)
    return told


def note_first(history: Mapping[int, Job], told: Told, minute: int) -> None:
    waiting = [
        (-job.priority, job.at, number)
        for number, job in history.items()
        if job.is_high and job.at <= minute and number not in told.started
    ]
    if waiting:
        told.first.setdefault(min(waiting)[2], minute)


def is_overtaken(history: Mapping[int, Job], told: Told, high: int) -> bool:
    """Whether a high one that goes before it started while it was the first to wait."""
    waited = range(told.first[high], told.started[high] + 1)
    return any(
        history[number].priority > history[high].priority and minute in waited
        for number, minute in told.started.items()
    )


def without(history: Mapping[int, Job], numbers: Collection[int]) -> dict[int, Job]:
    return {number: job for number, job in history.items() if number not in numbers}


@settings(max_examples=60)
@given(histories, depths)
def test_who_is_first_to_wait_starts_when_it_would_without_the_low_ones_from_then_on(
    drawn: list[Job], depth: str
) -> None:
    history = dict(enumerate(drawn))
    told = play(history, depth)
    for high, minute in told.first.items():
        if is_overtaken(history, told, high):
            continue
        later = {
            number
            for number, job in history.items()
            if not job.is_high and told.started.get(number, minute) >= minute
        }
        alone = play(without(history, later), depth)
        assert alone.first[high] == minute
        assert told.started[high] == alone.started[high]


def test_the_property_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted mistake: what the first one waits for does not count as used."""
    whole = {0: Job(0, 4, 2, 0, 2), 1: Job(1, 9, 4, 0, 1), 2: Job(1, 1, 2, 0, 5)}
    assert play(whole, "0").started == {0: 0, 1: 2, 2: 3}
    monkeypatch.setattr(Intelligent, "blocks", lambda self, waiting, later: Blocking.FREE)
    told = play(whole, "0")
    assert told.first == {1: 1}
    assert (told.started[1], play(without(whole, {2}), "0").started[1]) == (6, 2)
