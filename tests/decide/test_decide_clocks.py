"""Times on a unit that lie ahead: a clock was wrong when they were written (case G2)."""

from datetime import timedelta

import pytest
from builders import (
    at,
    book,
    condition,
    job_view,
    queue,
    quota,
    running_job,
    situation,
    stamp,
    unit,
)
from plans import LIVE, kinds, status

from kq.core import keys
from kq.core.model import Phase
from kq.core.options import TakingOptions
from kq.decide.actions import PatchStatus, ReleaseJob
from kq.decide.situation import PodFacts

HOURS = 360.0
"""Six, in minutes."""
SINCE = {"lastTransitionTime": stamp(1)}


def ahead(phase: Phase, minute: float = HOURS, **fields):
    mark = condition("Admitted", True, minute=minute)
    return unit(phase=phase, allocated=at(minute), conditions=(mark,), **fields)


@pytest.mark.parametrize("phase", [Phase.RESERVED, Phase.DEQUEUED, Phase.RUNNING])
def test_what_holds_quota_since_the_future_holds_it_from_now_on(phase) -> None:
    """Else neither its start time-out nor its longest run would end for six hours."""
    found = status(situation(running_job(), ahead(phase), pods=LIVE))
    assert found["lastAllocateTime"] == stamp(1)
    [mark] = found["conditions"]
    assert mark == mark | {"type": "Admitted", "status": "True", **SINCE}
    assert not found.keys() & {"phase", "admissions", "attempts", "message"}


def test_only_what_lies_ahead_is_written_anew() -> None:
    marks = (condition("Admitted", True), condition("PodsReady", False, minute=HOURS))
    found = status(situation(running_job(), unit(phase=Phase.RUNNING, conditions=marks), pods=LIVE))
    assert "lastAllocateTime" not in found
    times = {each["type"]: each["lastTransitionTime"] for each in found["conditions"]}
    assert times == {"Admitted": stamp(0), "PodsReady": stamp(1)}


@pytest.mark.parametrize("minute", [0.0, 1.0, 1.9])
def test_clocks_of_two_managers_that_differ_by_seconds_change_nothing(minute) -> None:
    """It is a minute after NOW."""
    now = situation(job_view(), ahead(Phase.DEQUEUED, minute))
    assert PatchStatus not in kinds(now)
    assert ReleaseJob in kinds(now)


def test_of_one_that_holds_nothing_they_stay() -> None:
    """The times of its last grant end nothing any more."""
    assert kinds(situation(job_view(), ahead(Phase.ENQUEUED), pods=PodFacts())) == []


@pytest.mark.parametrize(
    ("minute", "victims"),
    [
        pytest.param(HOURS, ["team-a/low"], id="six hours ahead"),
        pytest.param(0.5, [], id="just granted"),
        pytest.param(-40, ["team-a/low"], id="long granted"),
    ],
)
def test_a_grant_of_the_future_is_not_protected(minute, victims) -> None:
    """Spec 13.8."""
    units = [
        unit("low", cpu=4, phase=Phase.RUNNING, allocated=at(minute)),
        unit("high", cpu=4, priority=5),
    ]
    made = book(
        quota(cpu=4),
        views=[
            queue(annotations={keys.ENABLE_PREEMPTION[0]: "true"}),
            running_job("low"),
            job_view("high"),
            *units,
        ],
        taking=TakingOptions(protection=timedelta(minutes=30)),
    )
    assert made.cycle("team-a", at(1)) == []
    assert [key for key in made.units if made.takings.of(key)] == victims
