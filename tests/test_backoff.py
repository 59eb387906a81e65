from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kq.backoff import Pace, exponential

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("attempt", "wait"),
    [
        pytest.param(1, timedelta(minutes=1), id="first"),
        pytest.param(2, timedelta(minutes=2), id="second"),
        pytest.param(6, timedelta(minutes=32), id="last below the cap"),
        pytest.param(7, HOUR, id="capped"),
        pytest.param(10**9, HOUR, id="a thousand million attempts"),
        pytest.param(0, timedelta(minutes=1), id="none yet counts as the first"),
        pytest.param(-3, timedelta(minutes=1), id="a negative count counts as the first"),
    ],
)
def test_the_wait_doubles_with_each_attempt_up_to_the_cap(attempt: int, wait: timedelta) -> None:
    assert exponential(timedelta(minutes=1), HOUR, attempt) == wait


def test_a_base_above_the_cap_gives_the_cap() -> None:
    assert exponential(2 * HOUR, HOUR, 1) == HOUR


def test_a_cap_that_is_a_doubling_of_the_base_is_reached_exactly() -> None:
    assert exponential(SECOND, 8 * SECOND, 4) == 8 * SECOND


def test_no_base_means_no_wait() -> None:
    assert exponential(timedelta(0), HOUR, 5) == timedelta(0)


def test_the_longest_possible_cap_does_not_overflow() -> None:
    assert exponential(timedelta.resolution, timedelta.max, 500) == timedelta.max


@settings(deadline=None)
@given(
    base=st.timedeltas(min_value=timedelta.resolution),
    cap=st.timedeltas(min_value=timedelta(0)),
    attempt=st.integers(min_value=1, max_value=200),
)
def test_the_wait_is_the_exact_formula(base: timedelta, cap: timedelta, attempt: int) -> None:
    exact = min(
        Fraction(base // timedelta.resolution) * 2 ** (attempt - 1),
        Fraction(cap // timedelta.resolution),
    )
    assert exponential(base, cap, attempt) // timedelta.resolution == exact


def test_the_first_time_is_at_once_and_the_next_after_the_interval():
    pace = Pace()
    assert pace.left("a", 5.0, 100.0) == 0.0
    pace.done("a", 100.0)
    assert [pace.left("a", 5.0, now) for now in (100.0, 104.0, 105.0, 200.0)] == [
        5.0,
        1.0,
        0.0,
        0.0,
    ]


def test_each_key_has_a_pace_of_its_own_and_none_once_it_is_forgotten():
    pace = Pace()
    pace.done("a", 100.0)
    assert pace.left("b", 5.0, 100.0) == 0.0
    pace.forget("a")
    pace.forget("a")
    assert pace.left("a", 5.0, 100.0) == 0.0
