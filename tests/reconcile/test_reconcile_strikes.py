"""Jobs that start themselves again are suspended at ever longer distances (spec 5.13)."""

from datetime import datetime, timedelta

import pytest
from builders import NOW, job_view

from kq.decide.actions import Action, HoldJob, LookAgain
from kq.reconcile.strikes import Strikes

HOLD: list[Action] = [HoldJob(job_view(), "slipped", {}, {})]


def after(strikes: int) -> tuple[Strikes, datetime]:
    """A job that was suspended so many times, each at the first moment allowed."""
    made, now = Strikes(), NOW
    for _ in range(strikes):
        now = made.may_hold_at("uid") or now
        made.note("uid", HOLD, now)
    return made, now


def test_the_first_time_it_is_suspended_at_once() -> None:
    assert Strikes().may_hold_at("uid") is None


@pytest.mark.parametrize(
    ("strikes", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 32), (7, 60), (50, 60)]
)
def test_each_time_it_has_twice_as_long(strikes: int, seconds: int) -> None:
    made, last = after(strikes)
    assert made.may_hold_at("uid") == last + timedelta(seconds=seconds)


def test_only_a_suspension_counts() -> None:
    made = Strikes()
    made.note("uid", [LookAgain(1)], NOW)
    made.note("uid", [], NOW)
    assert made.may_hold_at("uid") is None


def test_other_jobs_are_not_concerned() -> None:
    made, _ = after(5)
    assert made.may_hold_at("another") is None


def test_after_ten_quiet_minutes_it_starts_afresh() -> None:
    made, last = after(5)
    later = last + timedelta(minutes=10, seconds=1)
    made.note("uid", HOLD, later)
    assert made.may_hold_at("uid") == later + timedelta(seconds=1)


def test_ten_minutes_are_not_yet_forgiven() -> None:
    made, last = after(5)
    later = last + timedelta(minutes=10)
    made.note("uid", HOLD, later)
    assert made.may_hold_at("uid") == later + timedelta(seconds=32)


def test_of_very_many_jobs_the_oldest_is_forgotten() -> None:
    made = Strikes()
    for number in range(4097):
        made.note(str(number), HOLD, NOW)
    assert made.may_hold_at("0") is None
    assert made.may_hold_at("1") is not None
    assert made.may_hold_at("4096") is not None
