"""How long a show waits before what it shows."""

from datetime import UTC, datetime, timedelta

import pytest

from kq.show.cast import ROLES
from kq.show.pace import FASTEST, SLOWEST, Pace, readable

T0 = datetime(2026, 3, 2, 9, tzinfo=UTC)


class Eyes:
    """What it is to be read with: a stop watch that sleeping moves on, and so does what is done."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.now += seconds


def waits(pace_of: dict[str, float], *seconds: float, work: float = 0.0) -> list[float]:
    """How long it waits before what happens at those times, each found out by so much work."""
    eyes = Eyes()
    pace = Pace(**pace_of, sleep=eyes.sleep, watch=lambda: eyes.now)
    for each in seconds:
        eyes.now += work
        pace.wait(T0 + timedelta(seconds=each))
    return eyes.slept


def test_each_moment_gets_its_time() -> None:
    assert waits({"moment_seconds": 0.2}, 0, 0, 60) == [0.2, 0.2, 0.2]


def test_what_it_takes_to_find_out_is_part_of_that_time() -> None:
    assert waits({"moment_seconds": 0.2}, 0, 0, 60, work=0.15) == [0.2, 0.05, 0.05]
    assert waits({"moment_seconds": 0.2}, 0, 0, 60, work=0.3) == [0.2]


def test_without_a_pace_nobody_waits() -> None:
    assert waits({}, 0, 5, 60) == []


def test_with_a_speed_time_goes_by_the_clock_of_the_show() -> None:
    assert waits({"moment_seconds": 0.2, "speed": 10.0}, 3, 3, 8, 38) == [0.5, 3.0]


@pytest.mark.parametrize(
    ("jobs", "low", "high"),
    [(1, SLOWEST, SLOWEST), (len(ROLES), FASTEST, SLOWEST), (500, FASTEST, FASTEST)],
)
def test_a_line_can_be_read_and_a_long_show_ends(jobs: int, low: float, high: float) -> None:
    assert low <= readable(jobs) <= high
