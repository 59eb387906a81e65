"""A unit that says something else than what holds is told again, whoever wrote that (case M4)."""

import pytest
from builders import NOW, at, book, changed, condition, job_view, queue, quota, running_job, unit

from kq.core import messages
from kq.core.model import Phase
from kq.decide.places import told_by

A = "team-a"
STOPPED = condition("QuotaReserved", False, "QueueStopped", messages.m22(A))


def waiting():
    """A book in which one waits, and has been told why."""
    runs = unit("runs", cpu=4, phase=Phase.RUNNING)
    made = book(
        quota(cpu=4),
        views=[queue(), running_job("runs"), runs, job_view("waits"), unit("waits", cpu=1)],
    )
    made.cycle(A, NOW)
    assert made.take_to_tell() == [f"{A}/waits"]
    verdict = made.verdict(f"{A}/waits")
    assert verdict is not None
    said = condition("QuotaReserved", False, verdict.reason, verdict.message)
    known = changed(made.units[f"{A}/waits"], raw_phase="Enqueued", conditions=(said,))
    made.saw(changed(known, message=verdict.message))
    made.take_woken()
    assert made.take_to_tell() == []
    return made


def test_a_write_that_is_seen_late_is_put_right_without_a_pass() -> None:
    """Its answer was lost, and what it said is over: the Queue goes on."""
    made = waiting()
    late = changed(made.units[f"{A}/waits"], message=STOPPED.message, conditions=(STOPPED,))
    made.saw(late)
    assert made.take_woken() == []
    assert made.take_to_tell() == [f"{A}/waits"]


@pytest.mark.parametrize("fields", [{"message": "mine"}, {"conditions": ()}], ids=["text", "none"])
def test_what_somebody_writes_over_it_does_not_stay(fields) -> None:
    made = waiting()
    made.saw(changed(made.units[f"{A}/waits"], **fields))
    assert made.take_to_tell() == [f"{A}/waits"]


def test_a_unit_that_says_what_holds_is_told_nothing() -> None:
    """Whatever else of it changes."""
    made = waiting()
    made.saw(changed(made.units[f"{A}/waits"], annotations={"x": "y"}, updated=at(3)))
    assert made.take_to_tell() == []
    assert told_by(made.units[f"{A}/waits"]) == made.verdict(f"{A}/waits")
