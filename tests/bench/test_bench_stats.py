"""Percentiles and latencies, by hand-made numbers."""

import pytest

from bench.stats import p50_p99, percentile, to_next_release, to_own_release


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        pytest.param([7.0], 50, 7.0, id="one value is every percentile"),
        pytest.param([7.0], 99, 7.0, id="the highest of one value"),
        pytest.param([3.0, 1.0, 2.0], 50, 2.0, id="the middle one, in whatever order"),
        pytest.param([1.0, 2.0, 3.0, 4.0], 50, 2.0, id="of an even number the lower middle one"),
        pytest.param([float(n) for n in range(1, 101)], 99, 99.0, id="one in a hundred is above"),
        pytest.param([float(n) for n in range(1, 201)], 99, 198.0, id="two in two hundred are"),
        pytest.param([1.0, 2.0], 0, 1.0, id="the lowest"),
        pytest.param([1.0, 2.0], 100, 2.0, id="the highest"),
    ],
)
def test_a_percentile_is_a_value_that_occurred(
    values: list[float], percent: float, expected: float
) -> None:
    assert percentile(values, percent) == expected


def test_no_values_have_no_percentile() -> None:
    with pytest.raises(ValueError, match="no percentile"):
        percentile([], 50)


def test_both_percentiles_are_in_milliseconds_under_the_names_of_the_file() -> None:
    assert p50_p99([0.001, 0.002, 0.1234]) == {"p50": 2.0, "p99": 123.4}


def test_the_next_release_is_the_first_after_a_completion_whoever_made_room() -> None:
    waited = to_next_release([1.0, 1.1, 5.0], [0.5, 1.25, 4.0])
    assert waited == pytest.approx([0.25, 0.15])


def test_the_own_release_of_each_completion_is_the_one_that_takes_its_place() -> None:
    # Two places: the first two releases need no completion.
    waited = to_own_release([1.0, 1.1, 5.0], [0.1, 0.2, 1.25, 4.0], places=2)
    assert waited == pytest.approx([0.25, 2.9])


def test_completions_that_nobody_waited_for_count_in_neither_latency() -> None:
    assert to_next_release([9.0], [1.0]) == []
    assert to_own_release([9.0], [1.0], places=1) == []
