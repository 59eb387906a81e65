"""Units are found by the job that they stand for, and by the job that they name."""

import builders
import pytest
from builders import changed

from kq.core.model import Consumer
from kq.decide.unitindex import UnitIndex, holder_of, named_job

ONE = builders.unit("one")
NAMED = named_job(ONE)


@pytest.fixture
def index() -> UnitIndex:
    return UnitIndex()


def test_a_unit_is_found_by_both_until_it_is_dropped(index: UnitIndex) -> None:
    index.put(ONE)
    assert index.of(holder_of(ONE)) == index.naming(NAMED) == [ONE]
    assert holder_of(ONE) in index
    index.drop(ONE)
    assert index.of(holder_of(ONE)) == index.naming(NAMED) == []
    assert holder_of(ONE) not in index


def test_a_unit_put_again_takes_its_own_place(index: UnitIndex) -> None:
    index.put(ONE)
    newer = changed(ONE, priority=7)
    index.put(newer)
    assert index.of(holder_of(ONE)) == index.naming(NAMED) == [newer]


def test_of_several_units_of_a_job_the_one_that_it_owns_comes_first(index: UnitIndex) -> None:
    by_hand = changed(builders.unit("by-hand"), owner_uid="", consumer=ONE.consumer)
    second = changed(builders.unit("second"), owner_uid=ONE.owner_uid, consumer=ONE.consumer)
    for each in (by_hand, second, ONE):
        index.put(each)
    assert [each.name for each in index.of(holder_of(ONE))] == ["one", "second", "by-hand"]
    assert {each.name for each in index.naming(NAMED)} == {"one", "second", "by-hand"}
    index.drop(second)
    index.drop(ONE)
    assert index.of(holder_of(ONE)) == index.naming(NAMED) == [by_hand]


def test_a_unit_that_names_no_job_is_found_by_its_own_key(index: UnitIndex) -> None:
    alone = changed(ONE, owner_uid="", consumer=None)
    index.put(alone)
    assert index.of(alone.key) == [alone]
    assert index.naming(NAMED) == []
    index.drop(alone)
    assert alone.key not in index


def test_units_of_namesakes_are_told_apart(index: UnitIndex) -> None:
    assert ONE.consumer is not None
    other = changed(
        builders.unit("other"),
        owner_uid="",
        consumer=Consumer("batch/v1", "Job", "one", "team-a", "another-uid"),
    )
    index.put(ONE)
    index.put(other)
    assert index.of("another-uid") == [other]
    assert index.of(holder_of(ONE)) == [ONE]
    assert {each.name for each in index.naming(NAMED)} == {"one", "other"}
