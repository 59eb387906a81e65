import pytest
from hypothesis import given
from hypothesis import strategies as st

from kq.sim.jobs.indexes import first_pending, format_indexes, parse_indexes


@pytest.mark.parametrize(
    ("indexes", "text"),
    [
        pytest.param(set(), "", id="none"),
        pytest.param({3}, "3", id="one"),
        pytest.param({0, 1}, "0,1", id="two in a row"),
        pytest.param({0, 1, 2}, "0-2", id="three in a row"),
        pytest.param({9, 1, 3, 4, 5, 7, 8}, "1,3-5,7-9", id="runs and gaps"),
    ],
)
def test_indexes_are_written_as_the_real_controller_writes_them(indexes, text):
    assert format_indexes(indexes) == text


@given(st.sets(st.integers(0, 60)))
def test_what_is_written_reads_back(indexes):
    assert parse_indexes(format_indexes(indexes), 61) == indexes


@pytest.mark.parametrize(
    ("text", "completions", "indexes"),
    [
        pytest.param("0-9", 4, {0, 1, 2, 3}, id="a run is cut at the number of completions"),
        pytest.param("x,2,1-y", 5, {2}, id="what is no number is left"),
        pytest.param("7", 3, set(), id="too high"),
    ],
)
def test_indexes_are_read_leniently(text, completions, indexes):
    assert parse_indexes(text, completions) == indexes


def test_the_lowest_indexes_come_first():
    assert first_pending({0, 2, None}, 6, 3) == [1, 3, 4]


def test_no_index_is_pending_beyond_the_completions():
    assert first_pending({0}, 2, 5) == [1]
